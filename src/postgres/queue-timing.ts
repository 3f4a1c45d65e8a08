/** How a queue of PostgreSQL spends its time; tests make it short. */
export interface QueueTiming {
  /** How long a lease lasts that is not prolonged, by the database's clock. */
  readonly leaseMs: number;
  /** How often a lease is prolonged. A holder gives it up this long before the database does. */
  readonly heartbeatMs: number;
  /** How often the queue is looked through by a process that has time; notifications come at once, but may be lost. */
  readonly pollMs: number;
  /** How long an account rests whose job was left for another reason than a stop in good order. */
  readonly pauseMs: number;
  /** How long a turn may be in the hands of a process that has no lease yet; whole seconds. */
  readonly turnMs: number;
}

export const QUEUE_TIMING: QueueTiming = {
  leaseMs: 30_000,
  heartbeatMs: 5_000,
  pollMs: 2_000,
  pauseMs: 5_000,
  turnMs: 15_000,
};

/** Timers that keep no process alive; tests pass some that stop, as those of a suspended process do. */
export interface Timers {
  /** @returns what ends it. */
  every(ms: number, work: () => void): () => void;
  /** @returns what takes it back. */
  after(ms: number, work: () => void): () => void;
}

export const systemTimers: Timers = {
  every(ms, work) {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
  after(ms, work) {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};
