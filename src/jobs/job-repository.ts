import { validate as isUuid } from 'uuid';
import type { ListFilter, Page } from '../contract/index.js';
import { NotFoundError, StorageError } from '../errors.js';
import {
  isVersionConflict,
  type NewRecord,
  type Storage,
  type Version,
  type Versioned,
  type WriteOptions,
} from '../storage/index.js';
import { JOBS } from './collections.js';
import { keepDamaged } from './damaged-job.js';
import { JobIndex } from './job-index.js';
import type { JobRecord } from './job-record.js';
import { hasEnded, isWaiting } from './job-states.js';
import { type JobFilter, matches, OPEN_VIEW, type TaskOf, viewsOf, viewsWith } from './job-views.js';
import { noteWrite } from './job-writes.js';
import { NewerRecord, standInOfNewer } from './newer-record.js';
import { stored } from './stored.js';
import { type CreatedJob, type ParsedJob, parseJob, type StoredJob, toJson } from './stored-job.js';

const DEFAULT_PAGE_LIMIT = 20;
/** Records read at a time. */
const READ_TOGETHER = 100;
/** Each conflict means that another write succeeded, so this many in a row mean a broken storage. */
const MAX_WRITE_ATTEMPTS = 100;

/** What becomes of a job is recorded even when the medium is full; new ones have to wait. */
const URGENT: WriteOptions = { isUrgent: true };

export interface UpdateOptions {
  /** What a job that isn't there is called in the error. Default `training job`. */
  readonly resource?: 'model' | 'training job';
  /** The job as it was a moment ago, which spares the first reading. */
  readonly known?: StoredJob;
}

/**
 * The jobs of one account, as `jobs/<app_id>/<id>`. Ids sort by time, and so do keys. Lists and counts look
 * in a {@link JobIndex}, which is built on first use for an account that an earlier release wrote. Every
 * method throws a StorageError if the storage fails, or the record of a job is a later release's. A damaged record is
 * set aside, in `damaged-jobs/<app_id>/<id>`, and an ERROR takes its place.
 */
export class JobRepository {
  readonly #storage: Storage;
  readonly #appId: string;
  readonly #prefix: string;
  readonly #index: JobIndex;
  readonly #taskOf: TaskOf;
  #indexed: Promise<void> | undefined;
  /** Whether the index is known to say that it is complete. */
  #isMarked = false;

  /** @param taskOf that of the families; whoever writes or lists jobs must pass it. Default: each type is a task. */
  constructor(storage: Storage, appId: string, taskOf: TaskOf = (type) => type) {
    this.#taskOf = taskOf;
    this.#storage = storage;
    this.#appId = appId;
    this.#prefix = `${encodeURIComponent(appId)}/`;
    this.#index = new JobIndex(storage, this.#prefix);
  }

