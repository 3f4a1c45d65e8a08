import { expect, it, onTestFinished, vi } from 'vitest';
import { JobRepository, ReadyModels } from '../../src/jobs/index.js';
import { Database } from '../../src/postgres/index.js';
import { QUEUE_TIMING, QueueOnPostgres } from '../../src/postgres/postgres-queue.js';
import type { Storage } from '../../src/storage/index.js';
import { aTrainer, createJob } from '../jobs/builders.js';
import { ManualClock } from '../jobs/manual-clock.js';
import { resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { machines } from './machines.js';
import { describeWithPostgres } from './private-server.js';

/** Notifications of writes to jobs reach other processes. No test here waits for a timer. */

const HOUR_MS = 3_600_000;

describeWithPostgres('what is written about a job', (server) => {
  it('makes another process forget the model that was deleted, without a call', async () => {
    const { one, other } = machines(server);
    const id = await aReadyModelIn(one, 'acme');
    const gone = vi.fn();
    const models = new ReadyModels(other, 'acme', { gone, clock: new ManualClock(), checkMs: HOUR_MS });
    onTestFinished(() => models.close());
    const directory = await models.directoryOf(id);
    await hears(other, one);
    await new JobRepository(one, 'acme').update(id, (job) => ({ ...job, status: 'DELETED' }));
    await vi.waitFor(() => expect(gone).toHaveBeenCalledWith(directory), 10_000);
    await expect(models.lookUp(id)).rejects.toThrow(/no model/);
  });

  it('ends the wait of a process that runs no jobs, when another has made the model READY', async () => {
    const { one, other } = machines(server);
    const api = aTrainer({ storage: one, runsJobs: false });
    const id = await createJob(api.trainer);
    const waiting = resultOf(api.trainer.waitForTrainingJob(id));
    await hears(one, other);
    const { host } = aTrainer({ storage: other });
    await (await host.nextRun()).finish();
    expect((await waiting).status).toBe('READY');
    expect(await one.openFolder(id)).toBeDefined();
  });
});

describeWithPostgres('what another program says on the channel of the queue', (server) => {
  it.each(['', '{', '{"app_id":7}'])('is a reason to look for jobs, and harmless: %j', async (payload) => {
    const schema = server.newSchema();
    const database = new Database(server.connectionString, { schema });
    const queue = new QueueOnPostgres(database, { ...QUEUE_TIMING, pollMs: HOUR_MS });
    onTestFinished(() => queue.close());
    const ran = vi.fn();
    queue.work('acme', async ({ id }) => {
      ran(id);
      return 'ended';
    });
    await vi.waitFor(async () => {
      await server.sql(`INSERT INTO ${schema}.queue_accounts (app_id) VALUES ('acme') ON CONFLICT DO NOTHING;
        INSERT INTO ${schema}.queue_jobs (app_id, id) VALUES ('acme', 'a') ON CONFLICT DO NOTHING`);
      await server.sql(`SELECT pg_notify('${schema}:queue', '${payload}')`);
      expect(ran).toHaveBeenCalledWith('a');
    }, 10_000);
  });
});

/** Resolves once one storage hears what another writes. */
async function hears(listening: Storage, writing: Storage): Promise<void> {
  const heard = vi.fn();
  onTestFinished(listening.watch?.('jobs', heard) ?? (() => undefined));
  await vi.waitFor(async () => {
    await writing.write('jobs', 'probe/probe', 1, undefined);
    await writing.remove('jobs', 'probe/probe');
    expect(heard).toHaveBeenCalledWith('probe/probe');
  }, 10_000);
}
