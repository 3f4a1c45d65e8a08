import { type JobLease, type JobOutcome, JobStop, type JobWorker, type StopReason } from '../jobs/index.js';
import { withinTime } from './connection-errors.js';
import type { QueueTable, TakenJob } from './queue-table.js';

/** The times of a PostgreSQL queue; tests shorten them. */
export interface QueueTiming {
  /** How long a lease lasts unless it is extended, by the database's clock. */
  readonly leaseMs: number;
  /** How often a lease is extended. The holder considers it lost this long before the database does. */
  readonly heartbeatMs: number;
  /** How often idle workers look for jobs; notifications are immediate, but may be lost. */
  readonly pollMs: number;
  /** How long an account waits after its job failed. */
  readonly pauseMs: number;
}

export const QUEUE_TIMING: QueueTiming = {
  leaseMs: 30_000,
  heartbeatMs: 5_000,
  pollMs: 2_000,
  pauseMs: 5_000,
};

/** Timers that don't keep the process alive. Tests pass ones that stop, as those of a suspended process do. */
export interface Timers {
  /** @returns a function that stops the timer. */
  every(ms: number, work: () => void): () => void;
  /** @returns a function that stops the timer. */
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

/** What workers and leases of one queue share. */
export interface QueueContext {
  readonly table: QueueTable;
  readonly timing: QueueTiming;
  readonly timers: Timers;
  /** Of this process, for people who look into the tables. */
  readonly holder: string;
}

export interface QueueWorkerOptions {
  /** The account to work for; undefined for all accounts. */
  readonly app_id?: string;
  readonly handle: (app_id: string, lease: JobLease) => Promise<JobOutcome>;
  /** Most jobs at a time. */
  readonly atOnce: number;
  readonly onClose: () => void;
}

/** Takes jobs when it is woken, hands them to the handler, and releases their leases. */
export class QueueWorker implements JobWorker {
  readonly app_id: string | undefined;
  readonly #context: QueueContext;
  readonly #options: QueueWorkerOptions;
  /** The leases of running jobs, each with the end of its handler. */
  readonly #leases = new Map<QueueLease, Promise<void>>();
  #filling: Promise<void> | undefined;
  /** Whether it was woken while it was looking for jobs. */
  #hasNews = false;
  #isClosed = false;

  constructor(context: QueueContext, options: QueueWorkerOptions) {
    this.app_id = options.app_id;
    this.#context = context;
    this.#options = options;
  }

  get isIdle(): boolean {
    return !this.#isClosed && this.#leases.size < this.#options.atOnce;
  }

  /** Looks for jobs, in the background. If that fails, the next call tries again. */
  wake(): void {
    this.#hasNews = true;
    if (this.#filling !== undefined || !this.isIdle) return;
    this.#filling = this.#fill()
      .catch(() => undefined)
      .finally(() => {
        this.#filling = undefined;
        if (this.#hasNews && this.isIdle) this.wake();
      });
  }

  /** Stops a job that was cancelled, if it runs here. */
  cancel(app_id: string, id: string): void {
    for (const lease of this.#leases.keys()) {
      if (lease.id === id && lease.job.app_id === app_id) lease.stop('cancelled');
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lease of this.#leases.keys()) lease.stop('closing');
    await this.#filling;
    await Promise.all(this.#leases.values());
    this.#options.onClose();
  }

  async #fill(): Promise<void> {
    const { table, holder } = this.#context;
    while (this.isIdle) {
      this.#hasNews = false;
      const takenAt = performance.now();
      const job = await table.take(holder, this.app_id);
      if (job === undefined) return;
      const lease = new QueueLease(job, takenAt, this.#context);
      const running = this.#run(lease).finally(() => {
        this.#leases.delete(lease);
        this.wake();
      });
      this.#leases.set(lease, running);
    }
  }

  /** Never rejects. */
  async #run(lease: QueueLease): Promise<void> {
    const { handle } = this.#options;
    const outcome = this.#isClosed ? 'left' : await handle(lease.job.app_id, lease).catch(() => 'left');
    await this.#release(lease, outcome === 'ended');
    lease.end();
  }

  /** Tries until it succeeds, the lease is lost, or the worker closes. */
  async #release(lease: QueueLease, hasEnded: boolean): Promise<void> {
    const { table, timing, timers } = this.#context;
    for (;;) {
      // A handler that failed would fail again at once; one that was stopped needs no pause.
      const isPaused = !hasEnded && !this.#isClosed && lease.stopReason === undefined;
      try {
        await table.release(lease.job, hasEnded, isPaused ? timing.pauseMs : 0);
        return;
      } catch {
        if (this.#isClosed || lease.stopReason === 'lost') return; // it expires
      }
      await new Promise<void>((resolve) => timers.after(timing.pollMs, resolve));
    }
  }
}

/**
 * The lease of a running job, with the heartbeats that extend it. If they fail, it counts as lost one heartbeat before
 * the database lets another process have the job, by a monotonic clock.
 */
class QueueLease implements JobLease {
  readonly job: TakenJob;
  readonly #context: QueueContext;
  readonly #stop = new JobStop();
  readonly #stopHeartbeats: () => void;
  #stopExpiry: () => void = () => undefined;
  /** When the last heartbeat that succeeded was sent. */
  #renewedAt: number;

  /** @param takenAt by `performance.now()`, before the job was taken. */
  constructor(job: TakenJob, takenAt: number, context: QueueContext) {
    this.job = job;
    this.#context = context;
    this.#renewedAt = takenAt;
    if (job.isCancelled) this.stop('cancelled');
    this.#scheduleExpiry();
    this.#stopHeartbeats = context.timers.every(context.timing.heartbeatMs, () => void this.renew());
  }

  get id(): string {
    return this.job.id;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#stop.reason;
  }

  stop(reason: StopReason): void {
    this.#stop.give(reason);
  }

  async renew(): Promise<boolean> {
    const sentAt = performance.now();
    const timeoutMs = Math.max(1, this.#remainingMs());
    try {
      const renewal = this.#context.table.renew(this.job, timeoutMs);
      const isCancelled = await withinTime(renewal, timeoutMs);
      if (isCancelled === undefined) this.stop('lost');
      else if (sentAt > this.#renewedAt) {
        this.#renewedAt = sentAt;
        this.#scheduleExpiry();
      }
      if (isCancelled) this.stop('cancelled');
    } catch {
      // The lease holds until it expires.
    }
    if (this.#remainingMs() <= 0) this.stop('lost');
    return this.#stop.reason !== 'lost';
  }

  /** Ends the heartbeats. */
  end(): void {
    this.#stopHeartbeats();
    this.#stopExpiry();
  }

  #remainingMs(): number {
    const { leaseMs, heartbeatMs } = this.#context.timing;
    return this.#renewedAt + leaseMs - heartbeatMs - performance.now();
  }

  #scheduleExpiry(): void {
    this.#stopExpiry();
    const expire = () => this.stop('lost');
    this.#stopExpiry = this.#context.timers.after(Math.max(0, this.#remainingMs()), expire);
  }
}
