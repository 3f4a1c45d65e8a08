import { createHash } from 'node:crypto';
import { validate as isUuid } from 'uuid';
import {
  type ListFilter,
  type ModelType,
  NotFoundError,
  type Page,
  StorageError,
  type TrainingJobStatus,
} from '../contract/index.js';
import {
  isVersionConflict,
  type NewRecord,
  type Storage,
  type Version,
  type Versioned,
  type WriteOptions,
  withStorageErrors,
} from '../storage/index.js';
import { accountKey, JOB_INDEX, JOBS } from './account-records.js';
import { createdMs, isWaiting, type JobRecord, keepDamaged, parseJob, type StoredJob, toJson } from './job-record.js';
import { noteWrite } from './job-writes.js';

const SCAN_LIMIT = 100;
/** How many ids are read first of a view that probably has few. */
const FEW = 4;

/**
 * The views of jobs, each of which answers one kind of listing. Jobs that haven't ended share one, as they are few.
 * The others are in one by how they ended (`ready`), and in one by that and their task (`ready-1f3c9a`). The names are
 * short, since a storage's key has at most 200 characters, of which an account and an id take up to 186.
 */
const statusViews: Readonly<Record<TrainingJobStatus, string>> = {
  CREATED: 'open',
  QUEUED: 'open',
  RUNNING: 'open',
  READY: 'ready',
  ERROR: 'error',
  CANCELLED: 'stop',
  DELETED: 'gone',
};
const OPEN_VIEW = 'open';
const LEFT_VIEW = 'left'; // DELETED jobs whose files may still be there
/** Two tasks with the same digits share views; {@link matches} then leaves out the jobs of the other. */
const TASK_DIGITS = 6;

/** The type by which a task is known: two types may name one task, and a filter by either finds both. */
type TaskOf = (type: ModelType) => ModelType;

type JobFilter = Pick<ListFilter, 'modelType' | 'trainingStatus'>;

export function viewsOf({ status, model_config, has_files }: JobRecord, taskOf: TaskOf): string[] {
  const view = statusViews[status];
  if (view === OPEN_VIEW) return [view];
  return [view, byTask(view, taskOf(model_config.type)), ...(has_files ? [LEFT_VIEW] : [])];
}

/** The views that have all jobs that a filter asks for, and perhaps others, in the order of a job's life. */
function viewsWith({ modelType, trainingStatus }: JobFilter, taskOf: TaskOf): string[] {
  const views = trainingStatus === undefined ? [OPEN_VIEW, 'ready', 'error', 'stop'] : [statusViews[trainingStatus]];
  if (modelType === undefined) return views;
  return views.map((view) => (view === OPEN_VIEW ? view : byTask(view, taskOf(modelType))));
}

/** Whether a filter asks for a job. It gets DELETED jobs only if it names that status. */
function matches(
  { status, model_config }: JobRecord,
  { modelType, trainingStatus }: JobFilter,
  taskOf: TaskOf,
): boolean {
  const hasStatus = trainingStatus === undefined ? status !== 'DELETED' : status === trainingStatus;
  return hasStatus && (modelType === undefined || taskOf(modelType) === taskOf(model_config.type));
}

function byTask(view: string, task: ModelType): string {
  const digits = createHash('sha256').update(task).digest('hex').slice(0, TASK_DIGITS);
  return `${view}-${digits}`;
}

/**
 * Which jobs of an account are in which view, so that a listing needn't read the jobs that it leaves out: an empty
 * record `job-index/<app_id>/<view>/<id>` for each, its marker. Every job has the markers of its views. Markers are
 * written before the job and removed after it, so there may be others, of jobs that have left a view since or were
 * never written: a reader of markers must check the jobs, and `JobRepository` removes the others that it meets.
 */
class JobIndex {
  readonly #storage: Storage;
  readonly #prefix: string;

  constructor(storage: Storage, prefix: string) {
    this.#storage = storage;
    this.#prefix = prefix;
  }

