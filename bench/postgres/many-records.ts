import type pg from 'pg';
import { modelTypes, type TrainingJobStatus } from '../../src/contract/index.js';
import { taskOf } from '../../src/families/index.js';
import { viewsOf } from '../../src/jobs/index.js';
import { app_id as APP_ID, aJob } from '../storage/many-jobs.js';

/** Millions of jobs in the tables of a `postgresStorage`, as the library would have written them one by one. */

/** How jobs have ended, in thirtieths: every third has left a model that is READY. */
const ENDS: readonly [TrainingJobStatus, number][] = [
  ['READY', 10],
  ['DELETED', 12],
  ['ERROR', 5],
  ['CANCELLED', 3],
];
/** When the oldest job was created, and the time between two, in milliseconds. */
const OLDEST = Date.parse('2026-01-01T00:00:00Z');
const SPACING_MS = 1000;
/** Half of the jobs are those of one account. */
export const LARGE = 'large';
export const SMALL_ACCOUNTS = 3000;

/** The id of the n-th job: a UUID of version 7, in SQL and here. */
const ID = `substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0')`;
export function idOf(n: number): string {
  const hex = (OLDEST + n * SPACING_MS).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** What a job of each kind is, with its id and account to be put in. */
function templates() {
  const statuses = ENDS.flatMap(([status, count]) => Array.from({ length: count }, () => status));
  return statuses.map((status, slot) => {
    const type = modelTypes[slot % modelTypes.length] ?? 'question-answering';
    const job = aJob({ status, type, created: OLDEST });
    const value = JSON.stringify(job);
    return { slot, value, id: job.id, views: viewsOf(job, taskOf) };
  });
}

/** @param schema quoted. @param count how many jobs, a third of which have models. */
export async function writeManyRecords(client: pg.ClientBase, schema: string, count: number): Promise<void> {
  const slots = templates();
  await client.query('CREATE TEMPORARY TABLE slots (slot int PRIMARY KEY, value text, id text, views text[])');
  for (const { slot, value, id, views } of slots) {
    await client.query('INSERT INTO slots VALUES ($1, $2, $3, $4)', [slot, value, id, views]);
  }
  await client.query(`
    CREATE TEMPORARY TABLE made AS
      SELECT app, ${ID} AS id, slot FROM (
        SELECT n, n % ${slots.length} AS slot, lpad(to_hex(${OLDEST} + n::bigint * ${SPACING_MS}), 12, '0') AS h,
          CASE WHEN n / ${slots.length} % 2 = 0 THEN '${LARGE}' ELSE 'small-' || n / ${2 * slots.length} % ${SMALL_ACCOUNTS} END AS app
        FROM generate_series(0, ${count - 1}) AS n) numbered`);
  await client.query(`
    INSERT INTO ${schema}.records (collection, key, value)
      SELECT 'jobs', convert_to(app || '/' || made.id, 'UTF8'),
        replace(replace(value, slots.id, made.id), '"app_id":"${APP_ID}"', '"app_id":"' || app || '"')
      FROM made JOIN slots USING (slot) ORDER BY app, made.id`);
  await client.query(`
    INSERT INTO ${schema}.records (collection, key, value)
      SELECT 'job-index', convert_to(app || '/' || view || '/' || made.id, 'UTF8'), 'null'
      FROM made JOIN slots USING (slot), unnest(views) AS view ORDER BY app, view, made.id`);
  await client.query('DROP TABLE made');
  await client.query(`VACUUM ANALYZE ${schema}.records`);
  await client.query('CHECKPOINT');
}
