import { StorageError } from '../errors.js';
import { saysItAll } from '../storage/index.js';
import { codeOf, isConnectionLost } from './connection-failure.js';

/** SQLSTATEs of a server that has no place for another connection, or is not done with starting. */
const BUSY = ['53300', '57P03', '25006'];

/** Whether the database could not be reached, or is about to be there again: the same call may succeed soon. */
export function isUnavailable(thrown: unknown): boolean {
  if (isConnectionLost(thrown) || BUSY.includes(codeOf(thrown) ?? '')) return true;
  return thrown instanceof Error && /timeout exceeded when trying to connect/.test(thrown.message);
}

/** What a statement failed with, as an error of ours. @param doing what it was to do: `counting requests`. */
export function databaseFailure(doing: string, thrown: unknown): StorageError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new StorageError(`${doing}: ${reason}`, { cause: thrown, isUnavailable: isUnavailable(thrown) });
}

/** Runs `work`. @throws errors of ours as they are, and what else it fails with as {@link databaseFailure} makes it. */
export async function whileAsking<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (saysItAll(thrown)) throw thrown;
    throw databaseFailure(doing, thrown);
  }
}
