import { StorageError } from '../contract/index.js';
import { requirePath } from '../system/index.js';
import { FolderStore } from './folder-store.js';
import { RecordFiles } from './record-files.js';
import { Reserve } from './reserve.js';
import {
  checkCollection,
  checkKey,
  checkLimit,
  DEFAULT_LIMIT,
  type JsonValue,
  type KeyRange,
  type ListOptions,
  type Storage,
  type StoredRecord,
  type Version,
  type Versioned,
  type WriteOptions,
  whileDoing,
} from './storage.js';

const SWEEP_INTERVAL_MS = 20_000;

/**
 * Storage in a folder on the local disk, which is created if it doesn't exist. Several processes may use one directory
 * at the same time, and each may be killed at any point.
 *
 * ```
 * records/<collection>/<key>.json   folders/<key>/published-<n>/   folders/<key>/staged/
 * locks/  temporary/  trash/        used briefly; what a killed process left in them is deleted later
 * reserve                           1 MB that is freed when the disk is full, to record how jobs end
 * ```
 * The key of a record is split into nested directories, so that no directory grows large and a listing only
 * reads the records that it returns. Characters that not every file system allows are escaped (`A/1` is
 * `%41%2f/1`). The file system must have hard links, as all but FAT do.
 */
export function fileStorage(directory: string): Storage {
  return new FileStorage(requirePath(directory, 'directory'));
}

class FileStorage implements Storage {
  readonly specificationVersion = 1;
  readonly #root: string;
  readonly #records: RecordFiles;
  readonly #folders: FolderStore;
  readonly #reserve: Reserve;
  #sweeping: Promise<void> | undefined;
  #reserving: Promise<void> | undefined;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #hadRecords = false;

  constructor(root: string) {
    this.#root = root;
    this.#records = new RecordFiles(root);
    this.#folders = new FolderStore(root);
    this.#reserve = new Reserve(root);
  }

  read(collection: string, key: string): Promise<Versioned | undefined> {
    return this.#withRecord(collection, key, 'read', () => this.#records.read(collection, key));
  }

  write(
    collection: string,
    key: string,
    value: JsonValue,
    expected: Version | undefined,
    { isUrgent = false }: WriteOptions = {},
  ): Promise<Version> {
    const write = () => this.#records.write(collection, key, value, expected);
    return this.#withRecord(collection, key, 'written', async () => {
      const version = await (isUrgent ? this.#reserve.using(write) : write());
      this.#reserving ??= this.#reserve.keep(); // with the first write; later, sweeping sees to it
      await this.#reserving;
      return version;
    });
  }

  remove(collection: string, key: string): Promise<void> {
    const remove = () => this.#records.remove(collection, key);
    return this.#withRecord(collection, key, 'removed', () => this.#reserve.using(remove));
  }

  list(collection: string, options: ListOptions = {}): Promise<readonly StoredRecord[]> {
    return this.#listing(collection, options, (range, limit) => this.#records.list(collection, range, limit));
  }

  listKeys(collection: string, options: ListOptions = {}): Promise<readonly string[]> {
    return this.#listing(collection, options, (range, limit) => this.#records.listKeys(collection, range, limit));
  }

  stageFolder(key: string): Promise<string> {
    return this.#withFolder(key, 'staged', () => this.#folders.stage(key));
  }

  publishFolder(key: string): Promise<void> {
    return this.#withFolder(key, 'published', () => this.#folders.publish(key));
  }

  discardStaged(key: string): Promise<void> {
    const discard = () => this.#folders.discard(key);
    return this.#withFolder(key, 'discarded', () => this.#reserve.using(discard));
  }

  openFolder(key: string): Promise<string | undefined> {
    return this.#withFolder(key, 'opened', () => this.#folders.open(key));
  }

  removeFolder(key: string): Promise<void> {
    const remove = () => this.#folders.remove(key);
    return this.#withFolder(key, 'removed', () => this.#reserve.using(remove));
  }

  async close(): Promise<void> {
    await this.#sweeping;
  }

  async #listing<T>(
    collection: string,
    { limit = DEFAULT_LIMIT, ...range }: ListOptions,
    work: (range: KeyRange, limit: number) => Promise<T>,
  ): Promise<T> {
    checkCollection(collection);
    checkLimit(limit);
    return this.#call(`collection ${collection} can't be listed`, () => work(range, limit));
  }

  async #withRecord<T>(collection: string, key: string, done: string, work: () => Promise<T>): Promise<T> {
    checkCollection(collection);
    checkKey(key);
    return this.#call(`record ${collection}/${key} can't be ${done}`, work);
  }

  async #withFolder<T>(key: string, done: string, work: () => Promise<T>): Promise<T> {
    checkKey(key);
    return this.#call(`folder ${key} can't be ${done}`, work);
  }

  #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#sweepNowAndThen();
    return whileDoing(what, async () => {
      await this.#requireRecords();
      return work();
    });
  }

  /** Otherwise, writing on after the directory was deleted would silently make a storage that has lost its jobs. */
  async #requireRecords(): Promise<void> {
    const hadRecords = this.#hadRecords; // read before the check, as the first write may come in between
    const hasRecords = await this.#records.exist();
    if (hadRecords && !hasRecords) {
      throw new StorageError(
        `${this.#root} was deleted or moved while it was in use; restore it, or create a new storage`,
        { isUnavailable: true },
      );
    }
    this.#hadRecords ||= hasRecords;
  }

  /** Runs alongside the first call and later ones. What it can't delete does no harm, so it never fails a call. */
  #sweepNowAndThen(): void {
    if (this.#sweeping !== undefined || performance.now() - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    const isFirst = this.#sweptAt === Number.NEGATIVE_INFINITY;
    this.#sweptAt = performance.now();
    const folders = isFirst ? this.#folders.sweep() : this.#folders.emptyTrash();
    this.#sweeping = Promise.allSettled([this.#records.sweep(), folders])
      .then(() => this.#reserve.keep())
      .finally(() => {
        this.#sweeping = undefined;
      });
  }
}
