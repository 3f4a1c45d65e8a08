import { createHash } from 'node:crypto';
import type { ListFilter, ModelType, TrainingJobStatus } from '../contract/index.js';
import { isVersionConflict, type NewRecord, type Storage, type WriteOptions } from '../storage/index.js';
import { JOB_INDEX } from './account-records.js';
import type { JobRecord } from './job-record.js';

/** How many ids are read at a time if all of a view are wanted. */
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
/** Jobs that have not ended. */
export const OPEN_VIEW = 'open';
/** DELETED jobs whose files may still be there. */
export const LEFT_VIEW = 'left';
/** Two tasks with the same digits share views; {@link matches} then leaves out the jobs of the other. */
const TASK_DIGITS = 6;

/** The type by which a task is known: two types may name one task, and a filter by either finds both. */
export type TaskOf = (type: ModelType) => ModelType;

export type JobFilter = Pick<ListFilter, 'modelType' | 'trainingStatus'>;

/** The views that a job belongs to. */
export function viewsOf({ status, model_config, has_files }: JobRecord, taskOf: TaskOf): string[] {
  const view = statusViews[status];
  if (view === OPEN_VIEW) return [view];
  return [view, byTask(view, taskOf(model_config.type)), ...(has_files ? [LEFT_VIEW] : [])];
}

/** The views that have all jobs that a filter asks for, and perhaps others, in the order of a job's life. */
export function viewsWith({ modelType, trainingStatus }: JobFilter, taskOf: TaskOf): string[] {
  const views = trainingStatus === undefined ? [OPEN_VIEW, 'ready', 'error', 'stop'] : [statusViews[trainingStatus]];
  if (modelType === undefined) return views;
  return views.map((view) => (view === OPEN_VIEW ? view : byTask(view, taskOf(modelType))));
}

/** Whether a filter asks for a job. It gets DELETED jobs only if it names that status. */
export function matches(
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
export class JobIndex {
  readonly #storage: Storage;
  readonly #prefix: string;

  /** @param prefix what the keys of the account's jobs begin with. */
  constructor(storage: Storage, prefix: string) {
    this.#storage = storage;
    this.#prefix = prefix;
  }

  /** The markers of a job that is created together with them. */
  markers(id: string, views: readonly string[]): NewRecord[] {
    return views.map((view) => ({ collection: JOB_INDEX, key: this.#key(view, id), value: null }));
  }

  async add(id: string, views: readonly string[], options: WriteOptions = {}): Promise<void> {
    await Promise.all(views.map((view) => this.#addMarker(this.#key(view, id), options)));
  }

  /** Whether all these markers are there. */
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

  /** The ids of a view, oldest first, first a few and then many at a time. */
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
