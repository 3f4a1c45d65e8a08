import { createHash } from 'node:crypto';
import * as z from 'zod';
import { MAX_IDEMPOTENCY_KEY_LENGTH, type TrainingRequest, validate } from '../contract/index.js';
import { StorageError, ValidationError } from '../errors.js';
import { isVersionConflict, type Storage, withStorageErrors } from '../storage/index.js';
import { accountKey } from './account-records.js';
import { JOB_REQUESTS } from './collections.js';

/** How long a key is remembered. */
const REMEMBERED_MS = 24 * 60 * 60_000;
/** An account's keys are in 256 records, by the first digits of their hashes, so that each stays small. */
const SHARD_DIGITS = 2;

const keySchema = z
  .string()
  .min(1, 'the idempotency key is empty; use a unique text for each request, such as a UUID')
  .max(
    MAX_IDEMPOTENCY_KEY_LENGTH,
    `the idempotency key is longer than ${MAX_IDEMPOTENCY_KEY_LENGTH} characters`,
  );

const rememberedSchema = z.array(
  z.object({
    /** SHA-256 of the key, and of the request that came with it. */
    key: z.string(),
    request: z.string(),
    id: z.string(),
    /** Milliseconds since 1970. */
    at: z.number(),
  }),
);
type Remembered = z.infer<typeof rememberedSchema>;

/**
 * The requests of an account that came with an idempotency key, for 24 hours: `job-requests/<app_id>/<2 digits>`. The
 * id of a job is decided here before the job exists. So a request that is repeated, in any process and also after a
 * crash between the two, can only create this one job.
 */
export class JobRequests {
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

  /** The remembered requests of a shard that are not too old. */
  async #read(record: string) {
    const found = await this.#storage.read(JOB_REQUESTS, record);
    const parsed = rememberedSchema.safeParse(found?.value ?? []);
    if (!parsed.success) {
      throw new StorageError(`record ${JOB_REQUESTS}/${record} is not a list of requests; remove it`, {
        cause: parsed.error,
      });
    }
    const since = this.#clock.now() - REMEMBERED_MS;
    const remembered: Remembered = parsed.data.filter(({ at }) => at > since);
    return { remembered, version: found?.version };
  }
}

function otherRequest(key: string, id: string): ValidationError {
  const msg = `${JSON.stringify(key)} came with another request within 24 hours, which created job ${id}; use a new key for a new request`;
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
