import { createHash } from 'node:crypto';
import { v7 as uuidV7 } from 'uuid';
import * as z from 'zod';
import {
  AbortedError,
  type Account,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  QueueFullError,
  StorageError,
  shownUrl,
  TierError,
  type TrainingRequest,
  trainingRequestSchema,
  ValidationError,
  validate,
} from '../contract/index.js';
import { families } from '../families/index.js';
import { isVersionConflict, type Storage, withStorageErrors } from '../storage/index.js';
import { requirePublicHost } from '../system/index.js';
import type { AccountContext } from './account-context.js';
import { accountKey, JOB_REQUESTS } from './account-records.js';
import { timestamp } from './clock.js';
import type { JobControl } from './job-control.js';
import { type JobRecord, newJobRecord } from './job-record.js';
import type { TrainerSettings } from './trainer-options.js';

const REMEMBERED_MS = 24 * 60 * 60_000;
/** An account's keys are in 256 records, by the first digits of their hashes, so that each stays small. */
const SHARD_DIGITS = 2;

const keySchema = z.lazy(() =>
  z
    .string()
    .min(1, 'the idempotency key is empty; use a unique text for each request, such as a UUID')
    .max(MAX_IDEMPOTENCY_KEY_LENGTH, `the idempotency key is longer than ${MAX_IDEMPOTENCY_KEY_LENGTH} characters`),
);

const rememberedSchema = z.lazy(() =>
  z.array(
    z.object({
      /** SHA-256 of the key, and of the request that came with it. */
      key: z.string(),
      request: z.string(),
      id: z.string(),
      /** Milliseconds since 1970. */
      at: z.number(),
    }),
  ),
);

/**
 * The requests of an account that came with an idempotency key, for 24 hours: `job-requests/<app_id>/<2 digits>`. The
 * id of a job is decided here before the job exists. So a request that is repeated, in any process and also after a
 * crash between the two, can only create this one job.
 */
class JobRequests {
  readonly #storage: Storage;
  readonly #account: string;
  readonly #clock: { now(): number };

  constructor(storage: Storage, appId: string, clock: { now(): number }) {
    this.#storage = withStorageErrors(storage);
    this.#account = accountKey(appId);
    this.#clock = clock;
  }

  /**
   * @param newId for a key that is not remembered.
   * @returns the id of the job that this request creates or has created.
   * @throws ValidationError if the key came with another request; StorageError
   */
  async idFor(idempotencyKey: string, request: TrainingRequest, newId: string): Promise<string> {
    const key = sha256(validate(keySchema, idempotencyKey, ['idempotencyKey']));
    const asked = { key, request: sha256(canonical(request)), id: newId, at: this.#clock.now() };
    const record = `${this.#account}/${key.slice(0, SHARD_DIGITS)}`;
    for (;;) {
      const { remembered, version } = await this.#read(record);
      const earlier = remembered.find((each) => each.key === key);
      if (earlier !== undefined) {
        if (earlier.request !== asked.request) throw otherRequest(idempotencyKey, earlier.id);
        return earlier.id;
      }
      try {
        await this.#storage.write(JOB_REQUESTS, record, [...remembered, asked], version);
        return newId;
      } catch (thrown) {
        if (!isVersionConflict(thrown)) throw thrown;
      }
    }
  }

  async #read(record: string) {
    const found = await this.#storage.read(JOB_REQUESTS, record);
    const parsed = rememberedSchema.safeParse(found?.value ?? []);
    if (!parsed.success) {
      throw new StorageError(`record ${JOB_REQUESTS}/${record} is not a list of requests; remove it`, {
        cause: parsed.error,
      });
    }
    const since = this.#clock.now() - REMEMBERED_MS;
    return { remembered: parsed.data.filter(({ at }) => at > since), version: found?.version };
  }
}

function otherRequest(key: string, id: string): ValidationError {
  const msg = `${JSON.stringify(key)} was used within 24 hours for another request, which created job ${id}; use a new key for each request`;
  return new ValidationError([{ loc: ['idempotencyKey'], msg, type: 'idempotency_key' }]);
}

/** The same text for the same request, in any order of its fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

interface JobCreation {
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
  async create(input: TrainingRequest, { signal, allowFileUrl, idempotencyKey }: JobCreation): Promise<string> {
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
function checkTrainingRequest(input: TrainingRequest, { tier }: Account, allowFileUrl: boolean): TrainingRequest {
  const request = validate(trainingRequestSchema, input);
  const { dataset_url: url, model_config } = request;
  const protocols = allowFileUrl ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  if (!URL.canParse(url) || !protocols.includes(new URL(url).protocol)) {
    const msg = `${JSON.stringify(shownUrl(url))} is not the URL of a dataset; give one that begins with ${protocols.join(' or ')}`;
    throw new ValidationError([{ loc: ['dataset_url'], msg, type: 'invalid_url' }]);
  }
  if (families[model_config.family].tier === 'pro' && tier !== 'pro') {
    throw new TierError(`training a ${model_config.type} model`);
  }
  return request;
}
