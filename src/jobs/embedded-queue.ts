import { taskOf } from '../families/index.js';
import type { Storage } from '../storage/index.js';
import { ownedName } from '../system/index.js';
import type { Clock } from './clock.js';
import { LastingTrouble } from './job-events.js';
import {
  type JobHandler,
  type JobLease,
  type JobOutcome,
  type JobQueue,
  JobStop,
  type JobWorker,
  type QueuedJob,
} from './job-queue.js';
import { hasEnded } from './job-record.js';
import { JobRepository } from './job-repository.js';
import { AccountLease, HEARTBEAT_MS } from './one-job-per-account.js';

/**
 * The job queue that needs nothing but the storage of the jobs: their records say which of them wait, and a lease for
 * each account who runs one. So `add` and `cancel` write nothing, and come after the job's record was written. Jobs that
 * this process adds start at once; what other processes do is noticed with the next heartbeat.
 */
export class EmbeddedQueue implements JobQueue {
  readonly specificationVersion = 1;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #trouble: LastingTrouble;
  readonly #workers = new Set<EmbeddedWorker>();

  constructor(storage: Storage, clock: Clock, trouble: LastingTrouble = new LastingTrouble(clock, () => undefined)) {
    this.#storage = storage;
    this.#clock = clock;
    this.#trouble = trouble;
  }

  async add({ app_id }: QueuedJob): Promise<void> {
    for (const worker of this.#workers) if (worker.app_id === app_id) worker.wake();
  }

  async cancel({ app_id, id }: QueuedJob): Promise<void> {
    for (const worker of this.#workers) if (worker.app_id === app_id) worker.cancel(id);
  }

  work(app_id: string, handler: JobHandler): JobWorker {
    const worker = new EmbeddedWorker(app_id, handler, this.#storage, this.#clock, this.#trouble);
    this.#workers.add(worker);
    return {
      close: async () => {
        await worker.close();
        this.#workers.delete(worker);
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close()));
  }
}

/** Runs an account's jobs while it holds the account's lease. All it remembers is the run under way. */
class EmbeddedWorker implements JobWorker {
  readonly app_id: string;
  readonly #handler: JobHandler;
  readonly #jobs: JobRepository;
  readonly #lease: AccountLease;
  readonly #trouble: LastingTrouble;
  readonly #stopBeating: () => void;
  #run: EmbeddedRun | undefined;
  #draining: Promise<void> | undefined;
  /** Whether there are jobs to run and this worker may run them, as last looked up. */
  #looking: Promise<boolean> = Promise.resolve(false);
  #hasNews = false;
  #isClosed = false;
  #beating: Promise<void> | undefined;

  constructor(app_id: string, handler: JobHandler, storage: Storage, clock: Clock, trouble: LastingTrouble) {
    this.#trouble = trouble;
    this.app_id = app_id;
    this.#handler = handler;
    this.#jobs = new JobRepository(storage, app_id, taskOf);
    this.#lease = new AccountLease(storage, app_id, { clock, holder: ownedName() });
    this.#stopBeating = clock.every(HEARTBEAT_MS, () => this.#beat());
    this.wake();
  }

  wake(): void {
    this.#hasNews = true;
    if (this.#draining !== undefined || this.#isClosed) return;
    this.#draining = this.#drainWhileNews();
  }

  cancel(id: string): void {
    if (this.#run?.id === id) this.#run.stop('cancelled');
    else this.wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopBeating();
    this.#run?.stop('closing');
    await this.#draining;
    await this.#beating;
  }

  /** Never rejects: the next heartbeat tries again. */
  async #drainWhileNews(): Promise<void> {
    while (this.#hasNews && !this.#isClosed) {
      this.#hasNews = false;
      await this.#drain().then(
        () => this.#trouble.succeeded('queue'),
        (thrown: unknown) => this.#trouble.failed('queue', thrown),
      );
    }
    this.#draining = undefined; // at once, so that no news comes between
  }

  async #drain(): Promise<void> {
    this.#looking = this.#mayRunJobs();
    if (!(await this.#looking)) return;
    try {
      let outcome: JobOutcome = 'ended';
      while (outcome === 'ended' && !this.#isClosed) {
        const run = await this.#next();
        if (run === undefined) return;
        outcome = await this.#hand(run);
      }
    } finally {
      await this.#lease.release();
    }
  }

  async #mayRunJobs(): Promise<boolean> {
    return (await this.#jobs.oldestUnfinished()) !== undefined && (await this.#lease.acquire());
  }

  /** The job that a run left, else the oldest. @returns undefined if there is none, or the lease is lost. */
  async #next(): Promise<EmbeddedRun | undefined> {
    for (;;) {
      const id = this.#lease.jobId ?? (await this.#jobs.oldestUnfinished())?.id;
      if (id === undefined || !(await this.#lease.hold(id))) return undefined;
      const job = await this.#jobs.find(id);
      if (job !== undefined && !hasEnded(job.status)) {
        const run = new EmbeddedRun(id, this.#lease);
        if (job.cancel_requested) run.stop('cancelled');
        return run;
      }
      await this.#lease.hold(null);
    }
  }

  async #hand(run: EmbeddedRun): Promise<JobOutcome> {
    if (this.#isClosed) return 'left';
    this.#run = run;
    try {
      if ((await this.#handler(run)) === 'left') return 'left';
    } finally {
      this.#run = undefined;
    }
    await this.#lease.hold(null);
    return 'ended';
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#attend()
      .catch(() => undefined) // the storage failed: the next heartbeat tries again
      .finally(() => {
        this.#beating = undefined;
      });
    return this.#beating;
  }

  /** Renews the lease of the run under way and stops a run that was cancelled elsewhere; without one, looks for jobs. */
  async #attend(): Promise<void> {
    const run = this.#run;
    if (run === undefined) {
      this.wake();
      await this.#looking;
      return;
    }
    const isHeld = await this.#lease.renew();
    const isCancelled = isHeld && (await this.#jobs.find(run.id))?.cancel_requested;
    if (this.#run !== run) return; // it ended meanwhile, and the lease may be released
    if (!isHeld) run.stop('lost');
    else if (isCancelled) run.stop('cancelled');
  }
}

class EmbeddedRun extends JobStop implements JobLease {
  readonly id: string;
  readonly #lease: AccountLease;

  constructor(id: string, lease: AccountLease) {
    super();
    this.id = id;
    this.#lease = lease;
  }

  async renew(): Promise<boolean> {
    if (!(await this.#lease.renew())) this.stop('lost');
    return this.stopReason !== 'lost';
  }
}
