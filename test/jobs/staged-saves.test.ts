import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { StorageError } from '../../src/contract/errors.js';
import { StagingLost } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, statusOf } from './builders.js';

/** A storage whose saves the test ends, one after the other. */
function aStorageThatSaves() {
  const storage = aMemoryStorage();
  const saves: { readonly key: string; readonly end: (failure?: Error) => void }[] = [];
  storage.saveStaged = (key) =>
    new Promise((resolve, reject) => {
      saves.push({ key, end: (failure) => (failure === undefined ? resolve() : reject(failure)) });
    });
  return { storage, saves };
}

const checkpoint = (epoch: number) => ({ type: 'checkpoint', epoch }) as const;

it('saves what is staged after each checkpoint, one save at a time', async () => {
  const { storage, saves } = aStorageThatSaves();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  const run = await host.nextRun();
  expect(saves).toEqual([]);
  for (const epoch of [1, 2, 3]) run.emit(checkpoint(epoch));
  await nextTurn();
  expect(saves.map(({ key }) => key)).toEqual([id]);
  saves[0]?.end();
  await nextTurn();
  expect(saves).toHaveLength(2); // one for both that came meanwhile
  saves[1]?.end();
  await nextTurn();
  expect(saves).toHaveLength(2);
  await run.finish();
  expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
});

it('goes on where a save fails, and saves with the next checkpoint', async () => {
  const { storage, saves } = aStorageThatSaves();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  const run = await host.nextRun();
  run.emit(checkpoint(1));
  saves[0]?.end(new StorageError('the disk is full'));
  await nextTurn();
  run.emit(checkpoint(2));
  expect(saves).toHaveLength(2);
  saves[1]?.end();
  await run.finish();
  expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
});

it('stops a run whose folder another one has staged, and leaves the job to that one', async () => {
  const { storage, saves } = aStorageThatSaves();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  const run = await host.nextRun();
  run.emit(checkpoint(1));
  saves[0]?.end(new StorageError('refused', { cause: new StagingLost(id) }));
  await run.outcome.catch(() => undefined);
  expect(run.options.signal.aborted).toBe(true);
  expect(await statusOf(trainer, id)).toBe('RUNNING');
});

it('closes once the checkpoint is saved that the run leaves', async () => {
  const { storage, saves } = aStorageThatSaves();
  const { trainer, host } = aTrainer({ storage });
  await createJob(trainer);
  const run = await host.nextRun();
  run.options.signal.addEventListener('abort', () => run.emit(checkpoint(1)));
  let isClosed = false;
  const closing = trainer.close().then(() => {
    isClosed = true;
  });
  await run.outcome.catch(() => undefined);
  while (saves.length === 0) await nextTurn();
  await nextTurn();
  expect(isClosed).toBe(false);
  saves[0]?.end();
  await closing;
});

it('saves nothing more of a run that is complete', async () => {
  const { storage, saves } = aStorageThatSaves();
  const { trainer, host } = aTrainer({ storage });
  const id = await createJob(trainer);
  const run = await host.nextRun();
  run.emit(checkpoint(1));
  run.emit(checkpoint(2));
  await run.finish();
  await nextTurn();
  saves[0]?.end();
  expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  expect(saves).toHaveLength(1);
});
