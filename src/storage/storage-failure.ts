import { isOrchardError, StorageError } from '../errors.js';
import { isVersionConflict } from './storage.js';

/**
 * Runs `work`. If the medium fails, the error says what was being done, and to which record or folder.
 * @param isAway whether an error means that the medium can't be reached.
 */
export async function whileDoing<T>(
  what: string,
  work: () => Promise<T>,
  isAway: (thrown: unknown) => boolean = () => false,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (isVersionConflict(thrown) || isOrchardError(thrown)) throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`${what}: ${reason}`, { cause: thrown, isUnavailable: isAway(thrown) });
  }
}
