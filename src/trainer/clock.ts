/** The time, and what is done again and again; tests pass one that they advance by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds from some start, by a clock that nobody sets: it neither jumps ahead nor back. */
  elapsed(): number;
  /**
   * Calls `work`, which must never reject, at every interval. Doesn't keep the process alive.
   * @returns what stops it.
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
