import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { eraseAccount } from '../../src/jobs/index.js';
import { aTrainer, createJob } from '../jobs/builders.js';
import { ManualClock } from '../jobs/manual-clock.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aMachine } from './machines.js';
import { describeWithPostgres } from './private-server.js';

/** Descriptions of models, without fetching them. */

const DAY_MS = 24 * 60 * 60_000;

describeWithPostgres('a model that lies in the database', (server) => {
  it('is listed as unused and erased with its size, and never fetched for that', async () => {
    const schema = server.newSchema();
    const made = aTrainer({ storage: aMachine(server, { schema }), clock: new ManualClock(Date.now()) });
    const id = await createJob(made.trainer);
    await (await made.host.nextRun()).finish();
    expect((await resultOf(made.trainer.waitForTrainingJob(id))).status).toBe('READY');

    const cache = temporaryDirectory();
    const storage = aMachine(server, { schema, cache });
    const clock = new ManualClock(Date.now());
    const later = aTrainer({ storage, clock, runsJobs: false });
    clock.jump(29 * DAY_MS);
    expect(await resultOf(later.trainer.listUnusedModels())).toEqual([]);
    clock.jump(2 * DAY_MS);
    const [unused] = await resultOf(later.trainer.listUnusedModels());
    expect(unused).toMatchObject({ model: { id }, bytes: 'weights'.length });
    const erased = await resultOf(eraseAccount({ storage, app_id: 'local' }));
    expect(erased).toMatchObject({ job_ids: [id], folders: 1, bytes: 'weights'.length });
    const entries = await readdir(cache, { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isFile())).toEqual([]);
    expect(await server.sql(`SELECT FROM ${schema}.chunks`)).toEqual([]);
  });
});
