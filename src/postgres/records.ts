import {
  DEFAULT_LIMIT,
  type JsonValue,
  type ListOptions,
  type NewRecord,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from '../storage/index.js';
import { codeOf } from './connection-failure.js';
import type { Database } from './database.js';
import { afterPrefix, keyBytes, keyOf } from './key-bytes.js';

/** SQLSTATE of a record that is there already. */
const UNIQUE_VIOLATION = '23505';

/** A write or a removal sends its key on the channel of its collection, if somebody keeps such records for a while. */
export interface RecordNews {
  /** The channel for changes of records of this collection; undefined where nobody is told. */
  channelOf(collection: string): string | undefined;
  /** What is sent. */
  payloadOf(key: string): string;
}

interface RecordRow {
  readonly key: Buffer;
  readonly value: string;
  readonly version: string;
}

type CreatedRow = Omit<RecordRow, 'value'> & { readonly collection: string };

/** The records of a storage, each a row with its JSON text. */
export class Records {
  readonly #database: Database;
  readonly #news: RecordNews;

  constructor(database: Database, news: RecordNews) {
    this.#database = database;
    this.#news = news;
  }

  async read(collection: string, key: string): Promise<Versioned | undefined> {
    const [row] = await this.#database.query<RecordRow>(
      `SELECT value, version FROM ${this.#table} WHERE collection = $1 AND key = $2`,
      [collection, keyBytes(key)],
      { isRepeatable: true },
    );
    return row && unpacked(row);
  }

  async readAll(collection: string, keys: readonly string[]): Promise<StoredRecord[]> {
    const rows = await this.#database.query<RecordRow>(
      `SELECT key, value, version FROM ${this.#table} WHERE collection = $1 AND key = ANY($2::bytea[])`,
      [collection, keys.map(keyBytes)],
      { isRepeatable: true },
    );
    return rows.map((row) => ({ key: keyOf(row.key), ...unpacked(row) }));
  }

  async write(
    collection: string,
    key: string,
    value: JsonValue,
    expected: Version | undefined,
  ): Promise<Version> {
    const values = [collection, keyBytes(key), JSON.stringify(value)];
    const text =
      expected === undefined
        ? `INSERT INTO ${this.#table} (collection, key, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING version`
        : `UPDATE ${this.#table} SET value = $3, version = DEFAULT WHERE collection = $1 AND key = $2 AND version = $4 RETURNING version`;
    const conditions = expected === undefined ? [] : [expected];
    // A version that this storage never gave is none that the column can hold.
    const canBe = expected === undefined || /^\d{1,18}$/.test(expected);
    const [row] = canBe ? await this.#change(collection, key, text, [...values, ...conditions]) : [];
    if (row === undefined) throw new VersionConflict(collection, key);
    return row.version;
  }

  async createAll(records: readonly NewRecord[]): Promise<readonly Version[]> {
    const [first] = records;
    if (first === undefined) return [];
    const news = records.flatMap(({ collection, key }) => {
      const channel = this.#news.channelOf(collection);
      return channel === undefined ? [] : { channel, payload: this.#news.payloadOf(key) };
    });
    try {
      const rows = await this.#database.query<CreatedRow>(
        `WITH created AS (
           INSERT INTO ${this.#table} (collection, key, value) SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[])
           RETURNING collection, key, version)
         SELECT collection, key, version,
           (SELECT count(pg_notify(channel, payload)) FROM unnest($4::text[], $5::text[]) AS news (channel, payload))
         FROM created`,
        [
          records.map(({ collection }) => collection),
          records.map(({ key }) => keyBytes(key)),
          records.map(({ value }) => JSON.stringify(value)),
          news.map(({ channel }) => channel),
          news.map(({ payload }) => payload),
        ],
      );
      const versions = new Map(rows.map((row) => [`${row.collection}/${keyOf(row.key)}`, row.version]));
      return records.map(({ collection, key }) => versions.get(`${collection}/${key}`) ?? '');
    } catch (thrown) {
      if (codeOf(thrown) === UNIQUE_VIOLATION) throw new VersionConflict(first.collection, first.key);
      throw thrown;
    }
  }

  async remove(collection: string, key: string): Promise<void> {
    const text = `DELETE FROM ${this.#table} WHERE collection = $1 AND key = $2 RETURNING version`;
    await this.#change(collection, key, text, [collection, keyBytes(key)]);
  }

  async list(collection: string, options: ListOptions): Promise<StoredRecord[]> {
    const rows = await this.#listed<RecordRow>('key, value, version', collection, options);
    return rows.map((row) => ({ key: keyOf(row.key), ...unpacked(row) }));
  }

  async listKeys(collection: string, options: ListOptions): Promise<string[]> {
    const rows = await this.#listed<Pick<RecordRow, 'key'>>('key', collection, options);
    return rows.map(({ key }) => keyOf(key));
  }

  /** One statement that changes a record, and tells of it in the same transaction. */
  #change(collection: string, key: string, text: string, values: readonly unknown[]) {
    const channel = this.#news.channelOf(collection);
    if (channel === undefined) return this.#database.query<{ version: string }>(text, values);
    const [first, second] = [values.length + 1, values.length + 2];
    return this.#database.query<{ version: string }>(
      `WITH changed AS (${text}) SELECT version, pg_notify($${first}, $${second}) FROM changed`,
      [...values, channel, this.#news.payloadOf(key)],
    );
  }

  #listed<Row extends { readonly key: Buffer }>(
    columns: string,
    collection: string,
    { prefix = '', after, limit = DEFAULT_LIMIT, reverse = false }: ListOptions,
  ): Promise<Row[]> {
    const values: unknown[] = [collection];
    const bound = (comparison: string, value: Buffer) => ` AND key ${comparison} $${values.push(value)}`;
    const begin = keyBytes(prefix);
    const end = afterPrefix(begin);
    const conditions = [
      bound('>=', begin),
      end === undefined ? '' : bound('<', end),
      after === undefined ? '' : bound(reverse ? '<' : '>', keyBytes(after)),
    ].join('');
    const order = `ORDER BY key${reverse ? ' DESC' : ''}`;
    const most = limit === Number.POSITIVE_INFINITY ? '' : ` LIMIT $${values.push(limit)}`;
    return this.#database.query<Row>(
      `SELECT ${columns} FROM ${this.#table} WHERE collection = $1${conditions} ${order}${most}`,
      values,
      { isRepeatable: true },
    );
  }

  get #table(): string {
    return this.#database.table('records');
  }
}

/** Text that somebody else has put there and that is no JSON is shown as damaged. */
function unpacked({ value, version }: Pick<RecordRow, 'value' | 'version'>): Versioned {
  try {
    return { value: JSON.parse(value), version };
  } catch {
    return { value, version, damage: 'the column value holds no JSON' };
  }
}
