import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { implementation, validate } from '../contract/index.js';
import { taskOf } from '../families/index.js';
import { backboneLoader, createTrainingHost, type TrainingHost } from '../training/index.js';
import { keepAlive } from './clock.js';
import { JobEvents } from './job-events.js';
import type { JobLease, JobOutcome, JobWorker, SharedJobQueue } from './job-queue.js';
import { JobRepository } from './job-repository.js';
import { JobRun } from './job-run.js';
import { internalsOf, type TrainerOptions, trainerSettings } from './trainer-options.js';

/** Options of {@link JobRunner}. The options of {@link TrainerOptions} mean the same here. */
export interface JobRunnerOptions
  extends Pick<
    TrainerOptions,
    | 'storage'
    | 'isolation'
    | 'threads'
    | 'device'
    | 'memoryLimit'
    | 'modelLoader'
    | 'checkpointIntervalMs'
    | 'host'
    | 'executor'
  > {
  /** Hands out the jobs. The trainers that create them have to use the same queue. Stays open on close. */
  readonly queue: SharedJobQueue;
  /** Maximum number of jobs, of different accounts, that run here at a time. They share the threads. Default 1. */
  readonly atOnce?: number;
}

const ownSchema = z.object({
  queue: implementation<SharedJobQueue>(
    ['workForAll'],
    'pass a queue that hands out the jobs of all accounts, such as postgresQueue(…)',
  ),
  atOnce: z.int().min(1).default(1),
});

/**
 * Runs the training jobs of all accounts that a queue hands out. Other processes create the jobs, with trainers that
 * have `runsJobs: false`, and check what an account may train. Keeps its process alive until it is closed.
 */
export class JobRunner {
  readonly #worker: JobWorker;
  readonly #host: TrainingHost;
  readonly #isOwnHost: boolean;
  readonly #letEnd: () => void;
  #closing: Promise<void> | undefined;

  /** Begins to run jobs. @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: JobRunnerOptions) {
    const { queue, atOnce } = validate(ownSchema, options);
    const { queue: _, atOnce: __, ...own } = options;
    const threads = Math.max(1, Math.floor(availableParallelism() / atOnce));
    const settings = trainerSettings({ threads, ...own });
    const { storage } = settings;
    const { clock } = internalsOf(options);
    const loaderOf = backboneLoader(settings);
    const host = settings.host ?? createTrainingHost(settings.isolation, settings);
    this.#host = host;
    this.#isOwnHost = settings.host === undefined;
    const run = (app_id: string, lease: JobLease): Promise<JobOutcome> => {
      const jobs = new JobRepository(storage, app_id, taskOf);
      const events = new JobEvents(jobs, clock);
      return new JobRun(lease, { storage, host, jobs, events, settings, loaderOf }).run();
    };
    this.#worker = queue.workForAll(run, { atOnce });
    this.#letEnd = keepAlive();
  }

  /** Stops the jobs that run here: they stay RUNNING, and continue elsewhere from their checkpoints. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#worker.close();
    this.#letEnd();
    if (this.#isOwnHost) await this.#host.close();
  }
}
