import { errAsync, type ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  ClosedError,
  callResult,
  type ListFilter,
  listFilterSchema,
  type ModelRecord,
  type OrchardError,
  type Page,
  requireOptions,
  type SignalOptions,
  signalOptionsSchema,
  type TrainingRequest,
  toOrchardError,
  ValidationError,
  validate,
} from '../contract/index.js';
import { taskOf } from '../families/index.js';
import { readModelReport } from '../models/index.js';
import { backboneLoader, createTrainingHost, type TrainingHost } from '../training/index.js';
import type { AccountContext } from './account-context.js';
import { AccountErasure, type ErasedAccount } from './account-erasure.js';
import { cancelJob } from './cancel-job.js';
import { JobCreator } from './create-job.js';
import { deleteModel } from './delete-model.js';
import { EmbeddedQueue } from './embedded-queue.js';
import { JobControl } from './job-control.js';
import { JobEvents, LastingTrouble, type TrainingEvent } from './job-events.js';
import type { JobQueue } from './job-queue.js';
import { type JobInformation, type JobRecord, toJobInformation, toModelRecord } from './job-record.js';
import { JobRepository } from './job-repository.js';
import {
  ModelUses,
  removeUnused,
  type UnusedModel,
  type UnusedOptions,
  unusedModels,
  unusedSettings,
} from './model-uses.js';
import { readyModel } from './ready-models.js';
import { internalsOf, type TrainerOptions, type TrainerSettings, trainerSettings } from './trainer-options.js';

/** Options of `createTrainingJob`. */
export interface CreateJobOptions extends SignalOptions {
  /**
   * Whether this dataset_url may be a `file:` URL, for example of a file that the application wrote. Default: the
   * trainer's `allowFileUrls`.
   */
  readonly allowFileUrl?: boolean;
  /**
   * Identifies this request, 1 to 255 characters. Repeating the same request with the same key within 24 hours returns
   * the same id without a second job, also from other processes and at the same time. The same key with another request
   * fails with a ValidationError. Default: each call creates a job.
   */
  readonly idempotencyKey?: string;
}

const createSchema = z.lazy(() =>
  signalOptionsSchema.extend({ allowFileUrl: z.boolean().optional(), idempotencyKey: z.string().optional() }),
);

/**
 * Trains models and manages them: one account's view of a storage. One job of an account runs at a time; the others
 * wait in the order of their creation. A new trainer continues what earlier ones left: waiting jobs keep waiting, and a
 * job that was running resumes from its checkpoint.
 *
 * Every call can fail with a StorageError and, after `close`, a ClosedError.
 */
