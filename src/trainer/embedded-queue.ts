import { ownedName } from '../files/index.js';
import {
  type JobHandler,
  type JobLease,
  type JobOutcome,
  type JobQueue,
  JobStop,
  type JobWorker,
  type QueuedJob,
  type StopReason,
} from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import { AccountLease, HEARTBEAT_MS } from './account-lease.js';
import type { Clock } from './clock.js';
import { LastingTrouble } from './lasting-trouble.js';
import { QueueEntries } from './queue-entries.js';

/**
 * The job queue that needs nothing but a storage: a record for each job, and a lease for each account. A job that this
 * process adds starts at once; what other processes do is noticed with the next heartbeat.
 */
export class EmbeddedQueue implements JobQueue {
  readonly specificationVersion = 1;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #trouble: LastingTrouble;
  readonly #workers = new Set<EmbeddedWorker>();

  /** @param trouble is told of what fails in the background. */
  constructor(
    storage: Storage,
    clock: Clock,
    trouble: LastingTrouble = new LastingTrouble(clock, () => undefined),
  ) {
    this.#storage = storage;
    this.#clock = clock;
    this.#trouble = trouble;
  }

  async add({ app_id, id }: QueuedJob): Promise<void> {
    await new QueueEntries(this.#storage, app_id).add(id);
    for (const worker of this.#workersOf(app_id)) worker.wake();
  }

  async cancel({ app_id, id }: QueuedJob): Promise<void> {
    const hasStarted = await new QueueEntries(this.#storage, app_id).cancel(id);
    if (hasStarted) for (const worker of this.#workersOf(app_id)) worker.cancel(id);
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

  #workersOf(app_id: string): EmbeddedWorker[] {
    return [...this.#workers].filter((worker) => worker.app_id === app_id);
  }
}

/** Runs an account's jobs while it holds the account's lease. All it remembers is the run under way. */
class EmbeddedWorker implements JobWorker {
  readonly app_id: string;
  readonly #handler: JobHandler;
  readonly #entries: QueueEntries;
  readonly #lease: AccountLease;
  readonly #trouble: LastingTrouble;
  readonly #stopBeating: () => void;
  #run: EmbeddedRun | undefined;
  #draining: Promise<void> | undefined;
  /** Whether there are jobs to run and this worker may run them, as it finds at the moment. */
  #looking: Promise<boolean> = Promise.resolve(false);
  /** Whether to look again once the jobs known now have been run. */
  #hasNews = false;
  #isClosed = false;
  #beating: Promise<void> | undefined;

  constructor(app_id: string, handler: JobHandler, storage: Storage, clock: Clock, trouble: LastingTrouble) {
    this.#trouble = trouble;
    this.app_id = app_id;
    this.#handler = handler;
    this.#entries = new QueueEntries(storage, app_id);
    this.#lease = new AccountLease(storage, app_id, { clock, holder: ownedName() });
    this.#stopBeating = clock.every(HEARTBEAT_MS, () => this.#beat());
    this.wake();
  }

  /** Has the waiting jobs run, in the background. */
  wake(): void {
    this.#hasNews = true;
    if (this.#draining !== undefined || this.#isClosed) return;
    this.#draining = this.#drainWhileNews();
  }

  /** Stops a job that has started: here, or once this worker gets it. */
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

  /** Never rejects: what fails here is tried again at the next heartbeat. */
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

  /** Runs jobs until there is none, or one is left. */
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
    return (await this.#entries.oldest()) !== undefined && (await this.#lease.acquire());
  }

  /** @returns undefined where there is no job left, or the lease is lost. */
  async #next(): Promise<EmbeddedRun | undefined> {
    for (;;) {
      const id = this.#lease.jobId ?? (await this.#entries.oldest());
      if (id === undefined || !(await this.#lease.hold(id))) return undefined;
      const entry = await this.#entries.start(id);
      if (entry !== undefined) {
        const run = new EmbeddedRun(id, this.#lease);
        if (entry.cancelled) run.stop('cancelled');
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
    await this.#entries.remove(run.id);
    await this.#lease.hold(null);
    return 'ended';
  }

  /** Never rejects, and never runs twice at the same time. */
  #beat(): Promise<void> {
    this.#beating ??= this.#attend()
      .catch(() => undefined) // the storage failed: the next heartbeat tries again
      .finally(() => {
        this.#beating = undefined;
      });
    return this.#beating;
  }

  /** Keeps the lease of the run under way and looks whether it was cancelled elsewhere; without one, looks for jobs. */
  async #attend(): Promise<void> {
    const run = this.#run;
    if (run === undefined) {
      this.wake();
      await this.#looking;
    } else if ((await run.renew()) && (await this.#entries.isCancelled(run.id))) {
      run.stop('cancelled');
    }
  }
}

/** A job in the hands of a handler. */
class EmbeddedRun implements JobLease {
  readonly id: string;
  readonly #lease: AccountLease;
  readonly #stop = new JobStop();

  constructor(id: string, lease: AccountLease) {
    this.id = id;
    this.#lease = lease;
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
    if (!(await this.#lease.renew())) this.stop('lost');
    return this.#stop.reason !== 'lost';
  }
}
