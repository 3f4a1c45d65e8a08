import { describe, expect, it, onTestFinished } from 'vitest';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { aMemoryStorage, aTrainer, errorOf, statusOf } from '../jobs/builders.js';
import { ManualClock } from '../jobs/manual-clock.js';
import { aRequest } from '../jobs/request.js';
import { withPauses } from '../jobs/storages.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const HOUR = 60 * 60_000;
const idempotencyKey = 'order 66 / retry';

describe.each([
  ['memoryStorage', () => withPauses(aMemoryStorage())],
  ['fileStorage', () => aFileStorage()],
])('an idempotency key over %s', (_, create) => {
  it('gives one job for requests at the same time, from two processes', async () => {
    const storage = create();
    const trainers = [aTrainer({ storage }), aTrainer({ storage }), aTrainer({ storage, maxWaitingJobs: 1 })];
    const calls = Array.from({ length: 12 }, (_, n) =>
      resultOf((trainers[n % 3] ?? aTrainer()).trainer.createTrainingJob(aRequest, { idempotencyKey })),
    );
    const ids = new Set((await Promise.all(calls)).map(({ id }) => id));
    expect(ids.size).toBe(1);
    const listed = await resultOf((trainers[0] ?? aTrainer()).trainer.listTrainingJobs());
    expect(listed.data.map(({ model }) => model.id)).toEqual([...ids]);
  });

  it('gives the same job after a restart', async () => {
    const storage = create();
    const first = aTrainer({ storage });
    const { id } = await resultOf(first.trainer.createTrainingJob(aRequest, { idempotencyKey }));
    await first.trainer.close();
    const again = aTrainer({ storage });
    expect(await resultOf(again.trainer.createTrainingJob(aRequest, { idempotencyKey }))).toEqual({ id });
  });
});

function aFileStorage(): Storage {
  const storage = fileStorage(temporaryDirectory());
  onTestFinished(() => storage.close());
  return storage;
}

describe('an idempotency key', () => {
  it('gives the same job for the same request in other words: its fields in another order', async () => {
    const { trainer } = aTrainer();
    const { id } = await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }));
    const { name, type, family, size } = aRequest.model_config;
    const reordered = { model_config: { size, family, type, name }, dataset_url: aRequest.dataset_url };
    expect(await resultOf(trainer.createTrainingJob(reordered, { idempotencyKey }))).toEqual({ id });
  });

  it('refuses another request, and names the key and its job', async () => {
    const { trainer } = aTrainer();
    const { id } = await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }));
    const other = { ...aRequest, training_config: { num_epochs: 3 } };
    const error = await errorOf(trainer.createTrainingJob(other, { idempotencyKey }));
    expect(error).toMatchObject({ problems: [{ loc: ['idempotencyKey'], type: 'idempotency_key' }] });
    expect(error.message).toContain(idempotencyKey);
    expect(error.message).toContain(id);
    expect((await resultOf(trainer.listTrainingJobs())).data).toHaveLength(1);
  });

  it('is forgotten after 24 hours', async () => {
    const { trainer, clock } = aTrainer();
    const first = await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }));
    clock.jump(23 * HOUR);
    expect(await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }))).toEqual(first);
    clock.jump(1 * HOUR);
    const other = { ...aRequest, training_config: { num_epochs: 3 } };
    const second = await resultOf(trainer.createTrainingJob(other, { idempotencyKey }));
    expect(second).not.toEqual(first);
  });

  it('is of one account, and without one each call creates a job', async () => {
    const storage = aMemoryStorage();
    const ids = new Set<string>();
    for (const app_id of ['one', 'two']) {
      const { trainer } = aTrainer({ storage, account: { app_id, tier: 'pro' } });
      ids.add((await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }))).id);
      ids.add((await resultOf(trainer.createTrainingJob(aRequest))).id);
      ids.add((await resultOf(trainer.createTrainingJob(aRequest))).id);
    }
    expect(ids.size).toBe(6);
  });

  it('creates the job with the next try where the first died in between, or failed', async () => {
    const storage = aMemoryStorage();
    const clock = new ManualClock();
    const first = aTrainer({ storage, clock });
    const { write } = storage;
    storage.write = (collection, ...rest) =>
      collection === 'jobs' ? Promise.reject(new Error('killed')) : write.call(storage, collection, ...rest);
    await errorOf(first.trainer.createTrainingJob(aRequest, { idempotencyKey }));
    storage.write = write;
    const again = aTrainer({ storage, clock });
    const { id } = await resultOf(again.trainer.createTrainingJob(aRequest, { idempotencyKey }));
    expect(await statusOf(again.trainer, id)).not.toBe('CREATED');
    expect(await resultOf(first.trainer.createTrainingJob(aRequest, { idempotencyKey }))).toEqual({ id });
  });

  it('gives the job that it created, also when that has ended', async () => {
    const { trainer } = aTrainer();
    const { id } = await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }));
    await resultOf(trainer.deleteModel(id));
    expect(await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey }))).toEqual({ id });
    expect(await statusOf(trainer, id)).toBe('DELETED');
  });

  it.each(['', 'x'.repeat(256)])('is 1 to 255 characters, not %j', async (idempotencyKey) => {
    const { trainer } = aTrainer();
    const error = await errorOf(trainer.createTrainingJob(aRequest, { idempotencyKey }));
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['idempotencyKey'] }] });
  });

  it('keeps few records, however many keys there were', async () => {
    const { trainer, clock, storage } = aTrainer({ maxWaitingJobs: 10_000 });
    for (let n = 0; n < 60; n += 1) {
      await resultOf(trainer.createTrainingJob(aRequest, { idempotencyKey: `key ${n % 2}` }));
      clock.jump(25 * HOUR);
    }
    const records = await storage.list('job-requests');
    expect(records.length).toBeLessThanOrEqual(2);
    expect(JSON.stringify(records).length).toBeLessThan(1000);
  });
});
