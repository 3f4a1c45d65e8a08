import { validate as isUuid } from 'uuid';
import { type ListFilter, NotFoundError, type Page, StorageError } from '../contract/index.js';
import {
  isVersionConflict,
  type NewRecord,
  type Storage,
  type Version,
  type Versioned,
  type WriteOptions,
  withStorageErrors,
} from '../storage/index.js';
import { accountKey, JOBS } from './account-records.js';
import {
  type JobFilter,
  JobIndex,
  LEFT_VIEW,
  matches,
  OPEN_VIEW,
  type TaskOf,
  viewsOf,
  viewsWith,
} from './job-index.js';
import { createdMs, isWaiting, type JobRecord, keepDamaged, parseJob, type StoredJob, toJson } from './job-record.js';
import { noteWrite } from './job-writes.js';

const DEFAULT_PAGE_LIMIT = 20;
/** How many jobs are read at a time if all are wanted. */
const READ_TOGETHER = 100;
/** Each conflict means that another write succeeded, so this many in a row mean a broken storage. */
const MAX_WRITE_ATTEMPTS = 100;

/** What becomes of a job is recorded even when the medium is full; new ones have to wait. */
const URGENT: WriteOptions = { isUrgent: true };

/** Far longer than the creation of a job takes. */
const CREATION_MS = 10 * 60_000;

interface UpdateOptions {
  /** What a missing job is called in the error. Default `training job`. */
  readonly resource?: 'model' | 'training job';
  /** The job as it was a moment ago, which spares the first reading. */
  readonly known?: StoredJob;
}

/**
 * The jobs of one account, as `jobs/<app_id>/<id>`. Ids sort by time, and so do keys. Lists and counts look
 * in a {@link JobIndex}. Every method throws a StorageError if the storage fails. A damaged record is set aside, in
 * `damaged-jobs/<app_id>/<id>`, and an ERROR takes its place.
 */
export class JobRepository {
  readonly #storage: Storage;
  readonly #appId: string;
  readonly #prefix: string;
  readonly #index: JobIndex;
  readonly #taskOf: TaskOf;

