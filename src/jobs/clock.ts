import { clearInterval, setInterval } from 'node:timers';
/** Time and intervals; tests pass a clock that they advance by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since some start, by a monotonic clock. */
  elapsed(): number;
  /**
   * Calls `work`, which must never reject, at every interval. Doesn't keep the process alive.
   * @returns a function that stops it.
   */
  every(intervalMs: number, work: () => Promise<void>): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  every(intervalMs, work) {
    const timer = setInterval(() => void work(), intervalMs);
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** The documented form of a time, ISO 8601 with a numeric offset: `2026-11-20T08:15:30.123+00:00`. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '+00:00');
}

/** Keeps the process from ending until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 2 ** 31 - 1); // the longest that it takes, 24.8 days
  return () => clearInterval(timer);
}

/**
 * Awaits a promise without letting the process end meanwhile. A job that waits or runs in another process keeps nothing
 * else alive here, and Node would exit with code 13 under a program that awaits it.
 */
export async function keepingAlive<T>(awaited: Promise<T>): Promise<T> {
  const letEnd = keepAlive();
  try {
    return await awaited;
  } finally {
    letEnd();
  }
}
