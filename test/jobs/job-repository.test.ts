import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { v7 as uuidV7 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { type ListFilter, trainingJobStatuses } from '../../src/contract/index.js';
import { taskOf } from '../../src/families/index.js';
import { type JobRecord, JobRepository, moved } from '../../src/jobs/index.js';
import { memoryStorage, type Storage } from '../../src/storage/index.js';
import { aVersionConflictOfAnotherCopy } from '../storage/another-copy.js';
import { aJob, app_id, INDEX, idOf, ids, types } from './some-jobs.js';
import { countReads, failingAt, withPauses } from './storages.js';

const everyFilter: ListFilter[] = [undefined, ...trainingJobStatuses].flatMap((trainingStatus) =>
  [undefined, ...types].map((modelType) => ({
    ...(trainingStatus && { trainingStatus }),
    ...(modelType && { modelType }),
  })),
);

describe('a page of jobs', () => {
  it.each(everyFilter)('has, page by page, those that the filter %j asks for, newest first', async (filter) => {
    const { jobs, all } = await manyJobs();
    const found: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await jobs.page({ ...filter, limit: 7, ...(cursor && { cursor }) });
      found.push(...ids(page.data));
      cursor = page.pagination.next_cursor;
    }
    expect(found).toEqual(ids(asked(all, filter)));
  });

  it('reads no job that the filter does not ask for', async () => {
    const { jobs, storage } = await manyJobs();
    const reads = countReads(storage);
    const { data } = await jobs.page({ trainingStatus: 'ERROR', modelType: 'question-answering', limit: 2 });
    expect(data).toHaveLength(2);
    expect(reads.jobs).toBeLessThanOrEqual(3);
    expect(reads.listed).toBeLessThanOrEqual(3);
  });

  it('reads few jobs if most are deleted', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, app_id, taskOf);
    for (let n = 0; n < 300; n += 1) await jobs.create(aJob(n, n < 5 ? 'READY' : 'DELETED'));
    const reads = countReads(storage);
    expect(ids((await jobs.page({ limit: 3 })).data)).toEqual([4, 3, 2].map(idOf));
    expect(reads.jobs).toBeLessThanOrEqual(4);
  });

  it('has every job while jobs go through their lives', async () => {
    const storage = withPauses(memoryStorage());
    const jobs = new JobRepository(storage, app_id, taskOf);
    const count = 40;
    for (let n = 0; n < count; n += 1) await jobs.create(aJob(n, 'RUNNING'));
    let areRunning = true;
    const lives = Promise.all(
      Array.from({ length: count }, async (_, n) => {
        for (let pause = 0; pause < n * 5; pause += 1) await setImmediate();
        await jobs.update(idOf(n), (job) => moved(job, n % 2 === 0 ? 'READY' : 'ERROR'));
      }),
    ).finally(() => {
      areRunning = false;
    });
    const newest = Array.from({ length: count }, (_, n) => idOf(count - 1 - n));
    while (areRunning) {
      expect(ids((await jobs.page({ limit: 15 })).data)).toEqual(newest.slice(0, 15));
      expect(ids((await jobs.page({ limit: 100 })).data)).toEqual(newest);
    }
    await lives;
  });
});

describe('the jobs that have not ended', () => {
  it('are listed oldest first, and the waiting ones are counted', async () => {
    const { jobs, all } = await manyJobs();
    const unfinished = all.filter(({ status }) => ['CREATED', 'QUEUED', 'RUNNING'].includes(status));
    expect(ids(await jobs.unfinished())).toEqual(ids(unfinished).reverse());
    const waiting = unfinished.filter(({ status }) => status !== 'RUNNING');
    expect(await jobs.countWaiting()).toBe(waiting.length);
  });

  it('are found without reading the others', async () => {
    const { jobs, storage, all } = await manyJobs();
    const unfinished = all.filter(({ status }) => ['CREATED', 'QUEUED', 'RUNNING'].includes(status)).length;
    await jobs.page({});
    const reads = countReads(storage);
    await jobs.countWaiting();
    expect(reads).toEqual({ jobs: unfinished, listed: unfinished });
  });
});

describe('a job that has ended', () => {
  it('is looked at once more where its process died before it left the open jobs', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, app_id, taskOf);
    await jobs.create(aJob(1, 'READY'));
    await storage.write(INDEX, `${app_id}/open/${idOf(1)}`, null, undefined);
    expect(await jobs.oldestUnfinished()).toBeUndefined();
    expect(await storage.listKeys(INDEX, { prefix: `${app_id}/open/` })).toEqual([]);
  });
});

describe('a marker of a job that was never written, as its process died first', () => {
  it('is removed once no process can be about to write the job', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, app_id, taskOf);
    const [old, young] = [uuidV7({ msecs: Date.now() - 11 * 60_000 }), uuidV7()];
    for (const id of [old, young]) await storage.write(INDEX, `${app_id}/open/${id}`, null, undefined);
    expect(await jobs.unfinished()).toEqual([]);
    expect(await storage.listKeys(INDEX, { prefix: `${app_id}/open/` })).toEqual([`${app_id}/open/${young}`]);
  });
});

