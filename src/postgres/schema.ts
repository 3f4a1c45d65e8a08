import { StorageError } from '../contract/index.js';
import type { Query } from './database.js';

/** Counters of a minute. The table is unlogged: a crash of the server loses it, and no write waits for the disk. */
export const RATES = 'rates';
export const QUOTAS = 'quotas';

/**
 * The statements that lead from one version of the schema to the next: the first entry makes version 1 of an empty
 * schema. A later release appends an entry and leaves the others as they are.
 */
const VERSIONS: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE SEQUENCE ${schema}.versions;
    CREATE TABLE ${schema}.records (
      collection text COLLATE "C" NOT NULL,
      key bytea NOT NULL,
      value text NOT NULL,
      version bigint NOT NULL DEFAULT nextval('${schema}.versions'),
      PRIMARY KEY (collection, key)
    );

    -- A folder is a row with a row for each of its files, whose content lies in chunks. An 'upload' is not visible to readers.
    CREATE TABLE ${schema}.folders (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      key bytea NOT NULL,
      kind text NOT NULL CHECK (kind IN ('upload', 'staged', 'published')),
      token bigint NOT NULL,
      hash bytea NOT NULL,
      created timestamptz NOT NULL DEFAULT now()
    );
    CREATE UNIQUE INDEX folders_published ON ${schema}.folders (key) WHERE kind = 'published';
    CREATE UNIQUE INDEX folders_staged ON ${schema}.folders (key) WHERE kind = 'staged';
    CREATE INDEX folders_key ON ${schema}.folders (key);
    CREATE INDEX folders_hash ON ${schema}.folders (hash) WHERE kind = 'published';
    CREATE INDEX folders_uploads ON ${schema}.folders (created) WHERE kind = 'upload';
    CREATE TABLE ${schema}.files (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      owner bigint NOT NULL REFERENCES ${schema}.folders ON DELETE CASCADE,
      sha256 bytea NOT NULL,
      size bigint NOT NULL
    );
    CREATE INDEX files_owner ON ${schema}.files (owner);
    CREATE TABLE ${schema}.folder_files (
      folder bigint NOT NULL REFERENCES ${schema}.folders ON DELETE CASCADE,
      path text COLLATE "C" NOT NULL,
      file bigint NOT NULL REFERENCES ${schema}.files ON DELETE CASCADE,
      modified double precision NOT NULL,
      PRIMARY KEY (folder, path)
    );
    CREATE INDEX folder_files_file ON ${schema}.folder_files (file);
    CREATE TABLE ${schema}.chunks (
      file bigint NOT NULL REFERENCES ${schema}.files ON DELETE CASCADE,
      number integer NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (file, number)
    );
    ALTER TABLE ${schema}.chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
    -- Who may publish what is staged: the holder of the newest token.
    CREATE SEQUENCE ${schema}.staging_tokens;
    CREATE TABLE ${schema}.stages (key bytea PRIMARY KEY, token bigint NOT NULL);

    -- As rate-limiter-flexible wants them, but with points as a double: pg returns a bigint as text.
    CREATE UNLOGGED TABLE ${schema}.${RATES} (key text PRIMARY KEY, points double precision NOT NULL DEFAULT 0, expire bigint);
    CREATE TABLE ${schema}.${QUOTAS} (key text PRIMARY KEY, points double precision NOT NULL DEFAULT 0, expire bigint);
    CREATE INDEX ON ${schema}.${RATES} (expire);
    CREATE INDEX ON ${schema}.${QUOTAS} (expire);

    CREATE SEQUENCE ${schema}.lease_tokens;
    CREATE TABLE ${schema}.queue_jobs (
      app_id text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, -- sorts by the time of creation
      PRIMARY KEY (app_id, id)
    );
    -- The accounts that have jobs in queue_jobs.
    CREATE TABLE ${schema}.queue_accounts (
      app_id text COLLATE "C" PRIMARY KEY,
      token bigint, -- of the lease; null while no process runs a job
      holder text,
      job_id text COLLATE "C", -- the job that has started and not ended
      is_cancelled boolean NOT NULL DEFAULT false, -- that job
      free_from timestamptz NOT NULL DEFAULT now() -- the lease expires, or a process may take a job
    );
    CREATE INDEX queue_turns ON ${schema}.queue_accounts ((job_id IS NULL), free_from);

    CREATE TABLE ${schema}.identity (id uuid NOT NULL DEFAULT gen_random_uuid(), version integer NOT NULL);
    INSERT INTO ${schema}.identity (version) VALUES (0);`,
];

/**
 * Makes the tables, or brings them up to date, in the transaction that `query` belongs to. Processes that come at the
 * same time wait for each other.
 * @throws StorageError if a later release has changed the schema.
 */
export async function prepareSchema(query: Query, name: string): Promise<void> {
  const schema = `"${name}"`;
  await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`orchard schema ${name}`]);
  const [found] = await query<{ has_schema: boolean; has_tables: boolean }>(
    `SELECT to_regnamespace($1) IS NOT NULL AS has_schema, to_regclass($2) IS NOT NULL AS has_tables`,
    [schema, `${schema}.identity`],
  );
  // Not IF NOT EXISTS, which needs the right to create even if the schema exists.
  if (!found?.has_schema) await query(`CREATE SCHEMA ${schema}`);
  const [row] = found?.has_tables ? await query<{ version: number }>(`SELECT version FROM ${schema}.identity`) : [];
  const version = row?.version ?? 0;
  if (version > VERSIONS.length) {
    throw new StorageError(
      `schema ${name} has version ${version}, but this release of orchard-nlp knows versions up to ${VERSIONS.length}; use the release that created it, or a later one`,
    );
  }
  if (version === VERSIONS.length) return;
  for (const statements of VERSIONS.slice(version)) await query(statements(schema));
  await query(`UPDATE ${schema}.identity SET version = $1`, [VERSIONS.length]);
}
