import { expect, it } from 'vitest';
import { HEARTBEAT_MS } from '../../src/jobs/one-job-per-account.js';
import type { Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, statusOf } from './builders.js';

/** The DELETED jobs whose files may still be there. */
const LEFT = { prefix: 'local/left/' };

/** A READY model whose deletion stops where the process is killed, before this call of the storage. */
async function killedWithinDelete(storage: Storage, before: 'write' | 'removeFolder'): Promise<string> {
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  await (await host.nextRun()).finish();
  await resultOf(trainer.waitForTrainingJob(id));
  const { write, removeFolder } = storage;
  const killed = () => Promise.reject(new Error('killed'));
  storage.write = (collection, key, ...rest) => {
    if (collection === 'jobs' && before === 'write') return killed();
    return write.call(storage, collection, key, ...rest);
  };
  storage.removeFolder = killed;
  expect((await trainer.deleteModel(id)).isErr()).toBe(true);
  await trainer.close();
  Object.assign(storage, { write, removeFolder });
  return id;
}

it('is finished by the next process where one was killed before it had removed the folder', async () => {
  const storage = aMemoryStorage();
  const id = await killedWithinDelete(storage, 'removeFolder');
  expect(await storage.openFolder(id)).toBeDefined();
  const { trainer, clock } = aTrainer({ storage });
  await clock.advance(HEARTBEAT_MS);
  expect(await statusOf(trainer, id)).toBe('DELETED');
  expect(await storage.openFolder(id)).toBeUndefined();
  expect(await storage.listKeys('job-index', LEFT)).toEqual([]);
});

it('is finished with the next heartbeat of a trainer that runs already', async () => {
  const storage = aMemoryStorage();
  const { clock } = aTrainer({ storage });
  await clock.advance(HEARTBEAT_MS);
  const id = await killedWithinDelete(storage, 'removeFolder');
  await clock.advance(HEARTBEAT_MS);
  expect(await storage.openFolder(id)).toBeUndefined();
});

it('is forgotten where the process was killed before the job was DELETED, and leaves the model', async () => {
  const storage = aMemoryStorage();
  const id = await killedWithinDelete(storage, 'write');
  const { trainer, clock } = aTrainer({ storage });
  await clock.advance(HEARTBEAT_MS);
  expect(await statusOf(trainer, id)).toBe('READY');
  expect(await storage.openFolder(id)).toBeDefined();
  expect(await storage.listKeys('job-index', LEFT)).toEqual([]);
});

it('leaves no note of itself', async () => {
  const storage = aMemoryStorage();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  await (await host.nextRun()).finish();
  await resultOf(trainer.waitForTrainingJob(id));
  await resultOf(trainer.deleteModel(id));
  expect(await storage.listKeys('job-index', LEFT)).toEqual([]);
});
