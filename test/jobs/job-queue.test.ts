import { describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/jobs/one-job-per-account.js';
import { fileStorage } from '../../src/storage/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aSuccessor, aTrainer, createJob, nextWrite, outlastLeases, statusOf } from './builders.js';
import { type FakeRun, statsAfter } from './fake-host.js';
import { ManualClock } from './manual-clock.js';

/** JSON has no such number: it would come back as null. */
const unreadableStats = { ...statsAfter(1), best_eval_metric_value: Number.NaN };

describe('the queue of an account', () => {
  it('keeps a second job QUEUED until the first ends', async () => {
    const { trainer, host } = aTrainer();
    const first = await createJob(trainer);
    const second = await createJob(trainer);
    const run = await host.nextRun();
    expect(run.spec.id).toBe(first);
    expect(await statusOf(trainer, second)).toBe('QUEUED');
    await run.finish();
    expect((await host.nextRun()).spec.id).toBe(second);
    expect(await statusOf(trainer, first)).toBe('READY');
    expect(await statusOf(trainer, second)).toBe('RUNNING');
  });

  it('runs jobs in the order of their creation, whatever ends the one before', async () => {
    const { trainer, host } = aTrainer();
    const ids = [];
    for (let count = 0; count < 4; count += 1) ids.push(await createJob(trainer));
    const [, second] = ids;
    const order: string[] = [];
    for (const end of ['finish', 'cancel', 'fail', 'finish']) {
      const run = await host.nextRun();
      order.push(run.spec.id);
      if (end === 'finish') await run.finish();
      if (end === 'fail') run.fail(new TrainingError('training diverged'));
      if (end === 'cancel' && second !== undefined) await resultOf(trainer.cancelTrainingJob(second));
    }
    expect(order).toEqual(ids);
    expect(host.mostTogether).toBe(1);
  });

  it('runs jobs of two accounts on one storage at the same time', async () => {
    const storage = aMemoryStorage();
    for (const app_id of ['one', 'two']) {
      const { trainer, host } = aTrainer({ storage, account: { app_id, tier: 'basic' } });
      const id = await createJob(trainer);
      expect((await host.nextRun()).spec.id).toBe(id);
    }
  });

  it.each<[string, (run: FakeRun) => Promise<void> | void]>([
    ['after an epoch', (run) => run.emit({ type: 'epoch', stats: unreadableStats })],
    ['at the end', (run) => run.finish(unreadableStats)],
  ])('makes the job ERROR whose figures %s no record can hold, and goes on', async (_, tell) => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    await tell(await host.nextRun());
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.status).toBe('ERROR');
    expect(job.error?.code).toBe('internal');
    expect(job.error?.message).toContain('stats.best_eval_metric_value');
    const next = await createJob(trainer);
    expect((await host.nextRun()).spec.id).toBe(next);
  });

  it('runs one job of an account at a time over all its trainers', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const second = aTrainer({ storage });
    await createJob(first.trainer);
    const run = await first.host.nextRun();
    const waiting = await createJob(second.trainer);
    await second.clock.advance(HEARTBEAT_MS);
    expect(await statusOf(second.trainer, waiting)).toBe('QUEUED');
    expect(second.host.runs).toEqual([]);
    await run.finish();
    expect((await first.host.nextRun()).spec.id).toBe(waiting);
  });
});

