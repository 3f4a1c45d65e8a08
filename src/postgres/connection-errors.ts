import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';
import { isError, messageOf, StorageError } from '../contract/index.js';
import { isTypedError } from '../storage/index.js';

/**
 * SQLSTATEs with which a server ends or refuses a connection: it stops or starts, the connection was idle for too long,
 * or there are too many. The statement was not executed.
 */
const REFUSED = ['57P01', '57P02', '57P03', '57P05', '25P03', '53300'];
const BROKEN = /^(ECONN(RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const BROKEN_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|connection ended|not queryable|no answer within|connection timeout/i;

const RETRY_PAUSES_MS = [100, 500, 1000, 2000, 4000];
/** No attempt starts after this: if the server doesn't answer, each one lasts until its timeout. */
const LAST_ATTEMPT_MS = 10_000;

export class QueryTimeout extends Error {
  override readonly name = 'QueryTimeout';
}

/** Waits for an answer of the server. @throws QueryTimeout; the connection must be discarded then. */
export async function withinTime<T>(answer: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new QueryTimeout(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the connection can't be used any more. The statement may have been executed or not. */
export function isConnectionLost(thrown: unknown): boolean {
  if (!isError(thrown)) return false;
  if (thrown instanceof QueryTimeout || isNotExecuted(thrown)) return true;
  const code = codeOf(thrown);
  if (code === undefined) return BROKEN_MESSAGE.test(thrown.message);
  return BROKEN.test(code) || code.startsWith('08');
}

/** Whether the connection was lost before the statement was executed. */
export function isNotExecuted(thrown: unknown): boolean {
  if (!isError(thrown)) return false;
  return REFUSED.includes(codeOf(thrown) ?? '') || /not queryable/.test(thrown.message);
}

export function codeOf(thrown: unknown): string | undefined {
  if (!isError(thrown) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}

/**
 * A failed attempt to connect, with a message: Node gives none if it tried several addresses.
 * @param place where to, without a password.
 */
export function connectFailure(place: string, thrown: unknown): Error {
  const errors = thrown instanceof AggregateError ? thrown.errors : [thrown];
  const reasons = errors.map(messageOf);
  const failure = new Error(`the database ${place} can't be reached: ${[...new Set(reasons)].join('; ')}`);
  const code = errors.map(codeOf).find((each) => each !== undefined);
  return Object.assign(failure, code === undefined ? {} : { code });
}

/** A StorageError for what a statement failed with. @param doing such as `counting requests`. */
export function databaseFailure(doing: string, thrown: unknown): StorageError {
  const reason = messageOf(thrown);
  const isUnavailable = isConnectionLost(thrown) || codeOf(thrown) === '25006'; // a write to a standby, which may be promoted soon
  return new StorageError(`${doing}: ${reason}`, { cause: thrown, isUnavailable });
}

/** Runs `work`. @throws errors of ours unchanged, and others as {@link databaseFailure}. */
export async function whileAsking<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (isTypedError(thrown)) throw thrown;
    throw databaseFailure(doing, thrown);
  }
}

/** Runs `work`, which may run twice, and again after a pause if the connection was lost, as a restart of the server does. */
export async function withRetry<T>(work: () => Promise<T>): Promise<T> {
  const since = performance.now();
  for (const pauseMs of RETRY_PAUSES_MS) {
    try {
      return await work();
    } catch (thrown) {
      if (!isConnectionLost(thrown) || performance.now() - since > LAST_ATTEMPT_MS) throw thrown;
    }
    await delay(pauseMs);
  }
  return work();
}