export class Trainer {
  readonly #settings: TrainerSettings;
  readonly #context: AccountContext;
  readonly #control: JobControl;
  readonly #creator: JobCreator;
  readonly #own: readonly (TrainingHost | JobQueue)[];
  readonly #calls = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: TrainerOptions) {
    const settings = trainerSettings(options);
    const { storage, isolation, executor } = settings;
    const { app_id } = settings.account;
    const { clock } = internalsOf(options);
    const loaderOf = backboneLoader(settings);
    const host = settings.host ?? createTrainingHost(isolation, { executor });
    const jobs = new JobRepository(storage, app_id, taskOf);
    const uses = new ModelUses(storage, app_id, () => clock.now());
    const events = new JobEvents(jobs, clock, storage);
    const trouble = new LastingTrouble(clock, (thrown) =>
      events.failPresent(toOrchardError(thrown, 'keeping the training jobs')),
    );
    const queue = settings.queue ?? new EmbeddedQueue(storage, clock, trouble);
    this.#settings = settings;
    this.#context = { app_id, storage, queue, clock, jobs, uses, events };
    this.#control = new JobControl(this.#context, { storage, host, jobs, events, settings, loaderOf }, trouble);
    this.#creator = new JobCreator(this.#context, settings, this.#control);
    this.#own = [settings.queue ? [] : [queue], settings.host ? [] : [host]].flat();
  }

  /**
   * Creates a job, which starts when no other job of the account runs. The signal aborts only this call, until the job
   * is recorded; to stop the job, cancel it. Fails with a ValidationError that names each wrong field, a TierError, a
   * QueueFullError or an AbortedError.
   * @returns the id of the job and of its model.
   */
  createTrainingJob(
    request: TrainingRequest,
    options: CreateJobOptions = {},
  ): ResultAsync<{ id: string }, OrchardError> {
    return this.#call('creating a training job', async () => {
      const checked = validate(createSchema, requireOptions(options, '`{ idempotencyKey }`'));
      const { allowFileUrl = this.#settings.allowFileUrls, ...creation } = checked;
      return { id: await this.#creator.create(request, { ...creation, allowFileUrl }) };
    });
  }

  /** Returns the current state of a job, even of a DELETED one. Fails with a NotFoundError. */
  getTrainingJob(id: string): ResultAsync<JobInformation, OrchardError> {
    return this.#call('reading a training job', async () => toJobInformation(await this.#context.jobs.get(id)));
  }

  /**
   * Lists jobs, newest first, 20 per page unless `limit` says otherwise. DELETED ones are listed only if the filter
   * asks for them. named-entity-recognition and sequence-labeling name the same task, and either finds both. Fails with
   * a ValidationError.
   */
  listTrainingJobs(filter: ListFilter = {}): ResultAsync<Page<JobInformation>, OrchardError> {
    return this.#list('listing training jobs', filter, toJobInformation);
  }

  /**
   * Stops a job; resolves once it is CANCELLED and its run has stopped. Fails with a NotFoundError, or with a
   * TransitionError if the job has already ended.
   */
  cancelTrainingJob(id: string): ResultAsync<void, OrchardError> {
    return this.#call('cancelling a training job', () => cancelJob(this.#context, id));
  }

  /** Returns a model's record, which exists from the creation of its job. Fails with a NotFoundError. */
  getModel(id: string): ResultAsync<ModelRecord, OrchardError> {
    return this.#call('reading a model', async () => toModelRecord(await this.#context.jobs.get(id, 'model')));
  }

  /** Lists and filters models as `listTrainingJobs` does. Fails with a ValidationError. */
  listModels(filter: ListFilter = {}): ResultAsync<Page<ModelRecord>, OrchardError> {
    return this.#list('listing models', filter, toModelRecord);
  }

  /**
   * Returns a self-contained HTML page about a READY model: learning curves, figures of each class, confusions,
   * calibration, mistakes, warnings, configuration. It quotes texts of the dev rows. Fails with a NotFoundError, a
   * ModelNotReadyError or, if the model's folder can't be read, a ModelFolderError.
   */
  report(id: string): ResultAsync<string, OrchardError> {
    return this.#call('writing the report of a model', async () => {
      const { job, directory } = await readyModel(id, this.#context.jobs, this.#context.storage);
      const { reportHtml } = await import('../report/index.js');
      return reportHtml({ ...(await readModelReport(directory)), id, created: job.created });
    });
  }

  /**
   * Deletes a model's files; its record stays, as DELETED. A job that has not ended is cancelled first. Deleting a
   * model again is safe and removes files that a failed deletion left. Fails with a NotFoundError, or with a
   * ModelInUseError if a name points to the model or uses it as its shadow.
   */
  deleteModel(id: string): ResultAsync<void, OrchardError> {
    return this.#call('deleting a model', () => deleteModel(this.#context, id));
  }

  /**
   * Lists the READY models that had no query for more than `days` days, newest first. Uses are recorded to the hour.
   * Models that a name needs are left out: the one it points to, the one that a rollback restores, and its shadow.
   * Fails with a ValidationError.
   */
  listUnusedModels(options: UnusedOptions = {}): ResultAsync<readonly UnusedModel[], OrchardError> {
    return this.#call('listing unused models', async () => unusedModels(this.#context, unusedSettings(options).days));
  }

  /**
   * Deletes the models that `listUnusedModels` lists, as `deleteModel` does. Models that a name needs are left out.
   * Fails with a ValidationError. @returns the deleted models.
   */
  removeUnusedModels(options: UnusedOptions = {}): ResultAsync<readonly UnusedModel[], OrchardError> {
    return this.#call('removing unused models', async () => removeUnused(this.#context, unusedSettings(options).days));
  }

  /**
   * Removes everything that the storage has of this trainer's account: records, models, reports, checkpoints, waiting
   * jobs and what deleted models left. Jobs that have not ended are cancelled first, also those of other processes.
   * Other accounts are not touched. After a failure or a crash, call it again. A job that is created at the same time
   * is either erased, too, or kept completely. Fails with a ValidationError if `app_id` is another account; operators
   * use the function `eraseAccount`.
   * @param app_id the account of this trainer, as a confirmation.
   */
  eraseAccount(app_id: string): ResultAsync<ErasedAccount, OrchardError> {
    return this.#call('erasing an account', async () => {
      const own = this.#context.app_id;
      if (app_id === own) return new AccountErasure(this.#context).run();
      const msg = `this trainer can erase only its own account, ${JSON.stringify(own)}; to erase any account, call eraseAccount({ storage, app_id })`;
      throw new ValidationError([{ loc: ['app_id'], msg, type: 'app_id' }]);
    });
  }

  /**
   * Yields the job's current state, then its events until it has ended; leaving the loop stops watching. A reader that
   * is slower than the events misses progress, but never a state or the latest figures. For a job that another process
   * runs, there are only states and epochs: immediately if the storage reports writes, otherwise some seconds late. A
   * storage that fails for half a minute ends the loop with its StorageError; the job continues when the storage works
   * again.
   * @throws (from the loop) ValidationError, NotFoundError, StorageError, ClosedError; AbortedError when the signal fires
   */
  async *watch(id: string, options: SignalOptions = {}): AsyncGenerator<TrainingEvent, void, undefined> {
    const { signal } = validate(signalOptionsSchema, requireOptions(options, '`{ signal }`'));
    if (this.#closing) throw new ClosedError('trainer');
    yield* this.#context.events.watch(id, signal);
  }

  /**
   * Waits until the job has ended as READY, ERROR, CANCELLED or DELETED. Fails with a NotFoundError, or with an
   * AbortedError when the signal fires; the job continues then.
   */
  waitForTrainingJob(id: string, options: SignalOptions = {}): ResultAsync<JobInformation, OrchardError> {
    return this.#call('waiting for a training job', async () => {
      const { signal } = validate(signalOptionsSchema, requireOptions(options, '`{ signal }`'));
      await this.#context.events.ended(id, signal);
      return toJobInformation(await this.#context.jobs.get(id));
    });
  }

  /**
   * Stops the running job and waits until it and every call have ended. The stopped job stays RUNNING and resumes from
   * its checkpoint with the next trainer; waiting jobs stay QUEUED. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#control.close();
    await Promise.allSettled(this.#calls);
    for (const each of this.#own) await each.close();
  }

  #list<Item>(
    doing: string,
    filter: ListFilter,
    toItem: (job: JobRecord) => Item,
  ): ResultAsync<Page<Item>, OrchardError> {
    return this.#call(doing, async () => {
      const { data, pagination } = await this.#context.jobs.page(validate(listFilterSchema, filter));
      return { data: data.map(toItem), pagination };
    });
  }

  #call<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('trainer'));
    const call = work();
    this.#calls.add(call);
    const tracked = call.finally(() => this.#calls.delete(call));
    return callResult(tracked, doing);
  }
}
