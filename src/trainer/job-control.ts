import { AbortedError, ClosedError, isOrchardError, QueueFullError, TransitionError } from '../errors.js';
import {
  type CreatedJob,
  canReach,
  hasEnded,
  type JobLease,
  type JobOutcome,
  type JobQueue,
  type JobRecord,
  type JobWorker,
  moved,
  type QueuedJob,
  Removals,
  type StoredJob,
  stored,
} from '../jobs/index.js';
import type { NewRecord } from '../storage/index.js';
import { HEARTBEAT_MS } from './account-lease.js';
import type { Clock } from './clock.js';
import { JobRun, type JobRunContext } from './job-run.js';
import type { LastingTrouble } from './lasting-trouble.js';

export interface JobControlOptions extends JobRunContext {
  readonly queue: JobQueue;
  readonly clock: Clock;
  readonly trouble: LastingTrouble;
}

/** A record that belongs to a job. */
export interface BesideJob {
  readonly record: NewRecord;
  /** Writes it after the job, where it can't be created together with it. Never rejects. */
  write(): Promise<void>;
}

/**
 * How often a trainer that runs no jobs looks for some that the queue lacks, as their process died before it could tell
 * it: there are others of the account, and none of them may start anew for a long time.
 */
export const LOOK_FOR_JOBS_MS = 10 * 60_000;

/**
 * Creates, cancels and deletes an account's jobs and has them run. What is to become of a job is written into its record
 * first and told to the queue then, so that a failure between the two can be made up for.
 */
export class JobControl {
  readonly #options: JobControlOptions;
  readonly #removals: Removals;
  readonly #started: Promise<void>;
  readonly #stopLooking: () => void;
  #worker: JobWorker | undefined;
  /** Whether the queue may lack a job that has not ended. */
  #mayLackJobs = true;
  /** By {@link Clock.elapsed}. */
  #lookedForJobsAt: number;
  /** Whether deletions that ended with their processes are yet to be looked for. */
  #mayLeaveFolders = true;
  #looking: Promise<void> | undefined;
  /** The latest admission, which the next one waits for: only so can waiting jobs be counted. */
  #admission: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Begins to work, where it is to run jobs, with what earlier trainers of this account left. */
  constructor(options: JobControlOptions) {
    this.#options = options;
    this.#lookedForJobsAt = options.clock.elapsed();
    this.#removals = new Removals(options.storage, options.settings.account.app_id);
    this.#stopLooking = options.clock.every(HEARTBEAT_MS, () => this.#look());
    this.#started = this.#start();
  }

