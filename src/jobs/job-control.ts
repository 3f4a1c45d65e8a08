import { ClosedError } from '../contract/index.js';
import { asStorageError } from '../storage/index.js';
import type { AccountContext } from './account-context.js';
import { finishDeletions } from './delete-model.js';
import type { LastingTrouble } from './job-events.js';
import type { JobLease, JobOutcome, JobWorker } from './job-queue.js';
import { type JobRecord, moved, type StoredJob } from './job-record.js';
import { JobRun, type JobRunContext } from './job-run.js';
import { HEARTBEAT_MS } from './one-job-per-account.js';

/**
 * How often a trainer that runs no jobs looks for jobs that the queue lacks because their process died before it could
 * add them. Other trainers of the account may not start again for a long time.
 */
export const LOOK_FOR_JOBS_MS = 10 * 60_000;

/**
 * Queues an account's jobs and runs them. A job is written into its record first and added to the queue then; a failure
 * between the two is made up for with a later heartbeat.
 */
export class JobControl {
  readonly #context: AccountContext;
  readonly #runs: JobRunContext;
  readonly #trouble: LastingTrouble;
  readonly #started: Promise<void>;
  readonly #stopLooking: () => void;
  #worker: JobWorker | undefined;
  #mayLackJobs = true;
  /** By {@link Clock.elapsed}. */
  #lookedForJobsAt: number;
  #mayLeaveFolders = true;
  #looking: Promise<void> | undefined;
  #isClosed = false;

  /** Begins to work on what earlier trainers of this account left, and to run jobs if it is to. */
  constructor(context: AccountContext, runs: JobRunContext, trouble: LastingTrouble) {
    this.#context = context;
    this.#runs = runs;
    this.#trouble = trouble;
    this.#lookedForJobsAt = context.clock.elapsed();
    this.#stopLooking = context.clock.every(HEARTBEAT_MS, () => this.#look());
    this.#started = this.#start();
  }

  async enqueue(id: string, created: StoredJob): Promise<void> {
    await this.#enqueue(id, created).catch(() => {
      this.#mayLackJobs = true;
    });
  }

  /** Starts nothing more, stops the run under way and leaves its job RUNNING, for the next trainer. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopLooking();
    await this.#started;
    await this.#worker?.close();
    await this.#looking;
    this.#context.events.fail(new ClosedError('trainer'));
  }

  async #start(): Promise<void> {
    const { queue, app_id } = this.#context;
    await this.#addMissing();
    await this.#finishDeletions();
    if (this.#isClosed || !this.#runs.settings.runsJobs) return;
    this.#worker = queue.work(app_id, (lease) => this.#run(lease));
  }

  async #enqueue(id: string, known?: StoredJob): Promise<void> {
    const { app_id, jobs, events, queue } = this.#context;
    await asStorageError(() => queue.add({ app_id, id }));
    const queueing = (job: JobRecord) => (job.status === 'CREATED' ? moved(job, 'QUEUED') : job);
    const job = await jobs.update(id, queueing, known && { known });
    events.publishState(job);
  }

  async #run(lease: JobLease): Promise<JobOutcome> {
    const { events } = this.#context;
    events.runningId = lease.id;
    try {
      return await new JobRun(lease, this.#runs).run();
    } finally {
      events.runningId = undefined;
    }
  }

  /** With each heartbeat: makes up for failures, and looks at the jobs that run elsewhere. Never rejects. */
  #look(): Promise<void> {
    this.#looking ??= this.#started
      .then(() => this.#context.events.poll())
      .then(() => this.#addMissing())
      .then(() => this.#finishDeletions())
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Queues all jobs that have not ended, if the queue may lack one. Tried again after a failure. */
  async #addMissing(): Promise<void> {
    const { clock, jobs } = this.#context;
    const { runsJobs } = this.#runs.settings;
    if (!runsJobs && clock.elapsed() - this.#lookedForJobsAt >= LOOK_FOR_JOBS_MS) this.#mayLackJobs = true;
    if (!this.#mayLackJobs) return;
    this.#mayLackJobs = false;
    this.#lookedForJobsAt = clock.elapsed();
    try {
      for (const { id } of await jobs.unfinished()) await this.#enqueue(id);
      this.#trouble.succeeded('jobs');
    } catch (thrown) {
      this.#mayLackJobs = true;
      this.#trouble.failed('jobs', thrown);
    }
  }

  /**
   * Finishes deletions that killed processes left. Tried again after a failure. A trainer that runs no jobs only looks
   * at its start, as there may be one for each of very many accounts.
   */
  async #finishDeletions(): Promise<void> {
    if (!this.#runs.settings.runsJobs && !this.#mayLeaveFolders) return;
    this.#mayLeaveFolders = false;
    await finishDeletions(this.#context).catch(() => {
      this.#mayLeaveFolders = true;
    });
  }
}
