import { setTimeout as delay } from 'node:timers/promises';
import { NetworkFailure } from './network-failure.js';

export interface RetryOptions {
  /** How often work is repeated after a transient error; progress starts the count anew. Default 4. */
  readonly retries?: number | undefined;
  /** Pause before the first repetition; doubled before each further one. Default 500 ms. */
  readonly retryPauseMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_RETRIES = 4;
const DEFAULT_RETRY_PAUSE_MS = 500;
/** Longest pause, whatever a server asks for. */
const MAX_PAUSE_MS = 60_000;

/**
 * Repeats work that fails with a transient NetworkFailure; when the repetitions are used up, the last failure
 * is thrown.
 * @param achieved measures progress, such as bytes on disk; more of it than ever before starts the count of
 *   repetitions anew.
 * @throws whatever else the work throws; the signal's reason, at once if it fires during a pause.
 */
export async function retrying<T>(
  work: () => Promise<T>,
  { retries = DEFAULT_RETRIES, retryPauseMs = DEFAULT_RETRY_PAUSE_MS, signal }: RetryOptions,
  achieved: () => Promise<number> = async () => 0,
): Promise<T> {
  let most = await achieved();
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (thrown) {
      signal?.throwIfAborted();
      if (!(thrown instanceof NetworkFailure && thrown.isTransient)) throw thrown;
      const now = await achieved();
      if (now > most) failures = 1;
      most = Math.max(most, now);
      if (failures > retries) throw thrown;
      await pause(thrown.pauseMs ?? jittered(retryPauseMs * 2 ** (failures - 1)), signal);
    }
  }
}

/**
 * Between half of the pause and all of it, so that many clients that failed together don't return together.
 */
const jittered = (ms: number): number => ms * (0.5 + Math.random() / 2);

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(Math.min(ms, MAX_PAUSE_MS), undefined, { signal });
  } catch (thrown) {
    signal?.throwIfAborted();
    throw thrown;
  }
}
