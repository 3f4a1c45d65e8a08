import { describe, expect, it } from 'vitest';
import { Predictor } from '../../src/inference/index.js';
import { listUnusedModels, ModelUses, removeUnusedModels } from '../../src/jobs/index.js';
import { withInternals } from '../../src/jobs/trainer-options.js';
import type { Storage } from '../../src/storage/index.js';
import { aMemoryStorage, aTrainer, createJob, errorOf, statusOf } from '../jobs/builders.js';
import { ManualClock } from '../jobs/manual-clock.js';
import { resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';

const DAY = 24 * 60 * 60_000;
const local = 'local';

/** Models that are READY now. The files have the real time, so the clock begins there. */
async function readyModels(
  count: number,
  options: { storage?: Storage; account?: { app_id: string; tier: 'pro' } } = {},
) {
  const made = aTrainer({ ...options, clock: new ManualClock(Date.now()) });
  const ids = [];
  for (let n = 0; n < count; n += 1) {
    ids.push(await createJob(made.trainer));
    await (await made.host.nextRun()).finish();
    await made.trainer.waitForTrainingJob(ids.at(-1) ?? '');
  }
  return {
    ...made,
    ids,
    uses: new ModelUses(made.storage, options.account?.app_id ?? local, () => made.clock.now()),
  };
}

function idsOf(unused: readonly { model: { id: string } }[]): string[] {
  return unused.map(({ model }) => model.id);
}

describe('listUnusedModels', () => {
  it('has what nobody has asked for more than the days, counted from when it was READY', async () => {
    const { trainer, clock, uses, ids } = await readyModels(2);
    clock.jump(29 * DAY);
    expect(await resultOf(trainer.listUnusedModels())).toEqual([]);
    uses.note(ids[0] ?? '');
    await uses.flush();
    clock.jump(2 * DAY);
    const [unused] = await resultOf(trainer.listUnusedModels());
    expect(unused).toMatchObject({
      model: { id: ids[1], training_status: 'READY' },
      bytes: 'weights'.length,
    });
    expect(Date.parse(unused?.unused_since ?? '')).toBeLessThan(clock.now() - 30 * DAY);
    expect(idsOf(await resultOf(trainer.listUnusedModels({ days: 1 })))).toEqual([...ids].reverse());
    expect(await resultOf(trainer.listUnusedModels({ days: 32 }))).toEqual([]);
  });

  it('leaves out jobs that are no READY model', async () => {
    const { trainer, host, clock } = await readyModels(0);
    const running = await createJob(trainer);
    await host.nextRun();
    await createJob(trainer);
    clock.jump(100 * DAY);
    expect(await resultOf(trainer.listUnusedModels())).toEqual([]);
    expect(await statusOf(trainer, running)).toBe('RUNNING');
  });

  it('counts a model of a release that tracked no uses from the first look', async () => {
    const { trainer, clock, uses, ids } = await readyModels(1);
    await uses.forget(ids[0] ?? ''); // as there was none then
    clock.jump(60 * DAY);
    expect(await resultOf(trainer.listUnusedModels())).toEqual([]);
    clock.jump(31 * DAY);
    expect(idsOf(await resultOf(trainer.listUnusedModels()))).toEqual(ids);
  });

  it.each([0, -1, Number.NaN, 40_000])('refuses %s days', async (days) => {
    const { trainer } = aTrainer();
    expect(await errorOf(trainer.listUnusedModels({ days }))).toMatchObject({
      problems: [{ loc: ['days'] }],
    });
    expect(await errorOf(trainer.removeUnusedModels({ days }))).toMatchObject({
      problems: [{ loc: ['days'] }],
    });
  });
});

describe('removeUnusedModels', () => {
  it('deletes what is unused, and nothing else', async () => {
    const { trainer, storage, clock, uses, ids } = await readyModels(3);
    clock.jump(31 * DAY);
    uses.note(ids[1] ?? '');
    await uses.flush();
    const removed = await resultOf(trainer.removeUnusedModels());
    expect(idsOf(removed)).toEqual([ids[2], ids[0]]);
    expect(removed.map(({ model }) => model.training_status)).toEqual(['DELETED', 'DELETED']);
    expect(await Promise.all(ids.map((id) => statusOf(trainer, id)))).toEqual(['DELETED', 'READY', 'DELETED']);
    expect(await storage.openFolder(ids[0] ?? '')).toBeUndefined();
    expect(await resultOf(trainer.removeUnusedModels())).toEqual([]);
  });

  it('does so for all accounts, for an operator, with no trainer', async () => {
    const storage = aMemoryStorage();
    const one = await readyModels(1, { storage, account: { app_id: 'one/a', tier: 'pro' } });
    const two = await readyModels(2, { storage, account: { app_id: 'two', tier: 'pro' } });
    const running = await createJob(two.trainer);
    await one.trainer.close();
    await two.trainer.close();
    const clock = new ManualClock(Date.now() + 31 * DAY);
    const options = withInternals({ storage, days: 30 }, { clock });
    const all = [...one.ids, ...[...two.ids].reverse()];
    expect(idsOf(await resultOf(listUnusedModels(options)))).toEqual(all);
    expect(idsOf(await resultOf(removeUnusedModels(options)))).toEqual(all);
    expect(idsOf(await resultOf(listUnusedModels(options)))).toEqual([]);
    const later = aTrainer({ storage, account: { app_id: 'two', tier: 'pro' } });
    expect(await statusOf(later.trainer, two.ids[0] ?? '')).toBe('DELETED');
    expect(await statusOf(later.trainer, running)).not.toBe('DELETED');
  });
});

describe('the use of a model', () => {
  it('is known after a restart, once it was answered by a predictor that has been closed', async () => {
    const storage = aMemoryStorage();
    const id = await aReadyModelIn(storage, local);
    const uses = new ModelUses(storage, local);
    expect(await uses.last(id)).toBeUndefined();
    const before = Date.now();
    const predictor = new Predictor({ storage, isolation: 'inline' });
    await resultOf(predictor.predictCustom(id, 'a query'));
    await predictor.close();
    const last = (await new ModelUses(storage, local).last(id)) ?? 0;
    expect(last).toBeGreaterThanOrEqual(before);
    expect(last).toBeLessThanOrEqual(Date.now());
  });

  it('is written once an hour, however often the model is asked, and by however many processes', async () => {
    const { storage, clock, uses, ids } = await readyModels(1);
    const id = ids[0] ?? '';
    clock.jump(DAY);
    let writes = 0;
    const { write } = storage;
    storage.write = (...args) => {
      if (args[0] === 'model-uses') writes += 1;
      return write.apply(storage, args);
    };
    const other = new ModelUses(storage, local, () => clock.now());
    for (let minute = 0; minute < 180; minute += 1) {
      for (let n = 0; n < 10; n += 1) uses.note(id);
      other.note(id);
      await uses.flush();
      await other.flush();
      clock.jump(60_000);
    }
    expect(writes).toBe(3);
  });

  it('brings nothing of a deleted model back', async () => {
    const { trainer, storage, clock, uses, ids } = await readyModels(1);
    clock.jump(DAY);
    uses.note(ids[0] ?? '');
    await resultOf(trainer.deleteModel(ids[0] ?? ''));
    await uses.flush();
    expect(await storage.listKeys('model-uses')).toEqual([]);
    expect(await statusOf(trainer, ids[0] ?? '')).toBe('DELETED');
  });

  it('can be lost where the storage fails, and then is written with the next', async () => {
    const { storage, clock, uses, ids } = await readyModels(1);
    const id = ids[0] ?? '';
    clock.jump(DAY);
    const { write } = storage;
    storage.write = () => Promise.reject(new Error('no space'));
    uses.note(id);
    await uses.flush();
    storage.write = write;
    clock.jump(1000);
    uses.note(id);
    await uses.flush();
    expect(await uses.last(id)).toBe(clock.now());
  });
});
