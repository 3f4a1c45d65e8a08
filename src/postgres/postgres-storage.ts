import { randomUUID } from 'node:crypto';
import { JOBS } from '../jobs/index.js';
import {
  checkCollection,
  checkKey,
  checkLimit,
  DEFAULT_LIMIT,
  type FolderDescription,
  type JsonValue,
  type ListOptions,
  type NewRecord,
  type Storage,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from '../storage/index.js';
import { type FileContent, requirePath } from '../system/index.js';
import { codeOf, whileAsking } from './connection-errors.js';
import { Database, type DatabaseOptions, type PostgresSource } from './database.js';
import { Folders } from './folders.js';
import { afterPrefix, keyBytes, keyOf } from './key-bytes.js';

const DEFAULT_CACHE_BYTES = 10 * 1024 ** 3;
/** Collections whose changes are notified: few, as the server commits such transactions one after the other. */
const NOTIFIED: readonly string[] = [JOBS];
const UNIQUE_VIOLATION = '23505'; // the record exists

/** Options of {@link postgresStorage}. */
export interface PostgresStorageOptions extends DatabaseOptions {
  /**
   * A folder on this machine for copies of models and for unfinished training runs. Processes may share it. Default: a
   * temporary folder, which is removed on close.
   */
  readonly cache?: string;
  /**
   * Maximum size of the models in the cache, in bytes. The least recently opened models are removed first, but none
   * that was opened in the last ten minutes. Default 10 GiB.
   */
  readonly cacheBytes?: number;
}

/**
 * Creates a storage in a PostgreSQL database (15 or later), for any number of processes on any number of machines.
 * Requires the package `pg`. Its tables are created on first use, in a schema of their own; docs/postgres.md describes
 * them.
 * @param source a connection string, or a pool of pg, which stays open on close.
 */
export function postgresStorage(source: PostgresSource, options: PostgresStorageOptions = {}): Storage {
  return new PostgresStorage(new Database(source, options), options);
}

interface RecordRow {
  readonly key: Buffer;
  readonly value: string;
  readonly version: string;
}

/**
 * The storage over a database that it closes. Records are rows with their JSON text. Folders are prepared and cached on
 * this machine.
 */
export class PostgresStorage implements Storage {
  readonly specificationVersion = 1;
  readonly #database: Database;
  readonly #table: string;
  readonly #writer = randomUUID();
  readonly #cache: string | undefined;
  readonly #cacheBytes: number;
  #folders: Promise<Folders> | undefined;

  constructor(
    database: Database,
    { cache, cacheBytes = DEFAULT_CACHE_BYTES }: Pick<PostgresStorageOptions, 'cache' | 'cacheBytes'> = {},
  ) {
    if (!(cacheBytes >= 0)) throw new RangeError(`\`cacheBytes\` must be a number of bytes, not ${cacheBytes}`);
    this.#database = database;
    this.#table = this.#database.table('records');
    this.#cache = cache === undefined ? undefined : requirePath(cache, 'cache');
    this.#cacheBytes = cacheBytes;
  }

  async read(collection: string, key: string): Promise<Versioned | undefined> {
    check(collection, key);
    const [row] = await whileAsking(`record ${collection}/${key} can't be read`, () =>
      this.#read<RecordRow>(`SELECT value, version FROM ${this.#table} WHERE collection = $1 AND key = $2`, [
        collection,
        keyBytes(key),
      ]),
    );
    return row && parsed(row);
  }

  async readAll(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]> {
    check(collection, ...keys);
    const rows = await whileAsking(`records of ${collection} can't be read`, () =>
      this.#read<RecordRow>(
        `SELECT key, value, version FROM ${this.#table} WHERE collection = $1 AND key = ANY($2::bytea[])`,
        [collection, keys.map(keyBytes)],
      ),
    );
    return rows.map(storedRecord);
  }

  async write(collection: string, key: string, value: JsonValue, expected: Version | undefined): Promise<Version> {
    check(collection, key);
    // Versions of other storages may be no numbers.
    if (expected !== undefined && !/^\d{1,18}$/.test(expected)) throw new VersionConflict(collection, key);
    const text =
      expected === undefined
        ? `INSERT INTO ${this.#table} (collection, key, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
        : `UPDATE ${this.#table} SET value = $3, version = DEFAULT WHERE collection = $1 AND key = $2 AND version = $4`;
    const values = [JSON.stringify(value), ...(expected === undefined ? [] : [expected])];
    const version = await whileAsking(`record ${collection}/${key} can't be written`, () =>
      this.#change(collection, key, text, values),
    );
    if (version === undefined) throw new VersionConflict(collection, key);
    return version;
  }

  async createAll(records: readonly NewRecord[]): Promise<readonly Version[]> {
    for (const { collection, key } of records) check(collection, key);
    const names = records.map(({ collection, key }) => `${collection}/${key}`);
    return whileAsking(`records ${names.join(', ')} can't be created`, async () => {
      try {
        const rows = await this.#database.query<{ collection: string; key: Buffer; version: string }>(
          `WITH created AS (
             INSERT INTO ${this.#table} (collection, key, value) SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[])
             RETURNING collection, key, version)
           SELECT collection, key, version,
             (SELECT count(pg_notify(channel, payload)) FROM unnest($4::text[], $5::text[]) AS news (channel, payload)
              WHERE channel IS NOT NULL)
           FROM created`,
          [
            records.map(({ collection }) => collection),
            records.map(({ key }) => keyBytes(key)),
            records.map(({ value }) => JSON.stringify(value)),
            records.map(({ collection }) => this.#channelOf(collection)),
            records.map(({ key }) => this.#payloadOf(key)),
          ],
        );
        const versions = new Map(rows.map((row) => [`${row.collection}/${keyOf(row.key)}`, row.version]));
        return names.map((name) => versions.get(name) ?? '');
      } catch (thrown) {
        const [first] = records;
        if (codeOf(thrown) !== UNIQUE_VIOLATION || first === undefined) throw thrown;
        throw new VersionConflict(first.collection, first.key);
      }
    });
  }

  async remove(collection: string, key: string): Promise<void> {
    check(collection, key);
    const text = `DELETE FROM ${this.#table} WHERE collection = $1 AND key = $2`;
    await whileAsking(`record ${collection}/${key} can't be removed`, () => this.#change(collection, key, text));
  }

  async list(collection: string, options: ListOptions = {}): Promise<readonly StoredRecord[]> {
    return (await this.#list<RecordRow>('key, value, version', collection, options)).map(storedRecord);
  }

  async listKeys(collection: string, options: ListOptions = {}): Promise<readonly string[]> {
    const rows = await this.#list<Pick<RecordRow, 'key'>>('key', collection, options);
    return rows.map(({ key }) => keyOf(key));
  }

  watch(collection: string, changed: (key: string) => void): () => void {
    check(collection);
    const channel = this.#channelOf(collection);
    if (channel === null) return () => undefined;
    const heard = (payload: string) => {
      const [writer, key = ''] = payload.split(' ');
      if (writer !== this.#writer) changed(keyOf(Buffer.from(key, 'base64')));
    };
    return this.#database.listen(channel, { heard, connected: () => undefined });
  }

  stageFolder(key: string): Promise<string> {
    return this.#withFolders(key, 'staged', (folders) => folders.stage(key));
  }

  saveStaged(key: string): Promise<void> {
    return this.#withFolders(key, 'saved', (folders) => folders.save(key));
  }

  publishFolder(key: string): Promise<void> {
    return this.#withFolders(key, 'published', (folders) => folders.publish(key));
  }

  discardStaged(key: string): Promise<void> {
    return this.#withFolders(key, 'discarded', (folders) => folders.discard(key));
  }

  openFolder(key: string): Promise<string | undefined> {
    return this.#withFolders(key, 'opened', (folders) => folders.open(key));
  }

  describeFolder(key: string): Promise<FolderDescription | undefined> {
    return this.#withFolders(key, 'described', (folders) => folders.describe(key));
  }

  readContent(key: string, which: 'published' | 'staged'): Promise<readonly FileContent[] | undefined> {
    return this.#withFolders(key, 'read', (folders) => folders.content(key, which));
  }

  removeFolder(key: string): Promise<void> {
    return this.#withFolders(key, 'removed', (folders) => folders.remove(key));
  }

  async close(): Promise<void> {
    const folders = await this.#folders?.catch(() => undefined);
    await this.#database.close();
    await folders?.close();
  }

  #read<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#database.query<Row>(text, values, { isRepeatable: true });
  }

  /** Changes a record and notifies others in one statement. @returns its version, if the record was as expected. */
  async #change(
    collection: string,
    key: string,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Version | undefined> {
    const parameters = [collection, keyBytes(key), ...values];
    const channel = this.#channelOf(collection);
    const notify = channel === null ? '' : `, pg_notify($${parameters.length + 1}, $${parameters.length + 2})`;
    const [row] = await this.#database.query<{ version: string }>(
      `WITH changed AS (${text} RETURNING version) SELECT version${notify} FROM changed`,
      channel === null ? parameters : [...parameters, channel, this.#payloadOf(key)],
    );
    return row?.version;
  }

  async #list<Row extends object>(
    columns: string,
    collection: string,
    { prefix = '', after, limit = DEFAULT_LIMIT, reverse = false }: ListOptions,
  ): Promise<Row[]> {
    check(collection);
    checkLimit(limit);
    const values: unknown[] = [collection];
    const bound = (comparison: string, value: Buffer) => ` AND key ${comparison} $${values.push(value)}`;
    const begin = keyBytes(prefix);
    const end = afterPrefix(begin);
    let text = `SELECT ${columns} FROM ${this.#table} WHERE collection = $1${bound('>=', begin)}`;
    if (end !== undefined) text += bound('<', end);
    if (after !== undefined) text += bound(reverse ? '<' : '>', keyBytes(after));
    text += ` ORDER BY key${reverse ? ' DESC' : ''}`;
    if (limit !== Number.POSITIVE_INFINITY) text += ` LIMIT $${values.push(limit)}`;
    return whileAsking(`collection ${collection} can't be listed`, () => this.#read<Row>(text, values));
  }

  #channelOf(collection: string): string | null {
    return NOTIFIED.includes(collection) ? this.#database.channel(`records:${collection}`) : null;
  }

  #payloadOf(key: string): string {
    return `${this.#writer} ${keyBytes(key).toString('base64')}`;
  }

  async #withFolders<T>(key: string, done: string, work: (folders: Folders) => Promise<T>): Promise<T> {
    checkKey(key);
    return whileAsking(`folder ${key} can't be ${done}`, async () => {
      this.#folders ??= Folders.create(this.#database, this.#cache, this.#cacheBytes).catch((thrown: unknown) => {
        this.#folders = undefined; // the next call tries again
        throw thrown;
      });
      return work(await this.#folders);
    });
  }
}

function check(collection: string, ...keys: readonly string[]): void {
  checkCollection(collection);
  for (const key of keys) checkKey(key);
}

function storedRecord(row: RecordRow): StoredRecord {
  return { key: keyOf(row.key), ...parsed(row) };
}

/** A value that was changed by hand and is no JSON is reported as damaged. */
function parsed({ value, version }: RecordRow): Versioned {
  try {
    return { value: JSON.parse(value), version };
  } catch {
    return { value, version, damage: 'the column value holds no JSON' };
  }
}
