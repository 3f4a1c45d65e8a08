import { describe, expect, it } from 'vitest';
import { taskOf } from '../../src/families/index.js';
import { timestamp } from '../../src/jobs/clock.js';
import { EmbeddedQueue } from '../../src/jobs/embedded-queue.js';
import { type JobQueue, JobRepository, newJobRecord } from '../../src/jobs/index.js';
import { LOOK_FOR_JOBS_MS } from '../../src/jobs/job-control.js';
import { HEARTBEAT_MS } from '../../src/jobs/one-job-per-account.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, statusOf } from './builders.js';
import { ManualClock } from './manual-clock.js';
import { aRequest } from './request.js';

/** A queue that notes what it is asked. */
function aQueue(storage = aMemoryStorage()) {
  const asked: string[] = [];
  const embedded = new EmbeddedQueue(storage, new ManualClock());
  const queue: JobQueue = {
    specificationVersion: 1,
    add(job) {
      asked.push('add');
      return embedded.add(job);
    },
    cancel(job) {
      asked.push('cancel');
      return embedded.cancel(job);
    },
    work(app_id, handler) {
      asked.push(`work for ${app_id}`);
      return embedded.work(app_id, handler);
    },
    async close() {
      asked.push('close');
      await embedded.close();
    },
  };
  return { queue, asked, storage };
}

describe('a trainer with a queue of the application', () => {
  it('runs and cancels its jobs by it, and leaves it open', async () => {
    const { queue, asked, storage } = aQueue();
    const { trainer, host } = aTrainer({ queue, storage });
    const id = await createJob(trainer);
    await host.nextRun();
    await resultOf(trainer.cancelTrainingJob(id));
    await trainer.close();
    expect(asked).toEqual(['work for local', 'add', 'cancel']);
  });

  it('tells it of every job that has not ended, which it may have lost', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const [running, waiting] = [await createJob(first.trainer), await createJob(first.trainer)];
    await first.host.nextRun();
    await first.trainer.close();
    const { host, trainer } = aTrainer({ storage, queue: aQueue(storage).queue });
    const run = await host.nextRun();
    expect(run.spec.id).toBe(running);
    await run.finish();
    expect((await host.nextRun()).spec.id).toBe(waiting);
    expect(await statusOf(trainer, running)).toBe('READY');
  });

  it('tells it within ten minutes of a job whose process died before it could, also where others run the jobs', async () => {
    const { queue, storage } = aQueue();
    const { trainer, clock } = aTrainer({ storage, queue, runsJobs: false });
    await resultOf(trainer.listTrainingJobs());
    const id = '0190a6f0-0000-7000-8000-000000000001';
    const job = newJobRecord(aRequest, { id, app_id: 'local', created: timestamp(clock.now()), seed: 0 });
    await new JobRepository(storage, 'local', taskOf).create(job);
    await clock.advance(LOOK_FOR_JOBS_MS - HEARTBEAT_MS);
    expect(await statusOf(trainer, id)).toBe('CREATED');
    await clock.advance(HEARTBEAT_MS);
    expect(await statusOf(trainer, id)).toBe('QUEUED');
    const { host } = aTrainer({ storage, queue });
    expect((await host.nextRun()).spec.id).toBe(id);
  });

  it('creates jobs while it fails, and gets them once it works again', async () => {
    const { queue, storage } = aQueue();
    const { add } = queue;
    queue.add = () => Promise.reject(new Error('no connection'));
    const { trainer, clock } = aTrainer({ queue, storage, runsJobs: false });
    const id = await createJob(trainer);
    await clock.advance(HEARTBEAT_MS);
    expect(await statusOf(trainer, id)).toBe('CREATED');
    queue.add = add;
    await clock.advance(HEARTBEAT_MS);
    expect(await statusOf(trainer, id)).toBe('QUEUED');
    const { host } = aTrainer({ queue, storage });
    expect((await host.nextRun()).spec.id).toBe(id);
  });

  it('fails a cancellation that it could not tell of, which may be asked for again', async () => {
    const { queue, storage } = aQueue();
    const { cancel } = queue;
    queue.cancel = () => Promise.reject(new Error('no connection'));
    const { trainer, host } = aTrainer({ queue, storage });
    const id = await createJob(trainer);
    await host.nextRun();
    const refused = await trainer.cancelTrainingJob(id);
    expect(refused._unsafeUnwrapErr()).toMatchObject({ code: 'storage', message: 'no connection' });
    queue.cancel = cancel;
    await resultOf(trainer.cancelTrainingJob(id));
    expect(await statusOf(trainer, id)).toBe('CANCELLED');
  });

  it('cancels a waiting job though the queue can not be told', async () => {
    const { queue, storage } = aQueue();
    queue.cancel = () => Promise.reject(new Error('no connection'));
    const { trainer, host } = aTrainer({ queue, storage });
    await createJob(trainer);
    const run = await host.nextRun();
    const [waiting, last] = [await createJob(trainer), await createJob(trainer)];
    await resultOf(trainer.cancelTrainingJob(waiting));
    await run.finish();
    expect((await host.nextRun()).spec.id).toBe(last);
    expect(await statusOf(trainer, waiting)).toBe('CANCELLED');
  });
});

describe('a trainer that runs no jobs', () => {
  it('creates and cancels jobs, which another trainer of the account runs', async () => {
    const storage = aMemoryStorage();
    const { trainer, host, clock } = aTrainer({ storage, runsJobs: false });
    const [id, other] = [await createJob(trainer), await createJob(trainer)];
    await clock.advance(HEARTBEAT_MS);
    expect(await statusOf(trainer, id)).toBe('QUEUED');
    const running = aTrainer({ storage });
    const run = await running.host.nextRun();
    expect(run.spec.id).toBe(id);
    await resultOf(trainer.cancelTrainingJob(other));
    const ready = resultOf(trainer.waitForTrainingJob(id));
    await run.finish();
    await resultOf(running.trainer.waitForTrainingJob(id));
    await clock.advance(HEARTBEAT_MS);
    expect((await ready).status).toBe('READY');
    expect(host.runs).toEqual([]);
  });
});
