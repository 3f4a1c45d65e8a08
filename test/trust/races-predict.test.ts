import { expect, it } from 'vitest';
import { JobRepository, readyModel, type Trainer } from '../../src/jobs/index.js';
import { aMemoryStorage, aTrainer, createJob } from '../jobs/builders.js';
import { resultOf } from '../support/outcomes.js';

it.each([
  ['is deleted', (trainer: Trainer, id: string) => resultOf(trainer.deleteModel(id))],
  ['goes with its account', (trainer: Trainer) => resultOf(trainer.eraseAccount('local'))],
])('finds no model that %s while its files are looked for', async (_, remove) => {
  const storage = aMemoryStorage();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  await (await host.nextRun()).finish();
  await trainer.waitForTrainingJob(id);
  const { openFolder } = storage;
  storage.openFolder = async (key) => {
    storage.openFolder = openFolder;
    await remove(trainer, key);
    return openFolder.call(storage, key);
  };
  await expect(readyModel(id, new JobRepository(storage, 'local'), storage)).rejects.toMatchObject({
    code: 'not_found',
    id,
  });
});
