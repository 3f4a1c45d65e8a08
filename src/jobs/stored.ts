import { isOrchardError, StorageError } from '../errors.js';
import { isStagingLost, isVersionConflict } from '../storage/index.js';

/**
 * Awaits a call of any Storage.
 * @throws VersionConflict and StagingLost unchanged, and anything that isn't an error of Orchard as a StorageError.
 */
export async function stored<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    if (isVersionConflict(thrown) || isStagingLost(thrown) || isOrchardError(thrown)) throw thrown;
    throw new StorageError(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}
