import { AbortedError, ClosedError, QueueFullError, TransitionError } from '../errors.js';
import {
  canReach,
  hasEnded,
  isWaiting,
  type JobRecord,
  type JobRepository,
  moved,
  stored,
} from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import type { Clock } from './clock.js';
import type { JobEvents } from './job-events.js';
import type { JobRun } from './job-run.js';
import { RENEWAL_INTERVAL_MS, type RunningSlot } from './running-slot.js';

export interface JobQueueOptions {
  readonly storage: Storage;
  readonly jobs: JobRepository;
  readonly slot: RunningSlot;
  readonly events: JobEvents;
  readonly clock: Clock;
  readonly startRun: (id: string) => JobRun;
  /** How many jobs may wait. */
  readonly maxWaitingJobs: number;
}

/**
 * Decides which job runs when: whoever holds the account's slot runs first what an ended process left RUNNING,
 * then the waiting jobs in the order of their creation, one at a time. The record of a job is the truth; this
 * holds nothing but the run under way.
 */
export class JobQueue {
  readonly #options: JobQueueOptions;
  readonly #stopBeating: () => void;
  #isClosed = false;
  /** The run under way in this trainer. */
  #run: JobRun | undefined;
  #draining: Promise<void> | undefined;
  /** Whether to look again once the jobs known now have been run. */
  #hasNews = false;
  /** Whether jobs may be left that could not be run: another trainer holds the slot, or the storage failed. */
  #isBlocked = false;
  #beating: Promise<void> | undefined;
  /** The latest admission, which the next one waits for: only so can waiting jobs be counted. */
  #admission: Promise<unknown> = Promise.resolve();

  /** Runs what earlier trainers of this account left. */
  constructor(options: JobQueueOptions) {
    this.#options = options;
    this.#stopBeating = options.clock.every(RENEWAL_INTERVAL_MS, () => this.#beat());
    this.#wake();
  }

  /**
   * Writes a CREATED job and queues it. The signal counts until the job is written.
   * @throws QueueFullError, AbortedError, StorageError
   */
  async enqueue(job: JobRecord, signal?: AbortSignal): Promise<void> {
    const admitted = this.#admission.then(() => this.#admit(job, signal));
    this.#admission = admitted.catch(() => undefined);
    await admitted;
    // The job exists now. Should this write fail, it is made up when the queue is looked through.
    await this.#markQueued(job.id).catch(() => undefined);
    this.#wake();
  }

  /**
   * Resolves when the job is CANCELLED and its run, wherever it takes place, has stopped.
   * @throws TransitionError where it has ended already or ends otherwise first, NotFoundError, StorageError
   */
  async cancel(id: string): Promise<void> {
    const job = await this.#options.jobs.update(id, cancellation);
    if (hasEnded(job.status)) this.#options.events.publishState(job);
    else await this.#stopRun(id);
    const { status } = await this.#options.jobs.get(id);
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
    const deleted = await jobs.update(id, (ended) =>
      ended.status === 'DELETED' ? ended : moved(ended, 'DELETED'),
    );
    events.publishState(deleted);
    await stored(() => storage.removeFolder(id));
  }

  /** Starts nothing more, stops the run under way and leaves its job RUNNING, for the next trainer. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopBeating();
    this.#run?.stop('close');
    await this.#draining;
    await this.#beating;
    this.#options.events.fail(new ClosedError('trainer'));
  }

  async #admit(job: JobRecord, signal: AbortSignal | undefined): Promise<void> {
    const { jobs, maxWaitingJobs } = this.#options;
    const waiting = (await jobs.unfinished()).filter(({ status }) => isWaiting(status)).length;
    if (waiting >= maxWaitingJobs) throw new QueueFullError(waiting);
    if (signal?.aborted) throw new AbortedError('creating the training job', { cause: signal.reason });
    await jobs.create(job);
  }

  async #markQueued(id: string): Promise<void> {
    const { jobs, events } = this.#options;
    const job = await jobs.update(id, (job) => (job.status === 'CREATED' ? moved(job, 'QUEUED') : job));
    events.publishState(job);
  }

  async #stopRun(id: string): Promise<void> {
    const run = this.#run;
    if (run?.id === id) {
      run.stop('cancel');
      if (await run.done) return;
    }
    // It runs in another process, or was left by one that died; whoever holds the slot sees the request.
    this.#wake();
    await this.#options.events.ended(id);
  }

  /** Has the waiting jobs run, in the background. */
  #wake(): void {
    this.#hasNews = true;
    if (this.#draining !== undefined || this.#isClosed) return;
    this.#draining = this.#drainWhileNews();
  }

