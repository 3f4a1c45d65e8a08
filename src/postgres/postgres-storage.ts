import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type FileContent, TemporaryDirectory } from '../files/index.js';
import { JOBS } from '../jobs/index.js';
import {
  checkCollection,
  checkKey,
  checkLimit,
  type FolderDescription,
  type JsonValue,
  type ListOptions,
  type NewRecord,
  type Storage,
  type StoredRecord,
  type Version,
  type Versioned,
} from '../storage/index.js';
import type { PostgresSource } from './connection-pool.js';
import { Database, type DatabaseOptions } from './database.js';
import { whileAsking } from './database-failure.js';
import { FolderCache } from './folder-cache.js';
import { Folders } from './folders.js';
import { LocalStages } from './local-stages.js';
import { RecordChannels } from './record-channels.js';
import { Records } from './records.js';

/** How often it is looked for what killed processes left. */
const SWEEP_INTERVAL_MS = 600_000;
const DEFAULT_CACHE_BYTES = 10 * 1024 ** 3;

/** Options of {@link postgresStorage}. */
export interface PostgresStorageOptions extends DatabaseOptions {
  /**
   * A directory of this machine for copies of models and for what is being trained, which processes may share. Default: a
   * temporary one, which is removed on close.
   */
  readonly cache?: string;
  /**
   * Most bytes of models in the cache. Those that were opened least recently go first, but none that was in the last ten
   * minutes. Default 10 GiB.
   */
  readonly cacheBytes?: number;
}

/**
 * Storage in a PostgreSQL database (15 or later) for any number of processes on any number of machines. Its tables are
 * made and brought up to date on first use, in a schema of their own. docs/postgres.md says what lies where.
 * @param source a connection string, or a pool of pg, which stays open on close.
 */
export function postgresStorage(source: PostgresSource, options: PostgresStorageOptions = {}): Storage {
  return new PostgresStorage(source, options);
}

class PostgresStorage implements Storage {
  readonly specificationVersion = 1;
  readonly #database: Database;
  readonly #records: Records;
  readonly #channels: RecordChannels;
  readonly #given: string | undefined;
  readonly #cacheBytes: number;
  readonly #temporary = new TemporaryDirectory();
  #folders: Promise<{ folders: Folders; stages: LocalStages; stop: () => void }> | undefined;

  constructor(
    source: PostgresSource,
    { cache, cacheBytes = DEFAULT_CACHE_BYTES, ...options }: PostgresStorageOptions,
  ) {
    if (!(cacheBytes >= 0)) throw new RangeError(`cacheBytes is a number of bytes, not ${cacheBytes}`);
    this.#database = new Database(source, options);
    this.#channels = new RecordChannels(this.#database, [JOBS], randomUUID());
    this.#records = new Records(this.#database, this.#channels);
    this.#given = cache === undefined ? undefined : resolve(cache);
    this.#cacheBytes = cacheBytes;
  }

  async read(collection: string, key: string): Promise<Versioned | undefined> {
    return this.#withRecord(collection, key, 'read', () => this.#records.read(collection, key));
  }

  async readAll(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]> {
    checkCollection(collection);
    for (const key of keys) checkKey(key);
    return whileAsking(`records of ${collection} can't be read`, () =>
      this.#records.readAll(collection, keys),
    );
  }

  write(collection: string, key: string, value: JsonValue, expected: Version | undefined): Promise<Version> {
    return this.#withRecord(collection, key, 'written', () =>
      this.#records.write(collection, key, value, expected),
    );
  }

  async createAll(records: readonly NewRecord[]): Promise<readonly Version[]> {
    for (const { collection, key } of records) {
      checkCollection(collection);
      checkKey(key);
    }
    const names = records.map(({ collection, key }) => `${collection}/${key}`).join(', ');
    return whileAsking(`records ${names} can't be created`, () => this.#records.createAll(records));
  }

  remove(collection: string, key: string): Promise<void> {
    return this.#withRecord(collection, key, 'removed', () => this.#records.remove(collection, key));
  }

  list(collection: string, options: ListOptions = {}): Promise<readonly StoredRecord[]> {
    return this.#listing(collection, options, () => this.#records.list(collection, options));
  }

  listKeys(collection: string, options: ListOptions = {}): Promise<readonly string[]> {
    return this.#listing(collection, options, () => this.#records.listKeys(collection, options));
  }

  watch(collection: string, changed: (key: string) => void): () => void {
    checkCollection(collection);
    return this.#channels.watch(collection, changed);
  }

  stageFolder(key: string): Promise<string> {
    return this.#withFolder(key, 'staged', (folders) => folders.stage(key));
  }

  saveStaged(key: string): Promise<void> {
    return this.#withFolder(key, 'saved', (folders) => folders.save(key));
  }

  publishFolder(key: string): Promise<void> {
    return this.#withFolder(key, 'published', (folders) => folders.publish(key));
  }

  discardStaged(key: string): Promise<void> {
    return this.#withFolder(key, 'discarded', (folders) => folders.discard(key));
  }

  openFolder(key: string): Promise<string | undefined> {
    return this.#withFolder(key, 'opened', (folders) => folders.open(key));
  }

  describeFolder(key: string): Promise<FolderDescription | undefined> {
    return this.#withFolder(key, 'described', (folders) => folders.describe(key));
  }

  readContent(key: string, which: 'published' | 'staged'): Promise<readonly FileContent[] | undefined> {
    return this.#withFolder(key, 'read', (folders) => folders.content(key, which));
  }

  removeFolder(key: string): Promise<void> {
    return this.#withFolder(key, 'removed', (folders) => folders.remove(key));
  }

  async close(): Promise<void> {
    const opened = await this.#folders?.catch(() => undefined);
    opened?.stop();
    await this.#database.close();
    await opened?.stages.close();
    await this.#temporary.remove();
  }

  async #withRecord<T>(collection: string, key: string, done: string, work: () => Promise<T>): Promise<T> {
    checkCollection(collection);
    checkKey(key);
    return whileAsking(`record ${collection}/${key} can't be ${done}`, work);
  }

  async #listing<T>(collection: string, { limit }: ListOptions, work: () => Promise<T>): Promise<T> {
    checkCollection(collection);
    if (limit !== undefined) checkLimit(limit);
    return whileAsking(`collection ${collection} can't be listed`, work);
  }

  async #withFolder<T>(key: string, done: string, work: (folders: Folders) => Promise<T>): Promise<T> {
    checkKey(key);
    return whileAsking(`folder ${key} can't be ${done}`, async () => {
      this.#folders ??= this.#openPlace().catch((thrown: unknown) => {
        this.#folders = undefined; // the next call tries again
        throw thrown;
      });
      return work((await this.#folders).folders);
    });
  }

  /** Directories of this machine, for this database alone. */
  async #openPlace() {
    const [row] = await this.#database.query<{ id: string }>(
      `SELECT id FROM ${this.#database.table('identity')}`,
    );
    const root = join(this.#given ?? (await this.#temporary.path()), row?.id ?? 'unknown');
    await mkdir(root, { recursive: true, mode: 0o700 });
    const stages = new LocalStages(root);
    const folders = new Folders(this.#database, { cache: new FolderCache(root, this.#cacheBytes), stages });
    const stopListening = folders.listen();
    const sweep = () => folders.sweep().catch(() => undefined); // what it can't delete does no harm
    const timer = setInterval(sweep, SWEEP_INTERVAL_MS).unref();
    void sweep();
    const stop = () => {
      clearInterval(timer);
      stopListening();
    };
    return { folders, stages, stop };
  }
}