  /** @param taskOf that of the families, needed to write or list jobs. Default: each type is a task. */
  constructor(storage: Storage, appId: string, taskOf: TaskOf = (type) => type) {
    this.#taskOf = taskOf;
    this.#storage = withStorageErrors(storage);
    this.#appId = appId;
    this.#prefix = `${accountKey(appId)}/`;
    this.#index = new JobIndex(this.#storage, this.#prefix);
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

  /** @param use the record of the model's first use; the job is created even if that can't be written. */
  async create(job: JobRecord, use?: NewRecord): Promise<StoredJob> {
    const views = viewsOf(job, this.#taskOf);
    const version = await this.#createWhole(job, views, use === undefined ? [] : [use]);
    if (version !== undefined) return { job, version };
    // Before the job, so that an erasure of the account leaves nothing: it removes records of a missing job.
    const noting = use && this.#storage.write(use.collection, use.key, use.value, undefined);
    await Promise.all([this.#index.add(job.id, views), noting?.catch(() => undefined)]);
    const created = { job, version: await this.#write(job, undefined) };
    // That erasure may have taken the markers, too.
    if (!(await this.#index.has(job.id, views))) await this.#index.add(job.id, views);
    return created;
  }

  /**
   * Writes what `change` returns for the job, unless that is the job itself. After a concurrent write, reads the job
   * and calls `change` again.
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

  /** All jobs that a filter asks for, newest first. */
  all(filter: JobFilter): AsyncGenerator<JobRecord> {
    return this.#newest(filter, undefined, READ_TOGETHER);
  }

  /** All jobs that have not ended, oldest first. */
  async unfinished(): Promise<JobRecord[]> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#oldest(OPEN_VIEW)) jobs.push(job);
    return jobs;
  }

  /** The DELETED jobs whose files may still be there. */
  async withFilesLeft(): Promise<JobRecord[]> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#oldest(LEFT_VIEW)) jobs.push(job);
    return jobs;
  }

  /** The oldest job that has not ended. */
  async oldestUnfinished(): Promise<JobRecord | undefined> {
    for await (const job of this.#oldest(OPEN_VIEW)) return job;
    return undefined;
  }

  /** How many jobs have yet to start. */
  async countWaiting(): Promise<number> {
    const unfinished = await this.unfinished();
    return unfinished.filter(({ status }) => isWaiting(status)).length;
  }

  /** Whether the index alone shows that fewer than `limit` jobs have yet to end. */
  async hasFewOpen(limit: number): Promise<boolean> {
    let count = 0;
    for await (const ids of this.#index.oldest(OPEN_VIEW)) count += ids.length;
    return count < limit;
  }

  /**
   * The jobs of a view, oldest first. Removes markers that processes left when they died: of jobs that have left the view,
   * and of jobs that were never written. As a marker is written before its job, only an old one is known to have none.
   */
  async *#oldest(view: string): AsyncGenerator<JobRecord, void, undefined> {
    for await (const ids of this.#index.oldest(view)) {
      const jobs = new Map((await this.#findAll(ids)).map((job) => [job.id, job]));
      for (const id of ids) {
        const job = jobs.get(id);
        if (job && viewsOf(job, this.#taskOf).includes(view)) yield job;
        else if (job || createdMs(id) < Date.now() - CREATION_MS) {
          await this.#index.remove(id, [view]).catch(() => undefined);
        }
      }
    }
  }

  /** The jobs that a filter asks for, newest first. @param count how many the caller will probably read. */
  async *#newest(filter: JobFilter, cursor: string | undefined, count: number): AsyncGenerator<JobRecord> {
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
    const found = await Promise.all((await this.#readAll(ids)) ?? ids.map((id) => this.#read(id)));
    return found.flatMap((each) => each?.job ?? []);
  }

  /** The existing jobs, read in one call; undefined if the storage can't do that. */
  async #readAll(ids: readonly string[]): Promise<Promise<StoredJob>[] | undefined> {
    if (this.#storage.readAll === undefined) return undefined;
    const keys = ids.filter((id) => isUuid(id)).map((id) => this.#key(id));
    const records = await this.#storage.readAll(JOBS, keys);
    const found = new Map(records.map((record) => [record.key, record]));
    return keys.flatMap((key) => {
      const record = found.get(key);
      return record === undefined ? [] : this.#opened(key.slice(this.#prefix.length), record);
    });
  }

  async #read(id: string): Promise<StoredJob | undefined> {
    if (!isUuid(id)) return undefined;
    const key = this.#key(id);
    const found = await this.#storage.read(JOBS, key);
    return found === undefined ? undefined : this.#opened(id, found);
  }

  /** The job that a record holds. An ERROR replaces a damaged one, for good if the storage can be written. */
  async #opened(id: string, found: Versioned): Promise<StoredJob> {
    const { job, damage } = parseJob({ app_id: this.#appId, id }, found);
    const { version } = found;
    if (damage === undefined) return { job, version };
    const key = this.#key(id);
    try {
      await keepDamaged(this.#storage, key, found, damage);
      await this.#index.add(id, viewsOf(job, this.#taskOf), URGENT);
      return {
        job,
        version: await this.#storage.write(JOBS, key, toJson(job), version, URGENT),
      };
    } catch {
      return { job, version };
    }
  }

  /** @returns false after a concurrent write. */
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
   * Creates a job with its markers and other records in one call. @returns its version; undefined if the storage can't
   * do that, or one of the records exists.
   */
  async #createWhole(
    job: JobRecord,
    views: readonly string[],
    others: readonly NewRecord[],
  ): Promise<Version | undefined> {
    if (this.#storage.createAll === undefined) return undefined;
    const record = { collection: JOBS, key: this.#key(job.id), value: toJson(job) };
    const records = [record, ...this.#index.markers(job.id, views), ...others];
    try {
      const [version] = await this.#storage.createAll(records);
      noteWrite(this.#storage, job.id);
      return version;
    } catch (thrown) {
      if (isVersionConflict(thrown)) return undefined;
      throw thrown;
    }
  }

  async #write(job: JobRecord, expected: Version | undefined, options: WriteOptions = {}): Promise<Version> {
    const version = await this.#storage.write(JOBS, this.#key(job.id), toJson(job), expected, options);
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
