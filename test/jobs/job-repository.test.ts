import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ListFilter, trainingJobStatuses } from '../../src/contract/index.js';
import { taskOf } from '../../src/families/index.js';
import { type JobRecord, JobRepository, moved } from '../../src/jobs/index.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { aVersionConflictOfAnotherCopy } from '../storage/another-copy.js';
import { writeOldStorage } from '../storage/old-storage.js';
import { aDirectory } from '../storage/temporary-place.js';
import { failureOf } from '../support/outcomes.js';
import { aJob, app_id, aStorageWithoutIndex, INDEX, idOf, ids, types } from './some-jobs.js';
import { countReads, failingAt, withPauses } from './storages.js';

const everyFilter: ListFilter[] = [undefined, ...trainingJobStatuses].flatMap((trainingStatus) =>
  [undefined, ...types].map((modelType) => ({
    ...(trainingStatus && { trainingStatus }),
    ...(modelType && { modelType }),
  })),
);

describe('a page of jobs', () => {
  it.each(everyFilter)(
    'has, page by page, those that the filter %j asks for, newest first',
    async (filter) => {
      const { jobs, all } = await manyJobs();
      const found: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await jobs.page({ ...filter, limit: 7, ...(cursor && { cursor }) });
        found.push(...ids(page.data));
        cursor = page.pagination.next_cursor;
      }
      expect(found).toEqual(ids(asked(all, filter)));
    },
  );

  it('reads no job that the filter does not ask for', async () => {
    const { jobs, storage } = await manyJobs();
    await jobs.page({}); // once, it looks whether the index is there
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

describe('jobs of a release without an index', () => {
  it('are listed and counted, and from then on by the index', async () => {
    const { storage, all } = await aStorageWithoutIndex(250);
    const jobs = new JobRepository(storage, app_id, taskOf);
    for (const filter of everyFilter) {
      expect(ids((await jobs.page({ ...filter, limit: 100 })).data)).toEqual(
        ids(asked(all, filter)).slice(0, 100),
      );
    }
    const reads = countReads(storage);
    await new JobRepository(storage, app_id, taskOf).page({ trainingStatus: 'ERROR', limit: 1 });
    expect(reads.jobs).toBeLessThanOrEqual(2);
  });

  it('are indexed by several processes at once, while they change', async () => {
    const { storage, all } = await aStorageWithoutIndex(60);
    const slow = withPauses(storage);
    const running = all.filter(({ status }) => status === 'RUNNING');
    const changing = new JobRepository(slow, app_id, taskOf);
    await Promise.all([
      new JobRepository(slow, app_id, taskOf).page({}),
      new JobRepository(slow, app_id, taskOf).unfinished(),
      ...running.map(({ id }) => changing.update(id, (job) => moved(job, 'READY'))),
    ]);
    const now = await allJobs(storage);
    const jobs = new JobRepository(storage, app_id, taskOf);
    for (const filter of everyFilter) {
      expect(ids((await jobs.page({ ...filter, limit: 100 })).data)).toEqual(ids(asked(now, filter)));
    }
  });

  it('are indexed again if indexing was interrupted', async () => {
    const { storage, all } = await aStorageWithoutIndex(60);
    for (const at of [0, 1, 40, 100]) {
      const broken = new JobRepository(failingAt(storage, at), app_id, taskOf);
      await failureOf('storage', () => broken.page({}));
    }
    const jobs = new JobRepository(storage, app_id, taskOf);
    expect(ids((await jobs.page({ limit: 100 })).data)).toEqual(ids(asked(all, {})));
  });

  it('are indexed once the storage works again, by the same repository', async () => {
    const { storage, all } = await aStorageWithoutIndex(5);
    const flaky = failingAt(storage, 2);
    const jobs = new JobRepository(flaky, app_id, taskOf);
    await failureOf('storage', () => jobs.page({}));
    expect(ids((await jobs.page({})).data)).toEqual(ids(asked(all, {})));
  });

  it('are indexed before the first new one is written', async () => {
    const { storage, all } = await aStorageWithoutIndex(5);
    await new JobRepository(storage, app_id, taskOf).create(aJob(900, 'CREATED'));
    const { data } = await new JobRepository(storage, app_id, taskOf).page({});
    expect(ids(data)).toEqual([idOf(900), ...ids(asked(all, {}))]);
  });
});

describe('jobs in a directory of layout 1', () => {
  it('are listed, counted, and taken on to their ends', async () => {
    const directory = await aDirectory();
    const { all } = await aStorageWithoutIndex(30);
    const oldRecords = all.map((job) => ({
      key: `${app_id}/${job.id}`,
      file: `${app_id}%2f${job.id}.json`,
      value: JSON.parse(JSON.stringify(job)),
    }));
    await writeOldStorage(directory, 'jobs', oldRecords);
    const jobs = new JobRepository(fileStorage(directory), app_id, taskOf);
    expect(ids((await jobs.page({ limit: 100 })).data)).toEqual(ids(asked(all, {})));
    const unfinished = await jobs.unfinished();
    expect(unfinished).toHaveLength(10);
    for (const { id } of unfinished) await jobs.update(id, (job) => ({ ...job, status: 'CANCELLED' }));
    const { data } = await new JobRepository(fileStorage(directory), app_id, taskOf).page({
      trainingStatus: 'CANCELLED',
    });
    expect(data).toHaveLength(15);
    expect(await jobs.countWaiting()).toBe(0);
  });
});

describe('the index', () => {
  it('is built anew if the collection was removed', async () => {
    const { jobs, storage, all } = await manyJobs();
    await jobs.page({});
    for (const { key } of await storage.list(INDEX, { limit: 10_000 })) await storage.remove(INDEX, key);
    expect(ids((await new JobRepository(storage, app_id, taskOf).page({ limit: 100 })).data)).toEqual(
      ids(asked(all, {})),
    );
  });

  it('of a later release is refused, and says what to do', async () => {
    const { storage } = await manyJobs();
    const key = `${app_id}/version`;
    const found = await storage.read(INDEX, key);
    await storage.write(INDEX, key, 2, found?.version);
    const jobs = new JobRepository(storage, app_id, taskOf);
    const error = await failureOf('storage', () => jobs.page({}));
    expect(error.message).toContain(`record ${INDEX}/${key} has version 2`);
    expect(error.message).toContain(`remove the collection ${INDEX}`);
  });

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
    for (const status of ['READY', 'DELETED'] as const)
      await jobs.update(idOf(1), (job) => moved(job, status));
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
