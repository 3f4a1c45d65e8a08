import { describe, expect, it } from 'vitest';
import { eraseAccount, ModelVersions } from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, refuseWrites } from './builders.js';
import { ManualClock } from './manual-clock.js';
import { app_id, idOf } from './some-jobs.js';
import { bound } from './storages.js';
import { aReadyJob } from './version-cases.js';

const account = { app_id, tier: 'pro' } as const;
const A_YEAR_MS = 365 * 24 * 60 * 60_000;

/** A trainer with two unused models, which does something else once it knows what names need. */
async function twoUnused(act: (storage: Storage) => Promise<unknown> = async () => undefined) {
  const storage = aMemoryStorage();
  const clock = new ManualClock(Date.now());
  for (const n of [1, 2]) {
    await aReadyJob(storage, idOf(n));
    await storage.write('model-uses', `${app_id}/${idOf(n)}`, { at: clock.now() }, undefined);
  }
  const through = bound(storage);
  let hasActed = false;
  through.read = async (...args) => {
    const found = await storage.read(...args);
    if (args[0] === 'versions' && !hasActed) {
      hasActed = true;
      await act(storage);
    }
    return found;
  };
  clock.jump(A_YEAR_MS);
  const { trainer } = aTrainer({ storage: through, account, clock, runsJobs: false });
  const removed = async () => (await resultOf(trainer.removeUnusedModels())).map(({ model }) => model.id);
  return { storage, trainer, removed };
}

describe('the removal of unused models', () => {
  it('removes them, newest first, with the time of their last use and their size', async () => {
    const { trainer, removed, storage } = await twoUnused();
    const listed = await resultOf(trainer.listUnusedModels());
    expect(listed.map(({ model, bytes }) => [model.id, bytes])).toEqual([
      [idOf(2), 'content'.length],
      [idOf(1), 'content'.length],
    ]);
    expect(await removed()).toEqual([idOf(2), idOf(1)]);
    expect(await storage.openFolder(idOf(1))).toBeUndefined();
  });

  it('leaves a model that a name has come to point to', async () => {
    const promote = (storage: Storage) =>
      resultOf(new ModelVersions({ storage, account }).promote('support@production', idOf(2)));
    const { storage, trainer, removed } = await twoUnused(promote);
    expect(await removed()).toEqual([idOf(1)]);
    expect((await resultOf(trainer.getModel(idOf(2)))).training_status).toBe('READY');
    expect(await storage.openFolder(idOf(2))).toBeDefined();
  });

  it('is over where the account is erased meanwhile', async () => {
    const { removed } = await twoUnused((storage) => resultOf(eraseAccount({ storage, app_id })));
    expect(await removed()).toEqual([]);
  });

  it('fails where the storage does', async () => {
    const { trainer } = await twoUnused(async (storage) => refuseWrites(storage, 'jobs', new Error('no space')));
    expect((await trainer.removeUnusedModels())._unsafeUnwrapErr()).toMatchObject({
      code: 'storage',
      message: 'no space',
    });
  });
});
