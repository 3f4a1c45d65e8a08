import { StorageError } from '../errors.js';
import { FOLDER_MIGRATIONS } from './folder-tables.js';
import { LIMIT_MIGRATIONS } from './limit-tables.js';
import { QUEUE_MIGRATIONS } from './queue-tables.js';
import { RECORD_MIGRATIONS } from './record-tables.js';

/** One step from an earlier layout of the schema to a later one. Never changed once it was released. */
export interface Migration {
  /** Its name in the table `migrations`: a number and what it is about, such as `0001-records`. */
  readonly name: string;
  /** The statements of it, without parameters. @param schema quoted, to go before the names of tables. */
  sql(schema: string): string;
}

/** All steps, in the order in which they are applied. What is new goes to the end. */
export const MIGRATIONS: readonly Migration[] = [
  ...RECORD_MIGRATIONS,
  ...FOLDER_MIGRATIONS,
  ...LIMIT_MIGRATIONS,
  ...QUEUE_MIGRATIONS,
];

/** Sends one text of SQL, in the transaction that the migrations are in. */
type Send = (
  sql: string,
  values?: readonly unknown[],
) => Promise<readonly { readonly name?: string | null }[]>;

/**
 * Applies what is missing, in a transaction that `send` belongs to. Processes that come at the same time wait for
 * each other.
 * @throws StorageError if a later release has been here.
 */
export async function migrate(send: Send, schema: string, migrations = MIGRATIONS): Promise<void> {
  const quoted = `"${schema}"`;
  await send('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`orchard migrations ${schema}`]);
  if (!(await isThere(send, `to_regclass('${quoted}.migrations')`))) {
    // Not IF NOT EXISTS: it asks for the right to create even where nothing is created.
    if (!(await isThere(send, `to_regnamespace('${quoted}')`))) await send(`CREATE SCHEMA ${quoted}`);
    await send(
      `CREATE TABLE ${quoted}.migrations (name text PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())`,
    );
  }
  const applied = (await send(`SELECT name FROM ${quoted}.migrations`)).map(({ name }) => name);
  const unknown = applied.find((name) => !migrations.some((migration) => migration.name === name));
  if (unknown !== undefined) {
    throw new StorageError(
      `schema ${schema} has the migration ${unknown}, which this release of orchard-nlp doesn't know; use the release that wrote it or a later one`,
    );
  }
  for (const { name, sql } of migrations.filter((migration) => !applied.includes(migration.name))) {
    await send(sql(quoted));
    await send(`INSERT INTO ${quoted}.migrations (name) VALUES ($1)`, [name]);
  }
}

async function isThere(send: Send, found: string): Promise<boolean> {
  return (await send(`SELECT ${found} AS name`))[0]?.name != null;
}
