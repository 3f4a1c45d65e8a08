import { StorageError } from '../errors.js';
import { isVersionConflict, type NewRecord, type Storage, type WriteOptions } from '../storage/index.js';
import { JOB_INDEX } from './collections.js';
import { stored } from './stored.js';

/** The version of the views and their keys; a later release writes another one. */
const VERSION = 1;
/** How many ids are read at a time if all of a view are wanted. */
const SCAN_LIMIT = 100;
/** How many ids are read first of a view that probably has few of the newest jobs. */
const FEW = 4;

/**
 * Which jobs of an account are in which view (job-views.ts), so that a listing needn't read the jobs that it
 * leaves out: an empty record `job-index/<app_id>/<view>/<id>` for each, its marker. Every job has the
 * markers of its views. Markers are written before the job and removed after it, so there may be others, of
 * jobs that have left a view since or were never written; a reader of markers must check the jobs. If the
 * collection is deleted, it is built anew.
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
    await Promise.all(views.map((view) => this.#writeUnlessThere(this.#key(view, id), null, options)));
  }

  /** Whether all these markers are there. */
  async has(id: string, views: readonly string[]): Promise<boolean> {
    const keys = views.map((view) => this.#key(view, id));
    const found = await Promise.all(keys.map((key) => stored(() => this.#storage.read(JOB_INDEX, key))));
    return found.every((marker) => marker !== undefined);
  }

  async remove(id: string, views: readonly string[]): Promise<void> {
    await Promise.all(
      views.map((view) => stored(() => this.#storage.remove(JOB_INDEX, this.#key(view, id)))),
    );
  }

  /**
   * The ids that come after `after` in any of the views, newest first, each once: at least `count` if there
   * are so many, else all. The views must be in the order in which jobs pass through them: as the first is
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

  /** All ids of a view, oldest first. */
  async all(view: string): Promise<string[]> {
    const ids: string[] = [];
    for (let after: string | undefined; ; after = ids.at(-1)) {
      const next = await this.#ids(view, { reverse: false, after, limit: SCAN_LIMIT });
      ids.push(...next);
      if (next.length < SCAN_LIMIT) return ids;
    }
  }

  /**
   * Whether all jobs have their markers. Jobs that a release without an index wrote have none.
   * @throws StorageError if a later release has written the index.
   */
  async isComplete(): Promise<boolean> {
    const key = this.#versionKey;
    const found = await stored(() => this.#storage.read(JOB_INDEX, key));
    if (found === undefined || found.value === VERSION) return found !== undefined;
    if (found.damage !== undefined) {
      await stored(() => this.#storage.remove(JOB_INDEX, key));
      return false;
    }
    throw new StorageError(
      `record ${JOB_INDEX}/${key} has version ${JSON.stringify(found.value)}, but this release of orchard-nlp only knows ${VERSION}; use the release that wrote it or a later one, or remove the collection ${JOB_INDEX}, which is then built anew`,
    );
  }

  /** Records that all jobs have their markers. */
  async markComplete(): Promise<void> {
    await this.#writeUnlessThere(this.#versionKey, VERSION);
  }

  async #writeUnlessThere(key: string, value: number | null, options: WriteOptions = {}): Promise<void> {
    try {
      await stored(() => this.#storage.write(JOB_INDEX, key, value, undefined, options));
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown;
    }
  }

  async #ids(
    view: string,
    { after, ...options }: { reverse: boolean; after: string | undefined; limit: number },
  ): Promise<string[]> {
    const prefix = this.#key(view, '');
    const listing = { prefix, ...(after !== undefined && { after: prefix + after }), ...options };
    const keys = await stored(() => this.#storage.listKeys(JOB_INDEX, listing));
    return keys.map((key) => key.slice(prefix.length));
  }

  get #versionKey(): string {
    return `${this.#prefix}version`;
  }

  #key(view: string, id: string): string {
    return `${this.#prefix}${view}/${id}`;
  }
}