  /** Never rejects: what fails here is tried again at the next beat. */
  async #drainWhileNews(): Promise<void> {
    while (this.#hasNews && !this.#isClosed) {
      this.#hasNews = false;
      try {
        this.#isBlocked = !(await this.#drain());
      } catch {
        this.#isBlocked = true;
      }
    }
    this.#draining = undefined; // at once, so that no news comes between
  }

  /** @returns false where jobs are left that this trainer may not run. */
  async #drain(): Promise<boolean> {
    const { slot } = this.#options;
    if ((await this.#nextJob()) === undefined) return true;
    if (!(await slot.acquire())) return false;
    let isDone = false;
    try {
      isDone = await this.#runJobs();
      return isDone;
    } finally {
      await (isDone ? slot.release() : slot.leave());
    }
  }

  /** Runs jobs until there is none. @returns false where one was left unfinished. */
  async #runJobs(): Promise<boolean> {
    for (;;) {
      const next = await this.#nextJob();
      if (next === undefined || this.#isClosed) return next === undefined;
      this.#run = this.#options.startRun(next.id);
      try {
        if (!(await this.#run.done)) return false;
      } finally {
        this.#run = undefined;
      }
    }
  }

  async #nextJob(): Promise<JobRecord | undefined> {
    const unfinished = await this.#options.jobs.unfinished();
    for (const { id, status } of unfinished) if (status === 'CREATED') await this.#markQueued(id);
    return unfinished.find(({ status }) => status === 'RUNNING') ?? unfinished[0];
  }

  /** Never rejects, and never runs twice at the same time. */
  #beat(): Promise<void> {
    this.#beating ??= this.#attend()
      .catch(() => undefined) // the storage failed: the next beat tries again
      .finally(() => {
        this.#beating = undefined;
      });
    return this.#beating;
  }

  async #attend(): Promise<void> {
    const { slot } = this.#options;
    await this.#tellOtherRuns();
    if (this.#draining !== undefined) await this.#attendRun();
    else if (this.#isBlocked || (await slot.isAbandoned())) this.#wake();
  }

  /** Keeps the slot while jobs run, and looks for what other processes want of the run under way. */
  async #attendRun(): Promise<void> {
    const { slot, jobs } = this.#options;
    const run = this.#run;
    if (run === undefined) return;
    if (!(await slot.renew())) run.stop('lost');
    else if ((await jobs.get(run.id)).cancel_requested) run.stop('cancel');
  }

  /** Tells watchers how the jobs stand that don't run here, and ends the watch of one that can't be read. Never rejects. */
  async #tellOtherRuns(): Promise<void> {
    const { jobs, events } = this.#options;
    for (const id of events.watchedIds) {
      if (id === this.#run?.id) continue;
      await jobs.get(id).then(
        (job) => events.publishState(job),
        (thrown: unknown) => events.failWatches(id, thrown),
      );
    }
  }
}

/** A waiting job is cancelled at once, a running one by whoever runs it. */
function cancellation(job: JobRecord): JobRecord {
  return job.status === 'RUNNING' ? { ...job, cancel_requested: true } : moved(job, 'CANCELLED');
}

function unlessEndedOtherwise(thrown: unknown): void {
  if (!(thrown instanceof TransitionError)) throw thrown;
}