describe('a trainer that starts', () => {
  it('runs again a job that a dead process left RUNNING, in the same staged folder', async () => {
    const directory = await aDirectory();
    const dead = aTrainer({ storage: fileStorage(directory), seed: 5 });
    const id = await createJob(dead.trainer);
    const started = await dead.host.nextRun();

    const { trainer, host } = await aSuccessor({ storage: fileStorage(directory), seed: 6 });
    const run = await host.nextRun();
    expect(run.spec).toMatchObject({ id, directory: started.spec.directory, seed: 5 });
    expect(await statusOf(trainer, id)).toBe('RUNNING');
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('leaves a RUNNING job alone while its lease is renewed, and takes it when it expires', async () => {
    const storage = aMemoryStorage();
    const clock = new ManualClock();
    const owner = aTrainer({ storage, clock });
    const id = await createJob(owner.trainer);
    await owner.host.nextRun();
    const otherClock = new ManualClock();
    const other = aTrainer({ storage, clock: otherClock });
    for (let minutes = 0; minutes < 3; minutes += 1) {
      await clock.advance(LEASE_MS - 1);
      await otherClock.advance(LEASE_MS - 1);
    }
    expect(other.host.runs).toEqual([]);
    await otherClock.advance(LEASE_MS);
    expect((await other.host.nextRun()).spec.id).toBe(id);
  });

  it('takes up a job of a process that dies later', async () => {
    const storage = aMemoryStorage();
    const { trainer, host, clock } = aTrainer({ storage });
    await resultOf(trainer.listModels());
    const dying = aTrainer({ storage });
    const id = await createJob(dying.trainer);
    await dying.host.nextRun();
    await outlastLeases(clock);
    expect((await host.nextRun()).spec.id).toBe(id);
  });

  it('stops a run whose lease was taken over, and leaves its job to the new holder', async () => {
    const storage = aMemoryStorage();
    const suspended = aTrainer({ storage });
    const id = await createJob(suspended.trainer);
    const lost = await suspended.host.nextRun();
    const { trainer, host } = await aSuccessor({ storage });
    const run = await host.nextRun();
    await suspended.clock.advance(HEARTBEAT_MS);
    expect(lost.options.signal.aborted).toBe(true);
    expect(await statusOf(trainer, id)).toBe('RUNNING');
    await run.finish(statsAfter(4));
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
    lost.emit({ type: 'epoch', stats: statsAfter(1) });
    await suspended.clock.advance(0);
    expect((await resultOf(trainer.getTrainingJob(id))).training_stats.epoch).toBe(4);
  });

  it.each<[string, (run: FakeRun) => Promise<void> | void]>([
    ['finishes', (run) => run.finish()],
    ['fails', (run) => run.fail(new TrainingError('training diverged'))],
  ])('records and publishes nothing of a run that %s after its lease was taken over', async (_, end) => {
    const storage = aMemoryStorage();
    const suspended = aTrainer({ storage });
    const id = await createJob(suspended.trainer);
    const lost = await suspended.host.nextRun();
    const { trainer, host } = await aSuccessor({ storage });
    await host.nextRun();
    await end(lost);
    await suspended.trainer.close();
    expect(await statusOf(trainer, id)).toBe('RUNNING');
    expect(await storage.openFolder(id)).toBeUndefined();
  });

  it('runs the jobs that were left QUEUED, and queues those left CREATED', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    const first = aTrainer({ storage });
    const running = await createJob(first.trainer);
    await first.host.nextRun();
    const queued = await createJob(first.trainer);
    const { write } = storage;
    storage.write = (collection, key, value, expected) =>
      expected === undefined
        ? write.call(storage, collection, key, value, expected)
        : Promise.reject(new Error('the disk is full'));
    const created = await createJob(first.trainer);
    expect(await statusOf(first.trainer, created)).toBe('CREATED');
    storage.write = write;
    await first.trainer.close();

    const { trainer, host } = aTrainer({ storage: fileStorage(directory) });
    const run = await host.nextRun();
    expect(run.spec.id).toBe(running);
    expect(await statusOf(trainer, queued)).toBe('QUEUED');
    expect(await statusOf(trainer, created)).toBe('QUEUED');
    await run.finish();
    const next = await host.nextRun();
    expect(next.spec.id).toBe(queued);
    await next.finish();
    expect((await host.nextRun()).spec.id).toBe(created);
  });

  it('makes READY a job whose folder was published by a process that died right after', async () => {
    const storage = aMemoryStorage();
    const dead = aTrainer({ storage });
    const id = await createJob(dead.trainer);
    await dead.host.nextRun();
    await storage.publishFolder(id);
    const { trainer, host } = await aSuccessor({ storage });
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
    expect(host.runs).toEqual([]);
    expect(await storage.openFolder(id)).toBeDefined();
  });

  it('cancels what a dead process was asked to cancel', async () => {
    const storage = aMemoryStorage();
    const dead = aTrainer({ storage });
    const id = await createJob(dead.trainer);
    await dead.host.nextRun();
    const clock = new ManualClock();
    const { trainer, host } = aTrainer({ storage, clock });
    const requested = nextWrite(storage, 'jobs');
    const cancelling = trainer.cancelTrainingJob(id);
    await requested;
    await outlastLeases(clock);
    await resultOf(cancelling);
    expect(await statusOf(trainer, id)).toBe('CANCELLED');
    expect(host.runs).toEqual([]);
  });
});

describe('a job that another trainer runs', () => {
  it('is cancelled there, and told here', async () => {
    const storage = aMemoryStorage();
    const owner = aTrainer({ storage });
    const id = await createJob(owner.trainer);
    const run = await owner.host.nextRun();
    const { trainer, clock } = aTrainer({ storage });
    const waiting = trainer.waitForTrainingJob(id);
    const requested = nextWrite(storage, 'jobs');
    const cancelling = trainer.cancelTrainingJob(id);
    await requested;
    await owner.clock.advance(HEARTBEAT_MS);
    expect(run.options.signal.aborted).toBe(true);
    await resultOf(owner.trainer.waitForTrainingJob(id));
    await clock.advance(HEARTBEAT_MS);
    await resultOf(cancelling);
    expect((await resultOf(waiting)).status).toBe('CANCELLED');
  });
});
