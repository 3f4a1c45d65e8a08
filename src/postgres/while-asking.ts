import { whileDoing } from '../storage/index.js';
import { isConnectionLost } from './connection-failure.js';

/**
 * Runs `work` on the database. If that fails, the StorageError says what was being done, and whether the database could
 * not be reached.
 */
export function whileAsking<T>(what: string, work: () => Promise<T>): Promise<T> {
  return whileDoing(what, work, isConnectionLost);
}
