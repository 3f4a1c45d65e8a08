import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { isVersionConflict, type NewRecord, type Storage, withStorageErrors } from '../storage/index.js';
import { accountKey, MODEL_USES } from './account-records.js';
import { JobRepository } from './job-repository.js';

/** A model's use is written at most this often by each process. */
const COARSENESS_MS = 60 * 60_000;
/** How long the first use after that may wait to be written, together with those of other models. */
const WRITE_AFTER_MS = 1000;
/** Models whose last use is remembered here; the uses of others may be written more often. */
const MAX_REMEMBERED = 10_000;

const useSchema = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
});

/**
 * When the models of an account were last used, as `model-uses/<app_id>/<id>`, to the hour. A query only costs a lookup
 * in a map: uses are written in the background, and a use that can't be written is lost without an error.
 */
export class ModelUses {
  readonly #storage: Storage;
  readonly #account: string;
  readonly #jobs: JobRepository;
  readonly #now: () => number;
  // By size, as the option `max` would reserve memory for each account.
  readonly #noted = new LRUCache<string, number>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 });
  /** The uses to be written, by model. */
  readonly #unwritten = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** @param now the time in milliseconds since 1970. */
  constructor(storage: Storage, appId: string, now: () => number = Date.now) {
    this.#storage = withStorageErrors(storage);
    this.#account = accountKey(appId);
    this.#jobs = new JobRepository(storage, appId);
    this.#now = now;
  }

  /** Notes that the model answers a query now. */
  note(id: string): void {
    const now = this.#now();
    if (now - (this.#noted.get(id) ?? Number.NEGATIVE_INFINITY) < COARSENESS_MS) return;
    this.#noted.set(id, now);
    this.#unwritten.set(id, now);
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_AFTER_MS).unref();
  }

  /** When the model was used last or, if never, when its job was created; undefined if no use is recorded yet. */
  async last(id: string): Promise<number | undefined> {
    return (await this.#read(id)).at;
  }

  /**
   * Records a use of a model, unless a later one is known. Leaves no record of a deleted model.
   * @throws StorageError
   */
  async track(id: string, at: number): Promise<void> {
    const { at: known, version } = await this.#read(id);
    if (known !== undefined && at - known < COARSENESS_MS) return;
    try {
      await this.#storage.write(MODEL_USES, this.#key(id), { at }, version);
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown; // else another process has recorded the same use
    }
    // A deletion makes the job DELETED first, and then removes this record.
    const job = await this.#jobs.find(id);
    if (job === undefined || job.status === 'DELETED') await this.forget(id);
  }

  /** The record of a model's first use, to be created together with its job. */
  firstOf(id: string, at: number): NewRecord {
    return { collection: MODEL_USES, key: this.#key(id), value: { at } };
  }

  /** @throws StorageError */
  async forget(id: string): Promise<void> {
    this.#noted.delete(id);
    await this.#storage.remove(MODEL_USES, this.#key(id));
  }

  /** Writes what was noted so far. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      const uses = [...this.#unwritten];
      this.#unwritten.clear();
      for (const [id, at] of uses) {
        await this.track(id, at).catch(() => this.#noted.delete(id)); // the next use tries again
      }
    });
    return this.#writing;
  }

  async #read(id: string) {
    const found = await this.#storage.read(MODEL_USES, this.#key(id));
    const at = found && useSchema.safeParse(found.value).data?.at;
    return { at, version: found?.version };
  }

  #key(id: string): string {
    return `${this.#account}/${id}`;
  }
}
