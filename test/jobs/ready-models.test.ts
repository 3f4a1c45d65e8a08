import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inferenceService, Predictor } from '../../src/inference/index.js';
import { JobRepository, newJobRecord, ReadyModels } from '../../src/jobs/index.js';
import { folderModels } from '../../src/models/index.js';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { errorOf } from './builders.js';
import { ManualClock } from './manual-clock.js';
import { aRequest } from './request.js';

const app_id = 'acme';
const OTHER_ID = '0190a6f0-0000-7000-8000-000000000002';
const CREATED = '2026-11-21T08:15:30.123+00:00';

/**
 * A READY model, its storage as this process and as another one sees it, how often this one has read from it, and what waits
 * until this one's next call of a method has had its effects.
 */
async function aReadyModel() {
  const directory = temporaryDirectory();
  const [ours, theirs] = [fileStorage(directory), fileStorage(directory)];
  const id = await aReadyModelIn(theirs, app_id);
  let reads = 0;
  const calls = new EventEmitter();
  const { read, openFolder } = ours;
  ours.read = (...args) => {
    reads += 1;
    return read.apply(ours, args).finally(() => calls.emit('read'));
  };
  ours.openFolder = (key) => openFolder.call(ours, key).finally(() => calls.emit('openFolder'));
  const afterNext = (method: 'read' | 'openFolder') => once(calls, method).then(() => nextTurn());
  return { id, ours, theirs, reads: () => reads, afterNext };
}

async function deleteModel(storage: Storage, id: string): Promise<void> {
  await new JobRepository(storage, app_id).update(id, (job) => ({ ...job, status: 'DELETED' }));
  await storage.removeFolder(id);
}

describe('a READY model', () => {
  it('is looked up again after a second', async () => {
    const { id, ours, reads } = await aReadyModel();
    const clock = new ManualClock();
    const models = new ReadyModels(ours, app_id, { clock });
    const directory = await models.directoryOf(id);
    clock.jump(499);
    expect(models.directoryOf(id)).toBe(directory);
    expect(reads()).toBe(1);
    clock.jump(502);
    expect(await models.directoryOf(id)).toBe(directory);
    expect(reads()).toBe(2);
  });

  it('that is asked all the time is looked up beside the queries, of which none waits', async () => {
    const { id, ours, theirs, reads, afterNext } = await aReadyModel();
    const clock = new ManualClock();
    const models = new ReadyModels(ours, app_id, { clock });
    const directory = await models.directoryOf(id);
    for (let second = 1; second <= 3; second += 1) {
      clock.jump(600);
      const renewed = afterNext('openFolder');
      expect(models.directoryOf(id)).toBe(directory);
      expect(models.directoryOf(id)).toBe(directory);
      await renewed;
      expect(reads()).toBe(1 + second);
    }
    await deleteModel(theirs, id);
    clock.jump(600);
    const renewed = afterNext('read');
    expect(models.directoryOf(id)).toBe(directory);
    await renewed;
    await expect(models.directoryOf(id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is not looked up again because another job was written', async () => {
    const { id, ours, reads } = await aReadyModel();
    const models = new ReadyModels(ours, app_id, { clock: new ManualClock() });
    const directory = await models.directoryOf(id);
    const other = newJobRecord(aRequest, { id: OTHER_ID, app_id, created: CREATED, seed: 1 });
    await new JobRepository(ours, app_id).create(other);
    const before = reads();
    expect(models.directoryOf(id)).toBe(directory);
    expect(reads()).toBe(before);
  });

  it('is gone at once if this process deletes it', async () => {
    const { id, ours } = await aReadyModel();
    const models = new ReadyModels(ours, app_id, { clock: new ManualClock() });
    await models.directoryOf(id);
    await deleteModel(ours, id);
    await expect(models.directoryOf(id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is gone within a second if another process deletes it', async () => {
    const { id, ours, theirs } = await aReadyModel();
    const clock = new ManualClock();
    const models = new ReadyModels(ours, app_id, { clock });
    await models.directoryOf(id);
    await deleteModel(theirs, id);
    clock.jump(1001);
    await expect(models.directoryOf(id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is looked up from time to time without a query, and told to be gone once it is deleted', async () => {
    const { id, ours, theirs } = await aReadyModel();
    let models: ReadyModels | undefined;
    const gone = new Promise<string>((resolve) => {
      models = new ReadyModels(ours, app_id, { gone: resolve, checkMs: 1 });
    });
    const directory = await models?.directoryOf(id);
    await deleteModel(theirs, id);
    expect(await gone).toBe(directory);
    models?.close();
  });

  it('is not gone because the storage fails', async () => {
    const { id, ours } = await aReadyModel();
    const clock = new ManualClock();
    const models = new ReadyModels(ours, app_id, { clock, gone: () => expect.fail('it is there') });
    const directory = await models.directoryOf(id);
    const { read } = ours;
    ours.read = () => Promise.reject(new Error('no connection'));
    clock.jump(1000);
    await expect(models.directoryOf(id)).rejects.toMatchObject({ code: 'storage' });
    await expect(models.directoryOf(id)).rejects.toMatchObject({ code: 'storage' });
    ours.read = read;
    expect(await models.directoryOf(id)).toBe(directory);
    models.close();
  });

  it('is not kept after the end', async () => {
    const { id, ours, reads } = await aReadyModel();
    const models = new ReadyModels(ours, app_id, { clock: new ManualClock() });
    await models.directoryOf(id);
    models.close();
    for (let n = 2; n <= 3; n += 1) {
      await models.directoryOf(id);
      expect(reads()).toBe(n);
    }
  });

  it('has its files, and its training did not fail', async () => {
    const { id, ours } = await aReadyModel();
    await ours.removeFolder(id);
    const models = new ReadyModels(ours, app_id);
    await expect(models.directoryOf(id)).rejects.toMatchObject({
      ...{ code: 'model_not_ready', status: 'READY', message: expect.stringContaining('files are missing') },
    });
    const job = newJobRecord(aRequest, { id: OTHER_ID, app_id, created: CREATED, seed: 1 });
    const error = { code: 'training', message: 'it diverged' };
    await new JobRepository(ours, app_id).create({ ...job, status: 'ERROR', error });
    await expect(models.directoryOf(OTHER_ID)).rejects.toMatchObject({
      ...{ code: 'model_not_ready', status: 'ERROR', message: expect.stringContaining('training failed: it diverged') },
    });
  });

  it('does not exist for another account', async () => {
    const { id, ours } = await aReadyModel();
    await new ReadyModels(ours, app_id).directoryOf(id);
    await expect(new ReadyModels(ours, 'stranger').directoryOf(id)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('is reported as deleted by a predictor that finds its files gone before that second is over', async () => {
    const { id, ours, theirs } = await aReadyModel();
    const account = { app_id, tier: 'pro' } as const;
    const modelLoader = folderModels(temporaryDirectory());
    const inference = inferenceService({ isolation: 'inline' });
    const predictor = new Predictor({ storage: ours, account, modelLoader, inference });
    onTestFinished(() => inference.close());
    await resultOf(predictor.predictCustom(id, 'a'));
    await deleteModel(theirs, id);
    // The model must be loaded anew.
    for (const { directory } of inference.stats().models) inference.forget(directory);
    expect((await errorOf(predictor.predictCustom(id, 'a'))).code).toBe('not_found');
  });
});
