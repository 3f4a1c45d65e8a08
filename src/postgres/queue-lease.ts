import { type JobLease, JobStop, type StopReason } from '../jobs/index.js';
import type { JobLeaseTable, TakenJob } from './job-lease-table.js';
import type { QueueTiming, Timers } from './queue-timing.js';
import { withinTime } from './within-time.js';

/**
 * A job in the hands of a handler, and the heartbeats that keep its lease. Where they fail, it gives itself up for lost
 * one heartbeat before the database lets anybody else have the job, by a clock that nobody sets.
 */
export class QueueLease implements JobLease {
  readonly job: TakenJob;
  readonly #table: JobLeaseTable;
  readonly #timing: QueueTiming;
  readonly #timers: Timers;
  readonly #stop = new JobStop();
  readonly #stopBeating: () => void;
  #takeBack: () => void = () => undefined;
  /** When the lease was prolonged last, at the latest. */
  #renewedAt: number;

  /** @param takenAt by `performance.now()`, before the job was asked for. */
  constructor(
    job: TakenJob,
    takenAt: number,
    { table, timing, timers }: { table: JobLeaseTable; timing: QueueTiming; timers: Timers },
  ) {
    this.job = job;
    this.#table = table;
    this.#timing = timing;
    this.#timers = timers;
    this.#renewedAt = takenAt;
    if (job.isCancelled) this.stop('cancelled');
    this.#loseLater();
    this.#stopBeating = timers.every(timing.heartbeatMs, () => void this.renew());
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
    const { isHeld, isCancelled } = await this.#ask();
    if (isHeld && sentAt > this.#renewedAt) {
      this.#renewedAt = sentAt;
      this.#loseLater();
    }
    if (isCancelled) this.stop('cancelled');
    if (isHeld === false || this.#leftMs() <= 0) this.stop('lost');
    return this.#stop.reason !== 'lost';
  }

  /** Ends the heartbeats. */
  end(): void {
    this.#stopBeating();
    this.#takeBack();
  }

  /** What the database says; nothing where it can't be asked. */
  async #ask(): Promise<{ isHeld?: boolean; isCancelled: boolean }> {
    const timeoutMs = Math.max(1, this.#leftMs());
    try {
      return await withinTime(this.#table.renew(this.job, timeoutMs), timeoutMs);
    } catch {
      return { isCancelled: false };
    }
  }

  #leftMs(): number {
    const { leaseMs, heartbeatMs } = this.#timing;
    return this.#renewedAt + leaseMs - heartbeatMs - performance.now();
  }

  #loseLater(): void {
    this.#takeBack();
    this.#takeBack = this.#timers.after(Math.max(0, this.#leftMs()), () => this.stop('lost'));
  }
}
