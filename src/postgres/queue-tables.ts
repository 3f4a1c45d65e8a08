import type { Migration } from './migrations.js';

/** The tables of the job queue; those of pg-boss, beside them in a schema of their own, are made by itself. */
export const QUEUE_MIGRATIONS: readonly Migration[] = [
  {
    name: '0201-queue',
    sql: (schema) => `
      CREATE SEQUENCE ${schema}.lease_tokens;
      -- The accounts that have jobs here, each with the lease of whoever runs one; its row is the account's lock.
      CREATE TABLE ${schema}.queue_accounts (
        app_id text COLLATE "C" PRIMARY KEY,
        -- Of the lease; all null where nobody has it.
        token bigint,
        holder text,
        job_id text COLLATE "C",
        expires timestamptz,
        -- Not before this, by who works for this account alone; others go by the start of its turn.
        free_from timestamptz NOT NULL DEFAULT '-infinity'
      );
      CREATE INDEX queue_leases ON ${schema}.queue_accounts (expires) WHERE token IS NOT NULL;
      CREATE TABLE ${schema}.queue_jobs (
        app_id text COLLATE "C" NOT NULL,
        -- Ids sort by the time of their creation.
        id text COLLATE "C" NOT NULL,
        is_started boolean NOT NULL DEFAULT false,
        is_cancelled boolean NOT NULL DEFAULT false,
        PRIMARY KEY (app_id, id)
      );`,
  },
];