  /**
   * Writes a CREATED job and queues it. The signal counts until the job is written.
   * @throws QueueFullError, AbortedError, StorageError
   */
  async create(job: JobRecord, beside: BesideJob, signal?: AbortSignal): Promise<void> {
    const admitted = this.#admission.then(() => this.#admit(job, beside, signal));
    this.#admission = admitted.catch(() => undefined);
    const created = await admitted;
    // The job exists now. Should this fail, it is made up for with the next heartbeat.
    const queued = this.#enqueue(job.id, created).catch(() => {
      this.#mayLackJobs = true;
    });
    await Promise.all([queued, created.isWhole ? undefined : beside.write()]);
  }

  /**
   * Resolves when the job is CANCELLED and its run, wherever it takes place, has stopped.
   * @throws TransitionError where it has ended already or ends otherwise first, NotFoundError, StorageError
   */
  async cancel(id: string): Promise<void> {
    const { jobs, events, queue } = this.#options;
    const job = await jobs.update(id, cancellation);
    const telling = stored(() => queue.cancel(this.#named(id)));
    if (hasEnded(job.status)) {
      events.publishState(job);
      return telling.catch(() => undefined); // who is handed the job all the same finds that it has ended
    }
    await telling;
    await events.ended(id);
    const { status } = await jobs.get(id);
    if (status !== 'CANCELLED' && !canReach('CANCELLED', status)) {
      throw new TransitionError(id, status, 'CANCELLED');
    }
  }

  /**
   * Makes the job DELETED and removes its folders, cancelling it first where it has not ended. Again on a deleted
   * one, it removes what an earlier attempt left.
   * @throws NotFoundError, StorageError
   */
  async delete(id: string): Promise<void> {
    const { jobs, events, storage } = this.#options;
    const job = await jobs.get(id, 'model');
    if (!hasEnded(job.status)) await this.cancel(id).catch(unlessEndedOtherwise);
    await this.#removals.begin(id);
    const deleted = await jobs.update(id, (ended) =>
      ended.status === 'DELETED' ? ended : moved(ended, 'DELETED'),
    );
    events.publishState(deleted);
    await stored(() => storage.removeFolder(id));
    await this.#removals.done(id);
  }

  /** Starts nothing more, stops the run under way and leaves its job RUNNING, for the next trainer. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopLooking();
    await this.#started;
    await this.#worker?.close();
    await this.#looking;
    this.#options.events.fail(new ClosedError('trainer'));
  }

  async #start(): Promise<void> {
    const { queue, settings } = this.#options;
    await this.#addMissing();
    await this.#finishRemovals();
    if (this.#isClosed || !settings.runsJobs) return;
    this.#worker = queue.work(settings.account.app_id, (lease) => this.#run(lease));
  }

  async #admit(job: JobRecord, beside: BesideJob, signal: AbortSignal | undefined): Promise<CreatedJob> {
    const { jobs, settings } = this.#options;
    if (!(await jobs.hasFewOpen(settings.maxWaitingJobs))) {
      const waiting = await jobs.countWaiting();
      if (waiting >= settings.maxWaitingJobs) throw new QueueFullError(waiting);
    }
    if (signal?.aborted) throw new AbortedError('creating the training job', { cause: signal.reason });
    return jobs.create(job, [beside.record]);
  }

  /** @param known the job as it was a moment ago. */
  async #enqueue(id: string, known?: StoredJob): Promise<void> {
    const { jobs, events, queue } = this.#options;
    await stored(() => queue.add(this.#named(id)));
    const queueing = (job: JobRecord) => (job.status === 'CREATED' ? moved(job, 'QUEUED') : job);
    const job = await jobs.update(id, queueing, known && { known });
    events.publishState(job);
  }

  async #run(lease: JobLease): Promise<JobOutcome> {
    const { events } = this.#options;
    events.runningId = lease.id;
    try {
      return await new JobRun(lease, this.#options).run();
    } finally {
      events.runningId = undefined;
    }
  }

  /** With each heartbeat: makes up for what failed, and sees how the jobs stand that run elsewhere. Never rejects. */
  #look(): Promise<void> {
    this.#looking ??= this.#started
      .then(() => this.#options.events.poll())
      .then(() => this.#addMissing())
      .then(() => this.#finishRemovals())
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Queues all jobs that have not ended, where the queue may lack one. Tried again where it fails. */
  async #addMissing(): Promise<void> {
    const { clock, settings } = this.#options;
    if (!settings.runsJobs && clock.elapsed() - this.#lookedForJobsAt >= LOOK_FOR_JOBS_MS) {
      this.#mayLackJobs = true;
    }
    if (!this.#mayLackJobs) return;
    this.#mayLackJobs = false;
    this.#lookedForJobsAt = clock.elapsed();
    try {
      for (const { id } of await this.#options.jobs.unfinished()) await this.#enqueue(id);
      this.#options.trouble.succeeded('jobs');
    } catch (thrown) {
      this.#mayLackJobs = true;
      this.#options.trouble.failed('jobs', thrown);
    }
  }

  /**
   * Removes the folders of deleted jobs that a process left when it was killed. Tried again where it fails. A trainer that
   * runs no jobs looks at its start alone: there may be one for each of very many accounts.
   */
  async #finishRemovals(): Promise<void> {
    if (!this.#options.settings.runsJobs && !this.#mayLeaveFolders) return;
    this.#mayLeaveFolders = false;
    try {
      for (const left of await this.#removals.left()) await this.#finishRemoval(left);
    } catch {
      this.#mayLeaveFolders = true; // with the next heartbeat
    }
  }

  async #finishRemoval({ id, isOver }: { id: string; isOver: boolean }): Promise<void> {
    const { jobs, storage } = this.#options;
    const job = await jobs.find(id);
    const isDeleted = job === undefined || job.status === 'DELETED';
    if (isDeleted) await stored(() => storage.removeFolder(id));
    if (isDeleted || isOver) await this.#removals.done(id); // else a process of another machine is at it
  }

  #named(id: string): QueuedJob {
    return { app_id: this.#options.settings.account.app_id, id };
  }
}

/** A waiting job is cancelled at once, a running one by whoever runs it. */
function cancellation(job: JobRecord): JobRecord {
  return job.status === 'RUNNING' ? { ...job, cancel_requested: true } : moved(job, 'CANCELLED');
}

function unlessEndedOtherwise(thrown: unknown): void {
  if (!isOrchardError(thrown) || thrown.code !== 'transition') throw thrown;
}
