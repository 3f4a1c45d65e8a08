import type { Migration } from './migrations.js';

/** The tables of records. */
export const RECORD_MIGRATIONS: readonly Migration[] = [
  {
    name: '0001-records',
    sql: (schema) => `
      CREATE SEQUENCE ${schema}.versions;
      CREATE TABLE ${schema}.records (
        collection text COLLATE "C" NOT NULL,
        key bytea NOT NULL,
        value text NOT NULL,
        version bigint NOT NULL DEFAULT nextval('${schema}.versions'),
        PRIMARY KEY (collection, key)
      );`,
  },
];
