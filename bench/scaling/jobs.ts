import { setTimeout as delay } from 'node:timers/promises';
import { Trainer } from '../../src/jobs/index.js';
import { type Database, postgresQueue, postgresStorage } from '../../src/postgres/index.js';
import type { BenchDatabase } from './a-database.js';
import { dataset, model_config } from './a-model.js';

const POLL_MS = 100;

/** Creates jobs of as many accounts, which wait for whoever trains. */
export async function createJobs(
  { connectionString, schema }: BenchDatabase,
  { count, epochs }: { readonly count: number; readonly epochs: number },
): Promise<void> {
  const storage = postgresStorage(connectionString, { schema });
  const queue = postgresQueue(connectionString, { schema });
  for (let job = 0; job < count; job += 1) {
    const account = { app_id: `account-${job}`, tier: 'pro' } as const;
    await using trainer = new Trainer({ storage, queue, account, runsJobs: false });
    const created = await trainer.createTrainingJob({
      dataset_url: dataset,
      model_config,
      training_config: { num_epochs: epochs, use_pretrained: false },
    });
    if (created.isErr()) throw created.error;
  }
  await queue.close();
  await storage.close();
}

/** Waits until so many jobs are READY. @returns the milliseconds since the first one ran; closes the database. */
export async function whenAllReady(database: Database, count: number): Promise<number> {
  const began = await until(database, (states) => states.some((state) => state !== 'QUEUED'));
  const ended = await until(database, (states) => {
    if (states.includes('ERROR')) throw new Error('a job ended in ERROR');
    return states.filter((state) => state === 'READY').length === count;
  });
  await database.close();
  return ended - began;
}

async function until(database: Database, isThere: (states: readonly string[]) => boolean): Promise<number> {
  for (;;) {
    const jobs = await database.query<{ status: string }>(
      `SELECT value::json->>'status' AS status FROM ${database.table('records')} WHERE collection = 'jobs'`,
    );
    if (isThere(jobs.map(({ status }) => status))) return performance.now();
    await delay(POLL_MS);
  }
}
