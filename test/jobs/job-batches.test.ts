import { describe, expect, it } from 'vitest';
import { taskOf } from '../../src/families/index.js';
import { JobRepository } from '../../src/jobs/index.js';
import { aMemoryStorage } from './builders.js';
import { aJob, app_id, INDEX, idOf, ids } from './some-jobs.js';
import { withBatches } from './storages.js';

const USE = { collection: 'model-uses', key: `${app_id}/${idOf(1)}`, value: { at: 5 } };

function aRepository() {
  const medium = aMemoryStorage();
  const storage = withBatches(medium);
  return { medium, storage, jobs: new JobRepository(storage, app_id, taskOf) };
}

/** All records of jobs, without their versions. */
async function recordsIn(storage: ReturnType<typeof aMemoryStorage>) {
  const lists = ['jobs', INDEX, 'model-uses'].map((collection) => storage.list(collection));
  return (await Promise.all(lists)).flat().map(({ key, value }) => [key, value]);
}

describe('a job in a storage that creates several records at once', () => {
  it('is created with the records that it has in any storage, by one call', async () => {
    const { medium, storage, jobs } = aRepository();
    storage.write = () => expect.fail('a second call');
    for (const status of ['CREATED', 'READY'] as const) {
      const n = status === 'READY' ? 2 : 1;
      const { job, version } = await jobs.create(aJob(n, status), n === 1 ? USE : undefined);
      expect(job).toEqual(aJob(n, status));
      expect((await medium.read('jobs', `${app_id}/${idOf(n)}`))?.version).toBe(version);
    }
    const other = aMemoryStorage();
    const others = new JobRepository(other, app_id, taskOf);
    await others.create(aJob(1, 'CREATED'), USE);
    await others.create(aJob(2, 'READY'));
    expect(await recordsIn(medium)).toEqual(await recordsIn(other));
  });

  it('is created also if one of its other records exists, but not twice', async () => {
    const { medium, jobs } = aRepository();
    await medium.write(USE.collection, USE.key, { at: 1 }, undefined);
    await jobs.create(aJob(1, 'QUEUED'), USE);
    expect(ids(await jobs.unfinished())).toEqual([idOf(1)]);
    expect((await medium.read(USE.collection, USE.key))?.value).toEqual({ at: 1 });
    await expect(jobs.create(aJob(1, 'QUEUED'))).rejects.toThrow(idOf(1));
  });

  it('is not created if the storage fails', async () => {
    const { medium, storage, jobs } = aRepository();
    storage.createAll = () => Promise.reject(new Error('no connection'));
    await expect(jobs.create(aJob(1, 'QUEUED'))).rejects.toMatchObject({ code: 'storage', message: 'no connection' });
    expect(await recordsIn(medium)).toEqual([]);
  });

  it('is listed by one reading of a page, in order, without those that are gone', async () => {
    const { medium, storage, jobs } = aRepository();
    for (let n = 1; n <= 5; n += 1) await jobs.create(aJob(n, 'READY'));
    await medium.remove('jobs', `${app_id}/${idOf(3)}`);
    await medium.write(INDEX, `${app_id}/ready/not-an-id`, null, undefined);
    storage.read = () => expect.fail('a reading of one');
    expect(ids((await jobs.page({ limit: 10 })).data)).toEqual([5, 4, 2, 1].map(idOf));
  });
});
