import { parseArgs } from 'node:util';
import pg from 'pg';
import { type ListFilter, modelTypes, trainingJobStatuses } from '../src/contract/index.js';
import { Trainer } from '../src/jobs/index.js';
import { postgresQueue, postgresStorage } from '../src/postgres/index.js';
import { Random } from '../src/system/index.js';
import { idOf, LARGE, SMALL_ACCOUNTS, writeManyRecords } from './postgres/many-records.js';
import { StatementLog } from './postgres/statement-log.js';
import { machine, quantile } from './report.js';
import { aDatabase } from './scaling/a-database.js';

/**
 * What lists and creations take in a `postgresStorage` that holds millions of jobs, through the public `Trainer`, and which
 * indexes the statements use. The server is a private one with its defaults but for 1 GiB of shared buffers; commits wait
 * for the disk.
 * Usage: `npm run bench -- postgres [--models 1000000] [--jobs 2000000] [--calls 2000] [--database <url>]`
 */

const { values: options } = parseArgs({
  options: {
    models: { type: 'string', default: '1000000' },
    jobs: { type: 'string', default: '2000000' },
    calls: { type: 'string', default: '2000' },
    database: { type: 'string' },
  },
});
/** Calls before the timed ones, in which code is compiled and connections are made. */
const WARM_UP_CALLS = 50;
const SCHEMA = 'bench';
const REQUEST = {
  dataset_url: 'https://example.com/reviews.zip',
  model_config: { name: 'reviews', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
} as const;

const calls = Number(options.calls);
/** A job's record is its model's too: those with READY models, and the others. */
const count = Number(options.models) + Number(options.jobs);
const random = Random.fromSeed(1);
const SERVER = { fsync: 'on', shared_buffers: '1GB', max_wal_size: '8GB', max_connections: 100 };
const { connectionString, close } = await aDatabase(options.database, SERVER);
console.log(`${machine()}; ${count.toLocaleString('en-US')} jobs, a third of them with READY models`);

const pool = new pg.Pool({ connectionString });
const statements = new StatementLog(pool);
const storage = postgresStorage(pool, { schema: SCHEMA });
await storage.read('jobs', 'the tables are there now');
const filling = await pool.connect();
const { ms } = await timed(() => writeManyRecords(filling, SCHEMA, count));
const [{ size } = { size: '' }] = (
  await filling.query(`SELECT pg_size_pretty(pg_database_size(current_database())) AS size`)
).rows;
filling.release();
console.log(`written in ${(ms / 1000).toFixed(0)} s; the database takes ${size}`);

const queue = postgresQueue(pool, { schema: SCHEMA });
const trainerOf = (app_id: string) =>
  new Trainer({ storage, queue, runsJobs: false, account: { app_id, tier: 'pro' } });
const large = trainerOf(LARGE);
const small = Array.from({ length: 200 }, () => trainerOf(`small-${random.integer(SMALL_ACCOUNTS)}`));
const table: Record<string, object> = {};

for (const limit of [20, 100]) {
  await measure(`list ${limit}, filters and cursors, account of ${(count / 2).toLocaleString('en-US')}`, () =>
    listed(large, limit),
  );
}
await measure(`list 20, filters and cursors, ${SMALL_ACCOUNTS} accounts`, (call) => listed(oneOf(small, call), 20));
await measure('get one job', async () => {
  const id = idOf(60 * random.integer(count / 60)); // of the large account
  (await large.getTrainingJob(id))._unsafeUnwrap();
});
await measure('create, up to a dozen waiting', (call) => created(oneOf(small, call)));
console.table(table);
for (const plan of await statements.plans()) console.log(`\n${plan}`);

for (const trainer of [large, ...small]) await trainer.close();
await queue.close();
await storage.close();
await pool.end();
await close();

async function listed(trainer: Trainer, limit: number): Promise<void> {
  const filter: ListFilter = {
    limit,
    ...(random.integer(2) === 0 && { modelType: oneOf(modelTypes, random.integer(100)) }),
    ...(random.integer(2) === 0 && { trainingStatus: oneOf(trainingJobStatuses, random.integer(100)) }),
    ...(random.integer(10) < 7 && { cursor: idOf(random.integer(count)) }),
  };
  (await trainer.listTrainingJobs(filter))._unsafeUnwrap();
}

async function created(trainer: Trainer): Promise<void> {
  (await trainer.createTrainingJob(REQUEST))._unsafeUnwrap();
}

function oneOf<T>(values: readonly T[], at: number): T {
  const value = values[at % values.length];
  if (value === undefined) throw new Error('there is nothing to choose from');
  return value;
}

async function measure(name: string, call: (at: number) => Promise<void>): Promise<void> {
  const times: number[] = [];
  let cpu = process.cpuUsage();
  for (let at = -WARM_UP_CALLS; at < calls; at += 1) {
    if (at === 0) cpu = process.cpuUsage();
    const { ms } = await timed(() => call(at + WARM_UP_CALLS));
    if (at >= 0) times.push(ms);
  }
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = Number(((user + system) / 1000 / calls).toFixed(1));
  const shown = (share: number) => Number(quantile(times, share).toFixed(1));
  table[name] = {
    calls,
    'p50 ms': shown(0.5),
    'p99 ms': shown(0.99),
    'most ms': shown(1),
    'cpu here ms': cpuMs,
  };
}

async function timed(work: () => Promise<void>): Promise<{ ms: number }> {
  const start = performance.now();
  await work();
  return { ms: performance.now() - start };
}
