import { StorageError } from '../errors.js';
import { VersionConflict } from './storage.js';

/** Runs `work`; where the medium fails it, the error says what was being done and to which record or folder. */
export async function whileDoing<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof VersionConflict || thrown instanceof StorageError) throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`${what}: ${reason}`, { cause: thrown });
  }
}

/** True for the error of a system call that failed with one of these codes, such as `ENOENT`. */
export function failedWith(thrown: unknown, ...codes: string[]): boolean {
  return thrown instanceof Error && 'code' in thrown && codes.some((code) => code === thrown.code);
}
