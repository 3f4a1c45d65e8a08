import type { Migration } from './migrations.js';

/** What is counted for a minute: lost when the server crashes, and so never waited for. */
export const RATES = 'rates';
/** What is counted for a day or a month. */
export const QUOTAS = 'quotas';

/** The tables of the limiters, as rate-limiter-flexible wants them. */
export const LIMIT_MIGRATIONS: readonly Migration[] = [
  {
    name: '0101-limits',
    sql: (schema) => `${tableOf(`UNLOGGED TABLE ${schema}.${RATES}`)}
      ${tableOf(`TABLE ${schema}.${QUOTAS}`)}
      CREATE INDEX ON ${schema}.${RATES} (expire);
      CREATE INDEX ON ${schema}.${QUOTAS} (expire);`,
  },
];

/** Points as a double, since pg gives a bigint as text; whole numbers are exact in it up to 2 to the 53rd. */
function tableOf(table: string): string {
  return `CREATE ${table} (key text PRIMARY KEY, points double precision NOT NULL DEFAULT 0, expire bigint);`;
}
