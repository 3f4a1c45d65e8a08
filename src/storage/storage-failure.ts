import { isOrchardError, StorageError } from '../errors.js';
import { isStagingLost, isVersionConflict } from './storage.js';

/** Runs `work`. If the medium fails, the error says what was being done, and to which record or folder. */
export async function whileDoing<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (saysItAll(thrown)) throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`${what}: ${reason}`, { cause: thrown });
  }
}

/** Whether an error of a storage is one that callers know by its class, and goes on to them as it is. */
export function saysItAll(thrown: unknown): boolean {
  return isVersionConflict(thrown) || isStagingLost(thrown) || isOrchardError(thrown);
}
