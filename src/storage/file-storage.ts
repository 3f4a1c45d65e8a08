import { resolve } from 'node:path';
import { StorageError } from '../errors.js';
import { checkCollection, checkKey, checkLimit } from './check-arguments.js';
import { FolderStore } from './folder-store.js';
import { DEFAULT_LIMIT } from './listing.js';
import { RecordFiles } from './record-files.js';
import { Reserve } from './reserve.js';
import type {
  JsonValue,
  ListOptions,
  Storage,
  StoredRecord,
  Version,
  Versioned,
  WriteOptions,
} from './storage.js';
import { whileDoing } from './storage-failure.js';
import { StorageLayout } from './storage-layout.js';

/** A storage in use looks this often for what processes left that have died meanwhile. */
const SWEEP_INTERVAL_MS = 20_000;

/**
 * Storage in a directory of the local disk, which is created if it doesn't exist. Several processes may use
 * one directory at the same time, and each may be killed at any point.
 *
 * ```
 * records/<collection>/<key>.json   folders/<key>/published-<n>/   folders/<key>/staged/
 * layout                            the version of this layout; an earlier one is converted on first use
 * locks/  temporary/  trash/        used for moments; what a process left in them that died is deleted later
 * reserve                           1 MB that is freed when the disk is full, to record how jobs end
 * ```
 * The key of a record is split into nested directories, so that no directory grows large and a listing only
 * reads the records that it returns. Characters that not every file system allows are escaped (`A/1` is
 * `%41%2f/1`). The file system must have hard links, as all but FAT do.
 */
export function fileStorage(directory: string): Storage {
  return new FileStorage(resolve(directory));
}

class FileStorage implements Storage {
  readonly specificationVersion = 1;
  readonly #root: string;
  readonly #layout: StorageLayout;
  readonly #records: RecordFiles;
  readonly #folders: FolderStore;
  readonly #reserve: Reserve;
  #sweeping: Promise<void> | undefined;
  #reserving: Promise<void> | undefined;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** Whether records were ever found in the directory. */
  #hadRecords = false;

  constructor(root: string) {
    this.#root = root;
    this.#layout = new StorageLayout(root);
    this.#records = new RecordFiles(root);
    this.#folders = new FolderStore(root);
    this.#reserve = new Reserve(root);
  }

  async read(collection: string, key: string): Promise<Versioned | undefined> {
    checkCollection(collection);
    checkKey(key);
    return this.#doing(`record ${collection}/${key} can't be read`, async () => {
      const found = await this.#records.read(collection, key);
      await this.#requireRecordsUnless(found !== undefined);
      return found;
    });
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
      await this.#layout.mark();
      const version = await (isUrgent ? this.#reserve.using(write) : write());
      await this.#keepReserve();
      return version;
    });
  }

  remove(collection: string, key: string): Promise<void> {
    const remove = () => this.#records.remove(collection, key);
    return this.#withRecord(collection, key, 'removed', () => this.#reserve.using(remove));
  }

  list(collection: string, options: ListOptions = {}): Promise<readonly StoredRecord[]> {
    return this.#listing(collection, options, () => this.#records.list(collection, options));
  }

  listKeys(collection: string, options: ListOptions = {}): Promise<readonly string[]> {
    return this.#listing(collection, options, () => this.#records.listKeys(collection, options));
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
    { limit = DEFAULT_LIMIT }: ListOptions,
    work: () => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    checkCollection(collection);
    checkLimit(limit);
    return this.#doing(`collection ${collection} can't be listed`, async () => {
      const found = await work();
      await this.#requireRecordsUnless(found.length > 0);
      return found;
    });
  }

  async #withRecord<T>(collection: string, key: string, done: string, work: () => Promise<T>): Promise<T> {
    checkCollection(collection);
    checkKey(key);
    return this.#doingThere(`record ${collection}/${key} can't be ${done}`, work);
  }

  async #withFolder<T>(key: string, done: string, work: () => Promise<T>): Promise<T> {
    checkKey(key);
    return this.#doingThere(`folder ${key} can't be ${done}`, work);
  }

  #doingThere<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.#doing(what, async () => {
      await this.#requireRecords();
      return work();
    });
  }

  #doing<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#sweepNowAndThen();
    return whileDoing(what, async () => {
      await this.#layout.ready();
      return work();
    });
  }

  /** As {@link #requireRecords}, after a look that may have found some. */
  async #requireRecordsUnless(areFound: boolean): Promise<void> {
    if (areFound) this.#hadRecords = true;
    else await this.#requireRecords();
  }

  /**
   * Otherwise, writing on after the directory was deleted would silently make a storage that has lost its
   * jobs.
   */
  async #requireRecords(): Promise<void> {
    const hadRecords = this.#hadRecords; // read before the check, as the first write may come in between
    const hasRecords = await this.#records.exist();
    if (hadRecords && !hasRecords) {
      throw new StorageError(
        `${this.#root} was deleted while it was in use; restore it, or make a new storage to begin anew`,
      );
    }
    this.#hadRecords ||= hasRecords;
  }

  /** With the first write; later, sweeping sees to it. */
  #keepReserve(): Promise<void> {
    this.#reserving ??= this.#reserve.keep();
    return this.#reserving;
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
