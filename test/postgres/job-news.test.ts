import { expect, it, onTestFinished, vi } from 'vitest';
import { JobRepository, ReadyModels } from '../../src/jobs/index.js';
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
