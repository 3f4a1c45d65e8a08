import { errAsync, ResultAsync } from 'neverthrow';
import { v7 as uuidV7 } from 'uuid';
import {
  type ListFilter,
  listFilterSchema,
  type ModelRecord,
  type Page,
  type TrainingRequest,
  validate,
} from '../contract/index.js';
import { AbortedError, ClosedError, type OrchardError, toOrchardError } from '../errors.js';
import { taskOf } from '../families/index.js';
import {
  type JobQueue,
  type JobRecord,
  JobRepository,
  JobRequests,
  newJobRecord,
  readyModel,
} from '../jobs/index.js';
import { requirePublicHost } from '../network/index.js';
import { createTrainingHost, type TrainingHost } from '../training/index.js';
import { AccountData } from './account-data.js';
import type { ErasedAccount } from './account-erasure.js';
import { checkTrainingRequest } from './check-request.js';
import { type Clock, timestamp } from './clock.js';
import { createOnce } from './create-once.js';
import { EmbeddedQueue } from './embedded-queue.js';
import { internalsOf } from './internals.js';
import { JobControl } from './job-control.js';
import { JobEvents } from './job-events.js';
import { type JobInformation, toJobInformation, toModelRecord } from './job-information.js';
import { LastingTrouble } from './lasting-trouble.js';
import { backboneLoader } from './load-backbone.js';
import { type TrainerOptions, type TrainerSettings, trainerSettings } from './trainer-options.js';
import type { TrainingEvent } from './training-event.js';
import type { UnusedModel, UnusedOptions } from './unused-models.js';

export interface SignalOptions {
  readonly signal?: AbortSignal;
}

export interface CreateJobOptions extends SignalOptions {
  /** Whether this dataset_url may be a `file:` URL, such as one that the application wrote. Default: as the trainer's. */
  readonly allowFileUrl?: boolean;
  /**
   * Names this request, 1 to 255 characters. The same key and request within 24 hours give the same id without a second
   * job, from whichever process they come, also at the same time; the same key with another request is a ValidationError.
   * Default: each call creates a job.
   */
  readonly idempotencyKey?: string;
}

/**
 * Trains models and manages them: one account's view of a storage. One job of an account runs at a time, others
 * wait in the order of their creation. A new trainer takes up what earlier ones left: waiting jobs wait on, and a
 * job that was running goes on from its checkpoint.
 *
 * Every call can fail with a StorageError and, after `close`, a ClosedError.
 */
export class Trainer {
  readonly #settings: TrainerSettings;
  readonly #clock: Clock;
  readonly #jobs: JobRepository;
  readonly #events: JobEvents;
  readonly #requests: JobRequests;
  readonly #control: JobControl;
  readonly #data: AccountData;
  /** What this trainer made itself and has to close. */
  readonly #own: readonly (TrainingHost | JobQueue)[];
  readonly #calls = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @throws ValidationError for an unknown option, or one outside its range. */
  constructor(options: TrainerOptions) {
    const settings = trainerSettings(options);
    const { storage, isolation, executor, account } = settings;
    const { clock } = internalsOf(options);
    const loaderOf = backboneLoader(settings);
    const host = settings.host ?? createTrainingHost(isolation, executor);
    const jobs = new JobRepository(storage, account.app_id, taskOf);
    const events = new JobEvents(jobs, clock, storage);
    const trouble = new LastingTrouble(clock, (thrown) =>
      events.failPresent(toOrchardError(thrown, 'keeping the training jobs')),
    );
    const queue = settings.queue ?? new EmbeddedQueue(storage, clock, trouble);
    this.#settings = settings;
    this.#clock = clock;
    this.#jobs = jobs;
    this.#events = events;
    this.#requests = new JobRequests(storage, account.app_id, clock);
    const control = new JobControl({
      ...{ settings, storage, host, queue, jobs, events, clock, loaderOf, trouble },
    });
    this.#control = control;
    this.#data = new AccountData({ storage, queue, jobs, clock, app_id: account.app_id, control });
    this.#own = [settings.queue ? [] : [queue], settings.host ? [] : [host]].flat();
  }

