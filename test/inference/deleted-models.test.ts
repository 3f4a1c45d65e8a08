import { describe, expect, it, onTestFinished } from 'vitest';
import { inferenceService, Predictor } from '../../src/inference/index.js';
import { JobRepository } from '../../src/jobs/index.js';
import { folderModels } from '../../src/models/index.js';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Models that are deleted leave the memory of whoever has asked them. */

const account = { app_id: 'acme', tier: 'pro' } as const;

/** A predictor that has asked a model, its storage, and what its service keeps loaded. */
async function aPredictorWithAModel() {
  const directory = temporaryDirectory();
  const [ours, theirs] = [fileStorage(directory), fileStorage(directory)];
  const id = await aReadyModelIn(theirs, account.app_id);
  const inference = inferenceService({ isolation: 'inline' });
  const modelLoader = folderModels(temporaryDirectory());
  const predictor = new Predictor({ storage: ours, account, modelLoader, inference });
  onTestFinished(async () => {
    await predictor.close();
    await inference.close();
  });
  await resultOf(predictor.predictCustom(id, 'a'));
  const loaded = () => inference.stats().workers.map(({ models }) => models)[0];
  expect(loaded()).toBe(1);
  expect(inference.stats().memory.models).toBeGreaterThan(2 ** 20);
  return { id, ours, theirs, predictor, inference, loaded };
}

async function deleteModel(storage: Storage, id: string): Promise<void> {
  await new JobRepository(storage, account.app_id).update(id, (job) => ({ ...job, status: 'DELETED' }));
  await storage.removeFolder(id);
}

describe('a model that was asked and is deleted', () => {
  it('leaves the memory at once where this process deletes it', async () => {
    const { id, ours, loaded, inference } = await aPredictorWithAModel();
    await deleteModel(ours, id);
    await expect.poll(loaded, { timeout: 30_000 }).toBe(0);
    expect(inference.stats().memory).toMatchObject({ models: 0 });
    expect(inference.stats().models).toEqual([]);
  });

  it('leaves it where another process deletes it, and nobody asks again', async () => {
    const { id, theirs, loaded } = await aPredictorWithAModel();
    await deleteModel(theirs, id);
    await expect.poll(loaded, { timeout: 60_000, interval: 100 }).toBe(0);
  });

  it('answers what was asked before, or tells that it is gone, and leaves then', async () => {
    const { id, ours, predictor, loaded } = await aPredictorWithAModel();
    const asked = Array.from({ length: 40 }, (_, at) => predictor.predictCustom(id, `query ${at} `.repeat(50)));
    await deleteModel(ours, id);
    asked.push(predictor.predictCustom(id, 'late'));
    const codes = (await Promise.all(asked)).map((answer) => (answer.isOk() ? 'ok' : answer.error.code));
    expect(codes.filter((code) => code !== 'ok' && code !== 'not_found')).toEqual([]);
    expect(codes.at(-1)).toBe('not_found');
    await expect.poll(loaded, { timeout: 30_000 }).toBe(0);
    expect(await errorOf(predictor.predictCustom(id, 'later'))).toMatchObject({ code: 'not_found' });
  });
});