  markers(id: string, views: readonly string[]): NewRecord[] {
    return views.map((view) => ({ collection: JOB_INDEX, key: this.#key(view, id), value: null }));
  }

  async add(id: string, views: readonly string[], options: WriteOptions = {}): Promise<void> {
    await Promise.all(views.map((view) => this.#addMarker(this.#key(view, id), options)));
  }

  async has(id: string, views: readonly string[]): Promise<boolean> {
    const keys = views.map((view) => this.#key(view, id));
    const found = await Promise.all(keys.map((key) => this.#storage.read(JOB_INDEX, key)));
    return found.every((marker) => marker !== undefined);
  }

  async remove(id: string, views: readonly string[]): Promise<void> {
    await Promise.all(views.map((view) => this.#storage.remove(JOB_INDEX, this.#key(view, id))));
  }

  /**
   * The ids that come after `after` in any of the views, newest first, each once: at least `count` if there
   * are as many, else all. The views must be in the order in which jobs pass through them: as the first is
   * read before the others, a job that passes on meanwhile is found in one of them.
   */
  async newest(
    [first, ...others]: readonly string[],
    after: string | undefined,
    count: number,
  ): Promise<{ ids: string[]; isLast: boolean }> {
    /** The oldest id down to which every view is known; undefined while all are known to their ends. */
    let end: string | undefined;
    const readView = async (view: string, size: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let wanted = size; ; wanted *= 2) {
        const limit = Math.min(wanted, count - ids.length);
        const next = await this.#ids(view, { reverse: true, after: ids.at(-1) ?? after, limit });
        ids.push(...next);
        const last = ids.at(-1);
        if (last === undefined || next.length < limit) return ids;
        if (ids.length === count && (end === undefined || last > end)) end = last;
        if (end !== undefined && last <= end) return ids;
      }
    };
    const found = first === undefined ? [] : await readView(first, count);
    // Most jobs become READY, so the other views often have few of the newest ones.
    const reading = others.map((view, index) => readView(view, index === 0 ? count : FEW));
    found.push(...(await Promise.all(reading)).flat());
    const ids = [...new Set(found)].filter((id) => end === undefined || id >= end);
    return { ids: ids.sort().reverse(), isLast: end === undefined };
  }

  async *oldest(view: string): AsyncGenerator<string[], void, undefined> {
    let after: string | undefined;
    for (let limit = FEW; ; limit = SCAN_LIMIT) {
      const ids = await this.#ids(view, { reverse: false, after, limit });
      yield ids;
      if (ids.length < limit) return;
      after = ids.at(-1);
    }
  }

  async #addMarker(key: string, options: WriteOptions): Promise<void> {
    try {
      await this.#storage.write(JOB_INDEX, key, null, undefined, options);
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown; // it is there already
    }
  }

  async #ids(
    view: string,
    { after, ...options }: { reverse: boolean; after: string | undefined; limit: number },
  ): Promise<string[]> {
    const prefix = this.#key(view, '');
    const listing = { prefix, ...(after !== undefined && { after: prefix + after }), ...options };
    const keys = await this.#storage.listKeys(JOB_INDEX, listing);
    return keys.map((key) => key.slice(prefix.length));
  }

  #key(view: string, id: string): string {
    return `${this.#prefix}${view}/${id}`;
  }
}

const DEFAULT_PAGE_LIMIT = 20;
const READ_TOGETHER = 100;
/** Each conflict means that another write succeeded, so this many in a row mean a broken storage. */
const MAX_WRITE_ATTEMPTS = 100;

/** What becomes of a job is recorded even when the medium is full; new ones have to wait. */
const URGENT: WriteOptions = { isUrgent: true };

/** Far longer than the creation of a job takes. */
const CREATION_MS = 10 * 60_000;

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
   * @param options what a missing job is called in the error; the job as it was a moment ago, to spare a reading.
   * @throws NotFoundError, and whatever `change` throws.
   */
  async update(
    id: string,
    change: (job: JobRecord) => JobRecord,
    { resource = 'training job', known }: { resource?: 'model' | 'training job'; known?: StoredJob } = {},
  ): Promise<JobRecord> {
    for (let attempt = 1; attempt <= MAX_WRITE_ATTEMPTS; attempt += 1) {
      const found = attempt === 1 && known !== undefined ? known : await this.#read(id);
      if (found === undefined) throw new NotFoundError(resource, id);
      const changed = change(found.job);
      if (changed === found.job || (await this.#replace(found, changed))) return changed;
    }
    throw new StorageError(
      `record ${JOBS}/${this.#key(id)} could not be written: its version kept changing; try again`,
    );
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
    const has_more = jobs.length > limit;
    const next_cursor = has_more ? (data.at(-1)?.id ?? null) : null;
    return { data, pagination: { limit, has_more, next_cursor } };
  }

  all(filter: JobFilter): AsyncGenerator<JobRecord> {
    return this.#newest(filter, undefined, READ_TOGETHER);
  }

  async unfinished(): Promise<JobRecord[]> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#oldest(OPEN_VIEW)) jobs.push(job);
    return jobs;
  }

  async withFilesLeft(): Promise<JobRecord[]> {
    const jobs: JobRecord[] = [];
    for await (const job of this.#oldest(LEFT_VIEW)) jobs.push(job);
    return jobs;
  }

  async oldestUnfinished(): Promise<JobRecord | undefined> {
    for await (const job of this.#oldest(OPEN_VIEW)) return job;
    return undefined;
  }

  async countWaiting(): Promise<number> {
    return (await this.unfinished()).filter(({ status }) => isWaiting(status)).length;
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
      return { job, version: await this.#storage.write(JOBS, key, toJson(job), version, URGENT) };
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
