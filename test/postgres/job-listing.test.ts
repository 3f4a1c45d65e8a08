import { expect, it } from 'vitest';
import { JobRepository, newJobRecord } from '../../src/jobs/index.js';
import { isVersionConflict } from '../../src/storage/index.js';
import { aRequest } from '../jobs/request.js';
import { machines } from './machines.js';
import { describeWithPostgres } from './private-server.js';

const idOf = (n: number) => `0190a6f0-0000-7000-8000-00000000000${n}`;
const CREATED = '2026-11-21T08:15:30.123+00:00';

describeWithPostgres('a page of jobs', (server) => {
  it('has damaged jobs among the others', async () => {
    const { schema, one } = machines(server);
    const jobs = new JobRepository(one, 'acme');
    for (const n of [1, 2, 3]) {
      const job = newJobRecord(aRequest, { id: idOf(n), app_id: 'acme', created: CREATED, seed: 1 });
      await jobs.create({ ...job, status: 'READY' });
    }
    const key = (n: number) => `convert_to('acme/${idOf(n)}', 'UTF8')`;
    await server.sql(`UPDATE ${schema}.records SET value = '{"half' WHERE collection = 'jobs' AND key = ${key(1)}`);
    await server.sql(
      `UPDATE ${schema}.records SET value = '{"other":999}' WHERE collection = 'jobs' AND key = ${key(2)}`,
    );
    const { data } = await jobs.page({});
    expect(data.map(({ id, status }) => [id, status])).toEqual([
      [idOf(3), 'READY'],
      [idOf(2), 'ERROR'],
      [idOf(1), 'ERROR'],
    ]);
    expect((await one.read('damaged-jobs', `acme/${idOf(1)}`))?.value).toBeDefined();
    expect((await one.read('damaged-jobs', `acme/${idOf(2)}`))?.value).toMatchObject({
      left: { other: 999 },
    });
  });

  it('has a job whose creation had left a marker when its process was killed', async () => {
    const { one } = machines(server);
    const jobs = new JobRepository(one, 'acme');
    const job = newJobRecord(aRequest, { id: idOf(1), app_id: 'acme', created: CREATED, seed: 1 });
    await one.write('job-index', `acme/open/${job.id}`, null, undefined);
    await jobs.create(job);
    expect((await jobs.page({})).data).toEqual([job]);
    await expect(jobs.create(job)).rejects.toSatisfy(isVersionConflict);
  });

  it('has a job that was created together with what belongs to it, and changed without being read again', async () => {
    const { one } = machines(server);
    const jobs = new JobRepository(one, 'acme');
    const job = newJobRecord(aRequest, { id: idOf(1), app_id: 'acme', created: CREATED, seed: 1 });
    const beside = { collection: 'model-uses', key: `acme/${job.id}`, value: { at: 1 } };
    const created = await jobs.create(job, beside);
    expect(created).toEqual({ job, version: expect.any(String) });
    expect((await one.read('model-uses', beside.key))?.value).toEqual({ at: 1 });
    expect([await jobs.hasFewOpen(1), await jobs.hasFewOpen(2)]).toEqual([false, true]);
    const known = { known: created };
    await jobs.update(job.id, (each) => ({ ...each, status: 'QUEUED' }), known);
    // What was known is out of date now, so that the job is read after all.
    const changed = await jobs.update(job.id, (each) => ({ ...each, seed: each.status === 'QUEUED' ? 7 : 0 }), known);
    expect(changed.seed).toBe(7);
    expect((await jobs.page({})).data).toEqual([changed]);
  });
});
