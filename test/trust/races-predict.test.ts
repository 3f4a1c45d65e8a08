import { expect, it } from 'vitest';
import { JobRepository, readyModel } from '../../src/jobs/index.js';
import { aMemoryStorage, aTrainer, createJob, resultOf } from '../trainer/builders.js';

it('says that a model is deleted where that happens while its files are looked for', async () => {
  const storage = aMemoryStorage();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  await (await host.nextRun()).finish();
  await trainer.waitForTrainingJob(id);
  const { openFolder } = storage;
  storage.openFolder = async (key) => {
    storage.openFolder = openFolder;
    await resultOf(trainer.deleteModel(key));
    return openFolder.call(storage, key);
  };
  await expect(readyModel(id, new JobRepository(storage, 'local'), storage)).rejects.toMatchObject({
    code: 'not_found',
    id,
  });
});

it('says that a model is unknown where its account is erased while its files are looked for', async () => {
  const storage = aMemoryStorage();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  await (await host.nextRun()).finish();
  await trainer.waitForTrainingJob(id);
  const { openFolder } = storage;
  storage.openFolder = async (key) => {
    storage.openFolder = openFolder;
    await resultOf(trainer.eraseAccount('local'));
    return openFolder.call(storage, key);
  };
  await expect(readyModel(id, new JobRepository(storage, 'local'), storage)).rejects.toMatchObject({
    code: 'not_found',
    id,
  });
});
