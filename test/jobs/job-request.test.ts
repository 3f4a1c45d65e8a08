import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderModels } from '../../src/models/index.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aMemoryStorage, aSuccessor, aTrainer, createJob } from './builders.js';
import { aRequest } from './request.js';

/** The record of a job says all that decides its result, so that any trainer of the account may run it. */

/** Has backbones of three names, in folders that hold nothing. */
function aLoader() {
  const root = temporaryDirectory();
  for (const name of ['chosen', 'other', 'english-mini']) mkdirSync(join(root, name));
  return folderModels(root);
}

describe('a job that a trainer of other options runs', () => {
  it('goes by what it was created with, but for the threads', async () => {
    const storage = aMemoryStorage();
    const modelLoader = aLoader();
    const creator = aTrainer({
      storage,
      modelLoader,
      allowFileUrls: false,
      allowPrivateAddresses: false,
      tuning: { labelSmoothing: 0.2 },
      backbone: 'chosen',
      seed: 3,
      threads: 1,
    });
    const request = { ...aRequest, dataset_url: 'https://1.1.1.1/reviews.zip' };
    const id = await createJob(creator.trainer, request);
    await creator.host.nextRun();

    const options = { modelLoader, tuning: { quantize: true }, backbone: 'other', seed: 4, threads: 2 };
    const { host } = await aSuccessor({ ...options, storage });
    const { spec } = await host.nextRun();
    expect(spec).toMatchObject({
      id,
      allowFileUrls: false,
      allowPrivateAddresses: false,
      tuning: { labelSmoothing: 0.2 },
      backbone: { name: 'chosen' },
      seed: 3,
      threads: 2,
    });
  });

  it('starts from what fits its language and size where no backbone was chosen', async () => {
    const storage = aMemoryStorage();
    const modelLoader = aLoader();
    const creator = aTrainer({ storage, modelLoader });
    await createJob(creator.trainer);
    await creator.host.nextRun();
    const { host } = await aSuccessor({ modelLoader, backbone: 'other', storage });
    expect((await host.nextRun()).spec.backbone?.name).toBe('english-mini');
  });

  it('may read the file that its creator allowed', async () => {
    const storage = aMemoryStorage();
    const creator = aTrainer({ storage, allowFileUrls: false });
    const request = { ...aRequest, dataset_url: 'file:///data/reviews.zip' };
    await resultOf(creator.trainer.createTrainingJob(request, { allowFileUrl: true }));
    await creator.host.nextRun();
    const { host } = await aSuccessor({ allowFileUrls: false, storage });
    expect((await host.nextRun()).spec.allowFileUrls).toBe(true);
  });
});