  /**
   * Creates a job, which starts when no other job of the account runs. The signal aborts this call alone, up to
   * when the job is written; to stop the job, cancel it.
   * Fails with a ValidationError that names each wrong field, a TierError, a QueueFullError or an AbortedError.
   * @returns the id of the job and of its model.
   */
  createTrainingJob(
    request: TrainingRequest,
    { signal, allowFileUrl = this.#settings.allowFileUrls, idempotencyKey }: CreateJobOptions = {},
  ): ResultAsync<{ id: string }, OrchardError> {
    return this.#call('creating a training job', async () => {
      if (signal?.aborted) throw new AbortedError('creating the training job', { cause: signal.reason });
      const checked = checkTrainingRequest(request, { ...this.#settings, allowFileUrls: allowFileUrl });
      if (!this.#settings.allowPrivateAddresses) await requirePublicHost(checked.dataset_url);
      const job = this.#newJob(checked, allowFileUrl);
      const id = await this.#create(job, checked, idempotencyKey, signal);
      return { id };
    });
  }

  /** Where a job stands, a DELETED one too. Fails with a NotFoundError. */
  getTrainingJob(id: string): ResultAsync<JobInformation, OrchardError> {
    return this.#call('reading a training job', async () => toJobInformation(await this.#jobs.get(id)));
  }

  /**
   * Jobs, newest first, 20 a page unless `limit` says otherwise. DELETED ones are listed only where the filter asks
   * for them; named-entity-recognition and sequence-labeling name one task, and either finds both.
   * Fails with a ValidationError.
   */
  listTrainingJobs(filter: ListFilter = {}): ResultAsync<Page<JobInformation>, OrchardError> {
    return this.#list('listing training jobs', filter, toJobInformation);
  }

  /**
   * Stops a job; resolves once it is CANCELLED and nothing of it runs any more.
   * Fails with a NotFoundError, or with a TransitionError where the job has ended already.
   */
  cancelTrainingJob(id: string): ResultAsync<void, OrchardError> {
    return this.#call('cancelling a training job', () => this.#control.cancel(id));
  }

  /** A model's record, from the creation of its job on; a deleted one's says DELETED. Fails with a NotFoundError. */
  getModel(id: string): ResultAsync<ModelRecord, OrchardError> {
    return this.#call('reading a model', async () => toModelRecord(await this.#jobs.get(id, 'model')));
  }

  /** Models, listed and filtered as `listTrainingJobs` does. Fails with a ValidationError. */
  listModels(filter: ListFilter = {}): ResultAsync<Page<ModelRecord>, OrchardError> {
    return this.#list('listing models', filter, toModelRecord);
  }

  /**
   * One self-contained HTML page about a READY model: learning curves, figures of each class, confusions, calibration,
   * mistakes, warnings, configuration. It quotes dev texts. Fails with a NotFoundError, a ModelNotReadyError or, where
   * the model's folder can't be read, a ModelFolderError.
   */
  report(id: string): ResultAsync<string, OrchardError> {
    return this.#call('writing the report of a model', async () => {
      const { job, directory } = await readyModel(id, this.#jobs, this.#settings.storage);
      const { modelReport } = await import('./model-report.js');
      return modelReport(directory, id, job.created);
    });
  }

  /**
   * Deletes a model's files; its record stays, as DELETED. A job that has not ended is cancelled first. To delete a
   * deleted model again does no harm and removes files that a failure left. Fails with a NotFoundError.
   */
  deleteModel(id: string): ResultAsync<void, OrchardError> {
    return this.#call('deleting a model', () => this.#data.delete(id));
  }

  /**
   * The READY models that nobody has asked for more than so many days, newest first. Uses are known to the hour. Models
   * of a release that did not track them count from the first call of this. Fails with a ValidationError.
   */
  listUnusedModels(options: UnusedOptions = {}): ResultAsync<readonly UnusedModel[], OrchardError> {
    return this.#call('listing unused models', () => this.#data.unused(options));
  }

  /** Deletes those models, as `deleteModel` does. Fails with a ValidationError. @returns what it deleted. */
  removeUnusedModels(options: UnusedOptions = {}): ResultAsync<readonly UnusedModel[], OrchardError> {
    return this.#call('removing unused models', () => this.#data.removeUnused(options));
  }

  /**
   * Removes all that the storage has of this trainer's account: records, models, reports, checkpoints, what waits and
   * what deleted models left. Jobs that have not ended are cancelled first, also those of other processes. Nothing of
   * other accounts is touched. After a failure or a crash, call it again; a repetition does no harm. A job that is
   * created meanwhile is erased too or stays whole.
   * Fails with a ValidationError where `app_id` is another account's; an operator has `eraseAccount`.
   * @param app_id the account of this trainer, to say so once more.
   */
  eraseAccount(app_id: string): ResultAsync<ErasedAccount, OrchardError> {
    return this.#call('erasing an account', () => this.#data.erase(app_id));
  }

  /**
   * The job's present state, then its events until it has ended; leaving the loop stops watching. A reader slower
   * than the events misses progress, never a state or the latest figures. Of a job that another process runs, only
   * states and epochs come, at once where the storage tells of writes, else some seconds late. A storage that fails
   * for half a minute ends it with its StorageError; the job goes on by itself once the storage works again.
   * @throws (from the loop) NotFoundError, StorageError, ClosedError; AbortedError when the signal fires
   */
  async *watch(id: string, { signal }: SignalOptions = {}): AsyncGenerator<TrainingEvent, void, undefined> {
    if (this.#closing) throw new ClosedError('trainer');
    yield* this.#events.watch(id, signal);
  }

  /**
   * Waits until the job has ended, as READY, ERROR, CANCELLED or DELETED, and tells how.
   * Fails with a NotFoundError, or with an AbortedError when the signal fires; the job goes on then.
   */
  waitForTrainingJob(id: string, { signal }: SignalOptions = {}): ResultAsync<JobInformation, OrchardError> {
    return this.#call('waiting for a training job', async () => {
      await this.#events.ended(id, signal);
      return toJobInformation(await this.#jobs.get(id));
    });
  }

  /**
   * Stops the run under way and waits until it and every call have come to their end. The stopped job stays
   * RUNNING and goes on from its checkpoint under the next trainer; waiting ones stay QUEUED. Idempotent.
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

  async #create(
    job: JobRecord,
    request: TrainingRequest,
    idempotencyKey: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const create = (each: JobRecord) => this.#control.create(each, this.#data.creationOf(each.id), signal);
    if (idempotencyKey !== undefined) {
      const context = { jobs: this.#jobs, requests: this.#requests, idempotencyKey, request, job };
      return createOnce(context, create);
    }
    await create(job);
    return job.id;
  }

  #newJob(request: TrainingRequest, allow_file_url: boolean): JobRecord {
    const { account, seed, allowPrivateAddresses, tuning, backbone } = this.#settings;
    return newJobRecord(request, {
      id: uuidV7(),
      app_id: account.app_id,
      created: timestamp(this.#clock.now()),
      seed,
      allow_file_url,
      allow_private_addresses: allowPrivateAddresses,
      tuning,
      backbone,
    });
  }

  #list<Item>(
    doing: string,
    filter: ListFilter,
    toItem: (job: JobRecord) => Item,
  ): ResultAsync<Page<Item>, OrchardError> {
    return this.#call(doing, async () => {
      const { data, pagination } = await this.#jobs.page(validate(listFilterSchema, filter));
      return { data: data.map(toItem), pagination };
    });
  }

  /** Everything below throws errors of ours; here they become results. */
  #call<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
    if (this.#closing) return errAsync(new ClosedError('trainer'));
    const call = work();
    this.#calls.add(call);
    const tracked = call.finally(() => this.#calls.delete(call));
    return ResultAsync.fromPromise(tracked, (thrown) => toOrchardError(thrown, doing));
  }
}
