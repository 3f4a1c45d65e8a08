import { isOrchardError, StorageError } from '../errors.js';
import { isVersionConflict } from '../storage/index.js';

/**
 * Awaits a call of any Storage.
 * @throws VersionConflict unchanged, and anything that isn't an error of Orchard as a StorageError.
 */
export async function stored<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    if (isVersionConflict(thrown) || isOrchardError(thrown)) throw thrown;
    throw new StorageError(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}
