import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { newApiKey } from '../../src/http/index.js';
import { Database, postgresStorage } from '../../src/postgres/index.js';
import type { BenchDatabase } from './a-database.js';
import { aReadyModelFor } from './a-model.js';
import { ServiceProcess } from './service-process.js';

/**
 * What a service asks of its database: transactions of each kind of request and of a process that nobody asks, and the
 * bytes that jobs and models take there. None of it depends on how busy the machine is.
 */

const REQUESTS = 200;
/** PostgreSQL adds up what a session did once that has been idle for ten seconds. */
const SETTLE_MS = 11_000;
const IDLE_MS = 10_000;
const jobs = '/trainer/language/training-jobs';
const request = {
  dataset_url: 'http://127.0.0.1:9/reviews.zip',
  model_config: { name: 'a', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
};

export async function measureCosts(database: BenchDatabase): Promise<void> {
  const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });
  const storage = postgresStorage(database.connectionString, { schema: database.schema });
  const model = await aReadyModelFor(storage, stored.app_id);
  await storage.close();
  const client = new pg.Client({ connectionString: database.connectionString });
  client.on('error', () => undefined); // the server ends first where something fails
  await client.connect();
  const transactions = async () => {
    await delay(SETTLE_MS);
    const { rows } = await client.query<{ count: string }>(
      `SELECT sum(xact_commit + xact_rollback) AS count FROM pg_stat_database`,
    );
    return Number(rows[0]?.count);
  };
  const limits = ['--requests-per-minute', '1000000', '--quota', '1000000/day'];
  const table: Record<string, object> = {};
  for (const [name, args] of [
    ['without limits', []],
    ['with rate and quota', limits],
  ] as const) {
    const service = await ServiceProcess.start(database, ['--role', 'api', ...args], [stored]);
    const ask = (method: string, path: string, body?: object) => service.ask(apiKey, method, path, body);
    const measure = async (what: string, call: () => Promise<unknown>) => {
      await call(); // what only the first one needs
      const before = await transactions();
      for (let asked = 0; asked < REQUESTS; asked += 1) await call();
      const count = (await transactions()) - before;
      table[`${what}, ${name}`] = { transactions: (count / REQUESTS).toFixed(1) };
    };
    await measure('query', () => ask('POST', `/predictor/language/model/${model}`, { query: 'a text' }));
    await measure('job information', () => ask('GET', `${jobs}/${model}`));
    await measure('first page of jobs', () => ask('GET', jobs));
    if (name === 'without limits') {
      await measure('create and cancel a job', async () => {
        const { id } = await ask('POST', jobs, request);
        await ask('DELETE', `${jobs}/${id}`);
      });
      const before = await transactions();
      await delay(IDLE_MS);
      const perSecond = ((await transactions()) - before) / ((IDLE_MS + SETTLE_MS) / 1000);
      table['a second of nothing'] = { transactions: perSecond.toFixed(1) };
    }
    await service.stop();
  }
  console.table(table);
  await printSizes(new Database(database.connectionString, { schema: database.schema }));
  await client.end();
}

async function printSizes(database: Database): Promise<void> {
  const tables = await database.query<{ name: string; rows: string; bytes: string }>(
    `SELECT relname AS name, n_live_tup AS rows, pg_total_relation_size(relid) AS bytes
     FROM pg_stat_user_tables WHERE schemaname = $1 ORDER BY 3 DESC`,
    [database.schema],
  );
  console.table(tables.map(({ name, rows, bytes }) => ({ name, rows: Number(rows), bytes: Number(bytes) })));
  await database.close();
}