  async find(id: string): Promise<JobRecord | undefined> {
    return (await this.#read(id))?.job;
  }

  /** @throws NotFoundError if this account has no such job. */
  async get(id: string, resource: 'model' | 'training job' = 'training job'): Promise<JobRecord> {
    const job = await this.find(id);
    if (job === undefined) throw new NotFoundError(resource, id);
    return job;
  }

  /** @param beside records that are created with the job, if the storage creates several at once. */
  async create(job: JobRecord, beside: readonly NewRecord[] = []): Promise<CreatedJob> {
    await this.#ensureIndex();
    if (!this.#isMarked) await this.#index.markComplete();
    this.#isMarked = true;
    const views = viewsOf(job, this.#taskOf);
    const whole = await this.#createWhole(job, views, beside);
    if (whole !== undefined) return { job, version: whole, isWhole: true };
    await this.#index.add(job.id, views);
    const version = await this.#write(job, undefined);
    // An erasure of the account may have taken the markers before there was a job to be seen.
    if (!(await this.#index.has(job.id, views))) await this.#index.add(job.id, views);
    return { job, version, isWhole: false };
  }

  /**
   * Writes what `change` returns for the job, unless that is the job itself. If someone else wrote meanwhile,
   * reads the job and calls `change` again.
   * @throws NotFoundError, and whatever `change` throws.
   */
  async update(
    id: string,
    change: (job: JobRecord) => JobRecord,
    { resource = 'training job', known }: UpdateOptions = {},
  ): Promise<JobRecord> {
    for (let attempt = 1; attempt <= MAX_WRITE_ATTEMPTS; attempt += 1) {
      const found = attempt === 1 && known !== undefined ? known : await this.#read(id);
      if (found === undefined) throw new NotFoundError(resource, id);
      const changed = change(found.job);
      if (changed === found.job || (await this.#replace(found, changed))) return changed;
    }
    throw new StorageError(`record ${JOBS}/${this.#key(id)} could not be written: its version kept changing`);
  }

  /**
   * One page, newest first; the cursor is the id of the last job on the page before. DELETED jobs are only on
   * pages that ask for them.
   */
  async page({ limit = DEFAULT_PAGE_LIMIT, cursor, ...filter }: ListFilter): Promise<Page<JobRecord>> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#newest(filter, cursor, limit + 1)) {
      jobs.push(job);
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
    await this.#ensureIndex();
    const ids = await this.#index.all(OPEN_VIEW);
    const jobs: JobRecord[] = [];
    for (let next = 0; next < ids.length; next += READ_TOGETHER) {
      jobs.push(...(await this.#findAll(ids.slice(next, next + READ_TOGETHER))));
    }
    return jobs.filter(({ status }) => !hasEnded(status));
  }

  /** How many jobs have yet to start. */
  async countWaiting(): Promise<number> {
    const unfinished = await this.unfinished();
    return unfinished.filter(({ status }) => isWaiting(status)).length;
  }

  /** Whether fewer than `limit` jobs have yet to end, and so to start, for all that the index alone can tell. */
  async hasFewOpen(limit: number): Promise<boolean> {
    await this.#ensureIndex();
    return (await this.#index.all(OPEN_VIEW)).length < limit;
  }

  /** The jobs that a filter asks for, newest first. @param count how many the caller will probably read. */
  async *#newest(filter: JobFilter, cursor: string | undefined, count: number): AsyncGenerator<JobRecord> {
    await this.#ensureIndex();
    for (let after = cursor; ; ) {
      const { ids, isLast } = await this.#index.newest(viewsWith(filter, this.#taskOf), after, count);
      for (let next = 0; next < ids.length; next += count) {
        const jobs = await this.#findAll(ids.slice(next, next + count));
        yield* jobs.filter((job) => matches(job, filter, this.#taskOf));
      }
      if (isLast) return;
      after = ids.at(-1);
    }
  }

  async #findAll(ids: readonly string[]): Promise<JobRecord[]> {
    const finding = (await this.#readAll(ids)) ?? ids.map((id) => this.#read(id));
    const jobs = finding.map((found) => found.then((found) => found?.job).catch(standInOfNewer));
    return (await Promise.all(jobs)).filter((job) => job !== undefined);
  }

  /** The jobs that there are, read in one go; undefined where the storage can't do that. */
  async #readAll(ids: readonly string[]): Promise<Promise<StoredJob>[] | undefined> {
    if (this.#storage.readAll === undefined) return undefined;
    const keys = ids.filter((id) => isUuid(id)).map((id) => this.#key(id));
    const records = await stored(async () => this.#storage.readAll?.(JOBS, keys));
    const found = new Map(records?.map((record) => [record.key, record]));
    return keys.flatMap((key) => {
      const record = found.get(key);
      return record === undefined ? [] : this.#opened(key.slice(this.#prefix.length), record);
    });
  }

  #ensureIndex(): Promise<void> {
    this.#indexed ??= this.#completeIndex().catch((thrown: unknown) => {
      this.#indexed = undefined; // the next call tries again
      throw thrown;
    });
    return this.#indexed;
  }

  /**
   * Gives all jobs their markers if an earlier release wrote some without. After a crash it goes through all
   * again.
   */
  async #completeIndex(): Promise<void> {
    this.#isMarked = await this.#index.isComplete();
    if (this.#isMarked) return;
    let after: string | undefined;
    for (let isLast = false; !isLast; ) {
      const listing = { prefix: this.#prefix, limit: READ_TOGETHER, ...(after !== undefined && { after }) };
      const records = await stored(() => this.#storage.list(JOBS, listing));
      const found = records.filter(({ key }) => isUuid(key.slice(this.#prefix.length)));
      const jobs = found.map((record) => this.#parse(record.key.slice(this.#prefix.length), record).job);
      await Promise.all(jobs.map((job) => this.#index.add(job.id, viewsOf(job, this.#taskOf))));
      after = records.at(-1)?.key;
      isLast = records.length < READ_TOGETHER;
    }
    if (after === undefined) return; // nothing is written for an account that has no jobs
    await this.#index.markComplete();
    this.#isMarked = true;
  }

  async #read(id: string): Promise<StoredJob | undefined> {
    if (!isUuid(id)) return undefined;
    const key = this.#key(id);
    const found = await stored(() => this.#storage.read(JOBS, key));
    return found === undefined ? undefined : this.#opened(id, found);
  }

  /** The job that a record holds, or what stands for it. @throws NewerRecord */
  async #opened(id: string, found: Versioned): Promise<StoredJob> {
    const { job, problem } = this.#parse(id, found);
    if (problem?.kind === 'newer') throw new NewerRecord(problem.message, job);
    const { version } = found;
    return problem === undefined ? { job, version } : this.#setAside(job, found, problem.message);
  }

  #parse(id: string, found: Versioned): ParsedJob {
    return parseJob({ app_id: this.#appId, id }, found);
  }

  /** Puts the ERROR that stands for a damaged job in its place, for good where the storage can be written. */
  async #setAside(job: JobRecord, found: Versioned, message: string): Promise<StoredJob> {
    const key = this.#key(job.id);
    try {
      await keepDamaged(this.#storage, key, found, message);
      await this.#index.add(job.id, viewsOf(job, this.#taskOf), URGENT);
      const write = () => this.#storage.write(JOBS, key, toJson(job), found.version, URGENT);
      return { job, version: await stored(write) };
    } catch {
      return { job, version: found.version };
    }
  }

  /** @returns false if someone else wrote first. */
  async #replace({ job, version }: StoredJob, changed: JobRecord): Promise<boolean> {
    const [before, now] = [viewsOf(job, this.#taskOf), viewsOf(changed, this.#taskOf)];
    await this.#index.add(job.id, without(now, before), URGENT);
    try {
      await this.#write(changed, version, URGENT);
    } catch (thrown) {
      if (isVersionConflict(thrown)) return false;
      throw thrown;
    }
    // No job returns to a view, and markers that stay do no harm, so the change stands even if this fails.
    await this.#index.remove(job.id, without(before, now)).catch(() => undefined);
    return true;
  }

  /**
   * Creates a job with its markers and what else belongs to it. @returns its version; undefined where the storage can't,
   * or one of them is there already.
   */
  async #createWhole(
    job: JobRecord,
    views: readonly string[],
    beside: readonly NewRecord[],
  ): Promise<Version | undefined> {
    if (this.#storage.createAll === undefined) return undefined;
    const record = { collection: JOBS, key: this.#key(job.id), value: toJson(job) };
    const records = [record, ...this.#index.markers(job.id, views), ...beside];
    try {
      const versions = await stored(async () => this.#storage.createAll?.(records));
      noteWrite(this.#storage, job.id);
      return versions?.[0];
    } catch (thrown) {
      if (isVersionConflict(thrown)) return undefined;
      throw thrown;
    }
  }

  async #write(job: JobRecord, expected: Version | undefined, options: WriteOptions = {}): Promise<Version> {
    const write = () => this.#storage.write(JOBS, this.#key(job.id), toJson(job), expected, options);
    const version = await stored(write);
    noteWrite(this.#storage, job.id);
    return version;
  }

  #key(id: string): string {
    return this.#prefix + id;
  }
}

function without(views: readonly string[], others: readonly string[]): string[] {
  return views.filter((view) => !others.includes(view));
}
