import { v7 as uuidV7 } from 'uuid';
import { type Account, type TrainingRequest, trainingRequestSchema, validate } from '../contract/index.js';
import { AbortedError, QueueFullError, TierError, ValidationError } from '../errors.js';
import { families } from '../families/index.js';
import { type JobRecord, JobRequests, newJobRecord } from '../jobs/index.js';
import { requirePublicHost } from '../network/index.js';
import type { AccountContext } from './account-context.js';
import { timestamp } from './clock.js';
import type { JobControl } from './job-control.js';
import type { TrainerSettings } from './trainer-options.js';

/** How one job is created. */
export interface JobCreation {
  readonly signal?: AbortSignal | undefined;
  readonly allowFileUrl: boolean;
  readonly idempotencyKey?: string | undefined;
}

/** Creates an account's jobs, one after the other: only so can waiting jobs be counted. */
export class JobCreator {
  readonly #context: AccountContext;
  readonly #settings: TrainerSettings;
  readonly #control: JobControl;
  readonly #requests: JobRequests;
  /** The latest admission, which the next one waits for. */
  #admission: Promise<unknown> = Promise.resolve();

  constructor(context: AccountContext, settings: TrainerSettings, control: JobControl) {
    this.#context = context;
    this.#settings = settings;
    this.#control = control;
    this.#requests = new JobRequests(context.storage, context.app_id, context.clock);
  }

  /**
   * Checks the request, writes a CREATED job and queues it. The signal counts until the job is written.
   * @returns the id of the job; with an idempotency key, of the one that the same request has created.
   * @throws ValidationError, TierError, QueueFullError, AbortedError, StorageError
   */
  async create(
    input: TrainingRequest,
    { signal, allowFileUrl, idempotencyKey }: JobCreation,
  ): Promise<string> {
    requireNotAborted(signal);
    const request = checkTrainingRequest(input, this.#settings.account, allowFileUrl);
    if (!this.#settings.allowPrivateAddresses) await requirePublicHost(request.dataset_url);
    const newId = uuidV7();
    if (idempotencyKey === undefined) {
      await this.#write(this.#newJob(newId, request, allowFileUrl), signal);
      return newId;
    }
    const { jobs } = this.#context;
    const id = await this.#requests.idFor(idempotencyKey, request, newId);
    const isThere = async () => (await jobs.find(id)) !== undefined;
    if (await isThere()) return id;
    try {
      await this.#write(this.#newJob(id, request, allowFileUrl), signal);
    } catch (thrown) {
      if (!(await isThere())) throw thrown; // else the same request was faster
    }
    return id;
  }

  async #write(job: JobRecord, signal: AbortSignal | undefined): Promise<void> {
    const admitted = this.#admission.then(() => this.#admit(job, signal));
    this.#admission = admitted.catch(() => undefined);
    await this.#control.enqueue(job.id, await admitted);
  }

  async #admit(job: JobRecord, signal: AbortSignal | undefined) {
    const { jobs, uses, clock } = this.#context;
    const { maxWaitingJobs } = this.#settings;
    if (!(await jobs.hasFewOpen(maxWaitingJobs))) {
      const waiting = await jobs.countWaiting();
      if (waiting >= maxWaitingJobs) throw new QueueFullError(waiting);
    }
    requireNotAborted(signal);
    return jobs.create(job, uses.firstOf(job.id, clock.now()));
  }

  #newJob(id: string, request: TrainingRequest, allow_file_url: boolean): JobRecord {
    const { account, seed, allowPrivateAddresses, tuning, backbone } = this.#settings;
    return newJobRecord(request, {
      id,
      app_id: account.app_id,
      created: timestamp(this.#context.clock.now()),
      seed,
      allow_file_url,
      allow_private_addresses: allowPrivateAddresses,
      tuning,
      backbone,
    });
  }
}

function requireNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AbortedError('creating the training job', { cause: signal.reason });
}

/** Checks everything about a request that can be known before the dataset is fetched. @throws ValidationError, TierError */
function checkTrainingRequest(
  input: TrainingRequest,
  { tier }: Account,
  allowFileUrl: boolean,
): TrainingRequest {
  const request = validate(trainingRequestSchema, input);
  const { dataset_url: url, model_config } = request;
  const protocols = allowFileUrl ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  if (!URL.canParse(url) || !protocols.includes(new URL(url).protocol)) {
    const msg = `${JSON.stringify(url)} is not the URL of a dataset; give one that begins with ${protocols.join(' or ')}`;
    throw new ValidationError([{ loc: ['dataset_url'], msg, type: 'invalid_url' }]);
  }
  if (families[model_config.family].tier === 'pro' && tier !== 'pro') {
    throw new TierError(`training a ${model_config.type} model`);
  }
  return request;
}
