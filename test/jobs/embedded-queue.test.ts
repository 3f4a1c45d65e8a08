import { v7 as uuidV7 } from 'uuid';
import { describe, expect, it, vi } from 'vitest';
import { accountKey, JOB_LEASES } from '../../src/jobs/account-records.js';
import { timestamp } from '../../src/jobs/clock.js';
import { EmbeddedQueue } from '../../src/jobs/embedded-queue.js';
import {
  hasEnded,
  type JobHandler,
  type JobLease,
  type JobOutcome,
  type JobQueue,
  JobRepository,
  type JobWorker,
  moved,
  newJobRecord,
  type QueuedJob,
} from '../../src/jobs/index.js';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/jobs/one-job-per-account.js';
import { memoryStorage, type Storage } from '../../src/storage/index.js';
import { type CreateStorage, type JobQueueMedium, jobQueueContract } from '../../src/testing.js';
import { temporaryFileStorage } from '../storage/temporary-place.js';
import { ManualClock } from './manual-clock.js';
import { aRequest } from './request.js';
import { bound } from './storages.js';

/** The embedded queue with the job records that a trainer writes, from which it knows what is to be run. */
class QueueWithRecords implements JobQueue {
  readonly specificationVersion = 1;
  readonly #queue: EmbeddedQueue;

  constructor(
    readonly storage: Storage,
    clock: ManualClock,
  ) {
    this.#queue = new EmbeddedQueue(storage, clock);
  }

  async add({ app_id, id }: QueuedJob): Promise<void> {
    const jobs = this.#jobs(app_id);
    const job = newJobRecord(aRequest, { id, app_id, created: timestamp(0), seed: 0 });
    if ((await jobs.find(id)) === undefined) await jobs.create(moved(job, 'QUEUED'));
    await this.#queue.add({ app_id, id });
  }

  async cancel({ app_id, id }: QueuedJob): Promise<void> {
    const jobs = this.#jobs(app_id);
    const job = await jobs.find(id);
    if (job !== undefined && !hasEnded(job.status)) {
      await jobs.update(id, (job) =>
        job.status === 'RUNNING' ? { ...job, cancel_requested: true } : moved(job, 'CANCELLED'),
      );
    }
    await this.#queue.cancel({ app_id, id });
  }

  work(app_id: string, handler: JobHandler): JobWorker {
    const jobs = this.#jobs(app_id);
    return this.#queue.work(app_id, async (lease) => {
      await jobs.update(lease.id, (job) => (job.status === 'RUNNING' ? job : moved(job, 'RUNNING')));
      const outcome = await handler(lease);
      if (outcome === 'ended') await jobs.update(lease.id, (job) => moved(job, 'READY'));
      return outcome;
    });
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  #jobs(app_id: string): JobRepository {
    return new JobRepository(this.storage, app_id);
  }
}

/** A storage, and for each queue on it a clock that the suite advances while the queue lives. */
async function aMedium(createStorage: CreateStorage): Promise<JobQueueMedium> {
  const storage = await createStorage();
  const clocks = new Map<JobQueue, ManualClock>();
  const queues: JobQueue[] = [];
  let elapsedMs = 0;
  return {
    open() {
      const clock = new ManualClock();
      clock.jump(elapsedMs);
      const queue = new QueueWithRecords(storage, clock);
      clocks.set(queue, clock);
      queues.push(queue);
      return queue;
    },
    suspend: (queue) => void clocks.delete(queue),
    async elapse() {
      for (let passedMs = 0; passedMs <= LEASE_MS; passedMs += HEARTBEAT_MS) {
        for (const clock of clocks.values()) await clock.advance(HEARTBEAT_MS);
        elapsedMs += HEARTBEAT_MS;
      }
    },
    async close() {
      for (const queue of queues) await queue.close();
      await storage.close();
    },
  };
}

describe.each([
  ['memoryStorage', memoryStorage],
  ['fileStorage', temporaryFileStorage],
])('the embedded queue over %s', (_, createStorage) => {
  for (const { name, run } of jobQueueContract(() => aMedium(createStorage))) it(name, run);
});

it('tells a handler nothing more once it has returned', async () => {
  const account = 'an account';
  const storage = bound(await memoryStorage());
  const clock = new ManualClock();
  const queue = new QueueWithRecords(storage, clock);
  let end: (outcome: JobOutcome) => void = () => undefined;
  const handed = new Promise<JobLease>((resolve) => {
    queue.work(account, (lease) => {
      resolve(lease);
      return new Promise((returned) => {
        end = returned;
      });
    });
  });
  await queue.add({ app_id: account, id: uuidV7() });
  const lease = await handed;
  const { read } = storage;
  storage.read = async (collection, key) => {
    storage.read = read; // only the heartbeat's first reading is held up
    end('ended');
    await vi.waitFor(async () => {
      expect((await read(JOB_LEASES, accountKey(account)))?.value).toMatchObject({ holder: null });
    });
    return read(collection, key);
  };
  await clock.advance(HEARTBEAT_MS);
  expect(lease.stopReason).toBeUndefined();
  expect(lease.signal.aborted).toBe(false);
  await queue.close();
});