describe('a write', () => {
  it('is repeated after a conflict, even one of another copy of the package', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, app_id, taskOf);
    await jobs.create(aJob(1, 'QUEUED'));
    const { write } = storage;
    let conflicts = 0;
    storage.write = async (collection, key, ...rest) => {
      if (collection === 'jobs' && conflicts < 2) {
        conflicts += 1;
        throw aVersionConflictOfAnotherCopy(collection, key);
      }
      return write.call(storage, collection, key, ...rest);
    };
    expect((await jobs.update(idOf(1), (job) => moved(job, 'RUNNING'))).status).toBe('RUNNING');
    expect(conflicts).toBe(2);
  });

  it('is left out if nothing changes', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, app_id, taskOf);
    const { job } = await jobs.create(aJob(1, 'QUEUED'));
    storage.write = () => expect.fail('a write');
    expect(await jobs.update(idOf(1), (found) => found)).toEqual(job);
  });

  it('that fails at any point, whether or not it is repeated, leaves listings right', async () => {
    const step = fc.record({
      n: fc.nat(6),
      status: fc.constantFrom('READY', 'ERROR', 'CANCELLED', 'DELETED', 'RUNNING', 'QUEUED'),
      failsAt: fc.option(fc.nat(6)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const storage = memoryStorage();
        for (const { n, status, failsAt } of steps) {
          const flaky = failsAt === null ? storage : failingAt(storage, failsAt);
          const jobs = new JobRepository(flaky, app_id, taskOf);
          await advance(jobs, n, status).catch(() => undefined);
        }
        const jobs = new JobRepository(storage, app_id, taskOf);
        const all = await allJobs(storage);
        for (const filter of everyFilter) {
          expect(ids((await jobs.page({ ...filter, limit: 100 })).data)).toEqual(ids(asked(all, filter)));
        }
        const unfinished = all.filter(({ status }) => ['CREATED', 'QUEUED', 'RUNNING'].includes(status));
        expect(ids(await jobs.unfinished())).toEqual(ids(unfinished).reverse());
      }),
      { numRuns: 200 },
    );
  });
});

describe('the index', () => {
  it('is not written for an account without jobs', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, app_id, taskOf);
    expect((await jobs.page({})).data).toEqual([]);
    expect(await jobs.countWaiting()).toBe(0);
    expect(await storage.list(INDEX)).toEqual([]);
  });

  it('has keys that fit, whatever the account is called', async () => {
    const storage = memoryStorage();
    const jobs = new JobRepository(storage, '%'.repeat(50), taskOf);
    await jobs.create(aJob(1, 'RUNNING'));
    for (const status of ['READY', 'DELETED'] as const) await jobs.update(idOf(1), (job) => moved(job, status));
    expect(ids((await jobs.page({ trainingStatus: 'DELETED' })).data)).toEqual([idOf(1)]);
  });
});

/** Jobs of every status and type, of one account beside another's. */
async function manyJobs() {
  const storage = memoryStorage();
  const jobs = new JobRepository(storage, app_id, taskOf);
  let n = 0;
  for (let round = 0; round < 3; round += 1) {
    for (const status of trainingJobStatuses) {
      for (const type of types) {
        n += 1;
        await jobs.create(aJob(n, status, type));
      }
    }
  }
  await new JobRepository(storage, `${app_id}2`, taskOf).create(aJob(n + 1, 'RUNNING'));
  return { storage, jobs, all: await allJobs(storage) };
}

/** Straight from the records, newest first. */
async function allJobs(storage: Storage): Promise<JobRecord[]> {
  const records = await storage.list('jobs', { prefix: `${app_id}/`, limit: 10_000, reverse: true });
  const repository = new JobRepository(storage, app_id, taskOf);
  return Promise.all(records.map(({ key }) => repository.get(key.slice(app_id.length + 1))));
}

function asked(jobs: readonly JobRecord[], { trainingStatus, modelType }: ListFilter): JobRecord[] {
  const task = (type: string) => type.replace('sequence-labeling', 'named-entity-recognition');
  return jobs.filter(
    ({ status, model_config }) =>
      (trainingStatus === undefined ? status !== 'DELETED' : status === trainingStatus) &&
      (modelType === undefined || task(model_config.type) === task(modelType)),
  );
}

/** Creates job n where it is absent, else takes it where it can go. */
async function advance(jobs: JobRepository, n: number, status: JobRecord['status']): Promise<void> {
  const type = types[n % types.length];
  if ((await jobs.find(idOf(n))) === undefined) await jobs.create(aJob(n, 'CREATED', type));
  else await jobs.update(idOf(n), (job) => moved(job, status));
}
