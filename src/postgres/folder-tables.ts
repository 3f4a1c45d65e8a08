import type { Migration } from './migrations.js';

/**
 * The tables of folders. A folder is a row with a row for each of its files; what a file holds lies in chunks. One that
 * is still uploaded is of the kind `upload`, and nobody sees it. `stages` says who may publish what is staged: the
 * holder of the newest token.
 */
export const FOLDER_MIGRATIONS: readonly Migration[] = [
  {
    name: '0002-folders',
    sql: (schema) => `
      CREATE TABLE ${schema}.identity (id uuid NOT NULL DEFAULT gen_random_uuid());
      INSERT INTO ${schema}.identity DEFAULT VALUES;
      CREATE SEQUENCE ${schema}.staging_tokens;
      CREATE TABLE ${schema}.stages (key bytea PRIMARY KEY, token bigint NOT NULL);
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
      ALTER TABLE ${schema}.chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;`,
  },
];
