import { StorageError } from '../errors.js';
import { isVersionConflict, type Storage } from '../storage/index.js';
import { stored } from './stored.js';

const INDEX = 'job-index';
/** Of the views and their keys. Another one than this is of a later release. */
const VERSION = 1;
/** Ids read at a time where all of a view are wanted. */
const SCAN_LIMIT = 100;
/** Ids read first of a view that may have none that is wanted. */
const FEW = 4;

/**
 * Which jobs of an account are in which view, so that none has to be read to be left out: a marker without content
 * `job-index/<app_id>/<view>/<id>` for each. Every job has the markers of its views. There may be others, of jobs that
 * have since left a view or were never written, for markers are written before the job and removed after: whoever finds
 * one looks at the job. Delete the collection, and it is made anew.
 */
export class JobIndex {
  readonly #storage: Storage;
  readonly #prefix: string;

  /** @param prefix what the keys of the account's jobs begin with. */
  constructor(storage: Storage, prefix: string) {
    this.#storage = storage;
    this.#prefix = prefix;
  }

  async add(id: string, views: readonly string[]): Promise<void> {
    await Promise.all(views.map((view) => this.#writeUnlessThere(this.#key(view, id), null)));
  }

  async remove(id: string, views: readonly string[]): Promise<void> {
    await Promise.all(views.map((view) => stored(() => this.#storage.remove(INDEX, this.#key(view, id)))));
  }

  /**
   * The ids after one (from the newest) in any of the views, newest first, each once: at least `count` where there are so
   * many, else all. The views are given in the order in which jobs pass through them; as they are read in that order, a job
   * that passes on meanwhile is in one of them.
   */
  async newest(
    views: readonly string[],
    after: string | undefined,
    count: number,
  ): Promise<{ ids: string[]; isLast: boolean }> {
    const found = new Set<string>();
    /** How far down all the views are known that have been read. */
    let end: string | undefined;
    for (const view of views) {
      const ids = await this.#newestOf(view, { after, end, count });
      for (const id of ids) found.add(id);
      const last = ids.at(-1);
      if (ids.length === count && last !== undefined && (end === undefined || last > end)) end = last;
    }
    const ids = [...found].filter((id) => end === undefined || id >= end);
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
   * Whether all jobs have their markers. They lack them where a release without an index wrote them.
   * @throws StorageError where a later release has written the index.
   */
  async isComplete(): Promise<boolean> {
    const key = this.#versionKey;
    const found = await stored(() => this.#storage.read(INDEX, key));
    if (found === undefined || found.value === VERSION) return found !== undefined;
    throw new StorageError(
      `record ${INDEX}/${key} has version ${JSON.stringify(found.value)}, and this release of orchard-nlp knows ${VERSION}: use the release that wrote it or a later one, or remove the collection ${INDEX}, which is then made anew`,
    );
  }

  /** Says that all jobs have their markers, from now on. */
  async markComplete(): Promise<void> {
    await this.#writeUnlessThere(this.#versionKey, VERSION);
  }

  async #writeUnlessThere(key: string, value: number | null): Promise<void> {
    try {
      await stored(() => this.#storage.write(INDEX, key, value, undefined));
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown;
    }
  }

  /** Up to `count` ids of a view, but hardly more beyond `end`, where others end: most views have few of the newest jobs. */
  async #newestOf(
    view: string,
    { after, end, count }: { after: string | undefined; end: string | undefined; count: number },
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let size = end === undefined ? count : FEW; ; size *= 2) {
      const limit = Math.min(size, count - ids.length);
      const next = await this.#ids(view, { reverse: true, after: ids.at(-1) ?? after, limit });
      ids.push(...next);
      const last = ids.at(-1) ?? '';
      const isBeyondEnd = end !== undefined && last < end;
      if (next.length < limit || ids.length === count || isBeyondEnd) return ids;
    }
  }

  async #ids(
    view: string,
    { after, ...options }: { reverse: boolean; after: string | undefined; limit: number },
  ): Promise<string[]> {
    const prefix = this.#key(view, '');
    const position = after === undefined ? {} : { after: prefix + after };
    const markers = await stored(() => this.#storage.list(INDEX, { prefix, ...position, ...options }));
    return markers.map(({ key }) => key.slice(prefix.length));
  }

  get #versionKey(): string {
    return `${this.#prefix}version`;
  }

  #key(view: string, id: string): string {
    return `${this.#prefix}${view}/${id}`;
  }
}
