import { writeSync } from 'node:fs';
import { folderModels, JobRunner, type SharedJobQueue } from 'orchard-nlp';
import { postgresStorage } from 'orchard-nlp/postgres';
import { Database } from '../../../src/postgres/index.js';
import { QueueOnPostgres } from '../../../src/postgres/postgres-queue.js';
import type { ClusterSettings } from './cluster-settings.js';

/** `train-for-all.ts <settings>`: trains the jobs of all accounts, until it is killed. Says when it begins and ends each. */

const { connectionString, schema, cache, timing, models }: ClusterSettings = JSON.parse(process.argv[2] ?? '');
const say = (...words: readonly unknown[]) => writeSync(1, `${words.join(' ')}\n`);

const storage = postgresStorage(connectionString, { schema, cache });
const queue = new QueueOnPostgres(new Database(connectionString, { schema }), timing);
const telling: SharedJobQueue = {
  specificationVersion: 1,
  add: (job) => queue.add(job),
  cancel: (job) => queue.cancel(job),
  work: (app_id, handler) => queue.work(app_id, handler),
  close: () => queue.close(),
  workForAll: (handler, options) =>
    queue.workForAll(async (app_id, lease) => {
      say('begin', app_id, lease.id, Date.now());
      try {
        const outcome = await handler(app_id, lease);
        say('end', app_id, lease.id, Date.now(), outcome);
        return outcome;
      } catch (thrown) {
        say('end', app_id, lease.id, Date.now(), thrown);
        throw thrown;
      }
    }, options),
};
const runner = new JobRunner({
  ...{ storage, queue: telling, modelLoader: folderModels(models) },
  ...{ threads: 1, checkpointIntervalMs: 0 },
});
process.once('SIGTERM', async () => {
  await runner.close();
  await queue.close();
  await storage.close();
  process.exit(0);
});
process.stdin.resume().on('end', () => process.exit(1)); // its test is gone
say('ready');
