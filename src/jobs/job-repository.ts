import { validate as isUuid } from 'uuid';
import type { ZodError } from 'zod';
import type { ListFilter, ModelType, Page } from '../contract/index.js';
import { InternalError, NotFoundError, StorageError } from '../errors.js';
import { type JsonValue, type Storage, VersionConflict, type Versioned } from '../storage/index.js';
import { type JobRecord, jobRecordSchema } from './job-record.js';
import { hasEnded } from './job-states.js';
import { countWrite } from './job-writes.js';
import { stored } from './stored.js';

const JOBS = 'jobs';
const DEFAULT_PAGE_LIMIT = 20;
/** Records read at a time while jobs are looked through. */
const SCAN_LIMIT = 100;
/** Each conflict means that another write came through, so this many in a row mean a broken storage. */
const MAX_WRITE_ATTEMPTS = 100;

/**
 * The jobs of one account, as `jobs/<app_id>/<id>`. Ids sort by time, so keys do.
 * Every method throws a StorageError where the storage fails or holds something that is no job.
 */
export class JobRepository {
  readonly #storage: Storage;
  readonly #prefix: string;

  constructor(storage: Storage, appId: string) {
    this.#storage = storage;
    this.#prefix = `${encodeURIComponent(appId)}/`;
  }

  async find(id: string): Promise<JobRecord | undefined> {
    return (await this.#read(id))?.job;
  }

  /** @throws NotFoundError where this account has no such job. */
  async get(id: string, resource: 'model' | 'training job' = 'training job'): Promise<JobRecord> {
    const job = await this.find(id);
    if (job === undefined) throw new NotFoundError(resource, id);
    return job;
  }

  async create(job: JobRecord): Promise<void> {
    await this.#write(job, undefined);
  }

  /**
   * Writes what `change` makes of the job, unless that is the job itself; reads and asks again where someone else
   * wrote meanwhile.
   * @throws NotFoundError, and whatever `change` throws.
   */
  async update(
    id: string,
    change: (job: JobRecord) => JobRecord,
    resource: 'model' | 'training job' = 'training job',
  ): Promise<JobRecord> {
    for (let attempt = 1; attempt <= MAX_WRITE_ATTEMPTS; attempt += 1) {
      const found = await this.#read(id);
      if (found === undefined) throw new NotFoundError(resource, id);
      const changed = change(found.job);
      if (changed === found.job || (await this.#replace(changed, found.version))) return changed;
    }
    throw new StorageError(
      `record ${JOBS}/${this.#key(id)} could not be written: its version always changes`,
    );
  }

  /** One page, newest first; the cursor is the id of the last job on the page before. Jobs that are DELETED are only in a page that asks for them. */
  async page({ limit = DEFAULT_PAGE_LIMIT, cursor, ...filter }: ListFilter): Promise<Page<JobRecord>> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#scan({ reverse: true, after: cursor })) {
      if (matches(job, filter)) jobs.push(job);
      if (jobs.length > limit) break;
    }
    const data = jobs.slice(0, limit);
    const last = data.at(-1);
    const has_more = jobs.length > limit;
    const next_cursor = has_more && last !== undefined ? last.id : null;
    return { data, pagination: { limit, has_more, next_cursor } };
  }

  /** All jobs that have not ended, oldest first. */
  async unfinished(): Promise<JobRecord[]> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#scan({ reverse: false })) {
      if (!hasEnded(job.status)) jobs.push(job);
    }
    return jobs;
  }

  async *#scan(options: { reverse: boolean; after?: string | undefined }): AsyncGenerator<JobRecord> {
    let after = options.after === undefined ? undefined : this.#key(options.after);
    for (;;) {
      const position = after === undefined ? {} : { after };
      const listing = { prefix: this.#prefix, reverse: options.reverse, limit: SCAN_LIMIT, ...position };
      const records = await stored(() => this.#storage.list(JOBS, listing));
      for (const { key, value } of records) yield parseJob(key, value);
      after = records.at(-1)?.key;
      if (records.length < SCAN_LIMIT) return;
    }
  }

  async #read(id: string): Promise<{ job: JobRecord; version: Versioned['version'] } | undefined> {
    if (!isUuid(id)) return undefined;
    const key = this.#key(id);
    const found = await stored(() => this.#storage.read(JOBS, key));
    return found && { job: parseJob(key, found.value), version: found.version };
  }

  /** @returns false where someone else wrote first. */
  async #replace(job: JobRecord, version: Versioned['version']): Promise<boolean> {
    try {
      await this.#write(job, version);
      return true;
    } catch (thrown) {
      if (thrown instanceof VersionConflict) return false;
      throw thrown;
    }
  }

  async #write(job: JobRecord, expected: Versioned['version'] | undefined): Promise<void> {
    await stored(() => this.#storage.write(JOBS, this.#key(job.id), toJson(job), expected));
    countWrite(this.#storage);
  }

  #key(id: string): string {
    return this.#prefix + id;
  }
}

function parseJob(key: string, value: JsonValue): JobRecord {
  const parsed = jobRecordSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = firstProblem(parsed.error);
  throw new StorageError(`record ${JOBS}/${key} is no training job (${problem}); repair or remove it`);
}

function firstProblem({ issues: [issue] }: ZodError): string {
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'it does not fit';
}

/**
 * Drops what is undefined, as JSON has no such value.
 * @throws InternalError for what could not be read again, such as a figure that is not finite.
 */
function toJson(job: JobRecord): JsonValue {
  const checked = jobRecordSchema.safeParse(job);
  if (!checked.success) {
    throw new InternalError(`training job ${job.id} can't be recorded: ${firstProblem(checked.error)}`);
  }
  return JSON.parse(JSON.stringify(job));
}

function matches(
  { status, model_config }: JobRecord,
  { modelType, trainingStatus }: Pick<ListFilter, 'modelType' | 'trainingStatus'>,
): boolean {
  const hasStatus = trainingStatus === undefined ? status !== 'DELETED' : status === trainingStatus;
  return hasStatus && (modelType === undefined || taskOf(modelType) === taskOf(model_config.type));
}

/** Two model types name the same task: the documented filter knows only one of them, requests the other. */
function taskOf(type: ModelType): ModelType {
  return type === 'sequence-labeling' ? 'named-entity-recognition' : type;
}
