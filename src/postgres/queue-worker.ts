import type { JobLease, JobOutcome, JobWorker } from '../jobs/index.js';
import type { JobLeaseTable, TakenJob } from './job-lease-table.js';
import { QueueLease } from './queue-lease.js';
import type { QueueTiming, Timers } from './queue-timing.js';

export interface QueueWorkerOptions {
  readonly table: JobLeaseTable;
  readonly timing: QueueTiming;
  readonly timers: Timers;
  /** The next job for this worker, if there is one. */
  readonly take: () => Promise<TakenJob | undefined>;
  readonly handle: (app_id: string, lease: JobLease) => Promise<JobOutcome>;
  /** Most jobs at a time. */
  readonly atOnce: number;
  readonly closed: () => void;
}

/** Takes jobs when it is woken, hands them out, and gives their leases back. */
export class QueueWorker implements JobWorker {
  readonly #options: QueueWorkerOptions;
  readonly #leases = new Set<QueueLease>();
  readonly #running = new Set<Promise<void>>();
  #filling: Promise<void> | undefined;
  /** Whether to look again once nothing more was found. */
  #hasNews = false;
  #isClosed = false;

  constructor(options: QueueWorkerOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return !this.#isClosed && this.#leases.size < this.#options.atOnce;
  }

  /** Looks for jobs, in the background. What fails is tried again when it is woken next. */
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
    for (const lease of this.#leases) {
      if (lease.id === id && lease.job.app_id === app_id) lease.stop('cancelled');
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lease of this.#leases) lease.stop('closing');
    await this.#filling;
    await Promise.all(this.#running);
    this.#options.closed();
  }

  async #fill(): Promise<void> {
    while (this.isIdle) {
      this.#hasNews = false;
      const takenAt = performance.now();
      const job = await this.#options.take();
      if (job === undefined) return;
      const lease = new QueueLease(job, takenAt, this.#options);
      this.#leases.add(lease);
      const running = this.#run(lease).finally(() => {
        this.#leases.delete(lease);
        this.#running.delete(running);
        this.wake();
      });
      this.#running.add(running);
    }
  }

  /** Never rejects. */
  async #run(lease: QueueLease): Promise<void> {
    const { handle } = this.#options;
    const outcome = this.#isClosed ? 'left' : await handle(lease.job.app_id, lease).catch(() => 'left');
    await this.#release(lease, outcome === 'ended');
    lease.end();
  }

  /** Until it has come through, the lease is lost, or the worker closes. */
  async #release(lease: QueueLease, hasEnded: boolean): Promise<void> {
    const { table, timing, timers } = this.#options;
    for (;;) {
      // A handler that failed would fail again at once; one that was told to stop is no reason to wait.
      const pauseMs = this.#isClosed || lease.stopReason !== undefined ? 0 : timing.pauseMs;
      try {
        await table.release(lease.job, hasEnded, hasEnded ? 0 : pauseMs);
        return;
      } catch {
        if (this.#isClosed || lease.stopReason === 'lost') return; // it expires
      }
      await new Promise<void>((resolve) => timers.after(timing.pollMs, resolve));
    }
  }
}
