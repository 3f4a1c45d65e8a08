import { mkdir, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/contract/errors.js';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/jobs/one-job-per-account.js';
import { fileStorage } from '../../src/storage/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { resultOf } from '../support/outcomes.js';
import { aTrainer, createJob, errorOf, refuseWrites, statusOf } from './builders.js';
import { statsAfter } from './fake-host.js';
import type { ManualClock } from './manual-clock.js';
import { aRequest } from './request.js';

describe('a storage that fails', () => {
  it('fails each call with a StorageError', async () => {
    const { trainer, storage } = aTrainer();
    const id = await createJob(trainer);
    const failure = () => Promise.reject(new Error('the disk is gone'));
    storage.read = failure;
    storage.list = failure;
    const calls = [
      trainer.createTrainingJob(aRequest),
      trainer.getTrainingJob(id),
      trainer.listTrainingJobs(),
      trainer.cancelTrainingJob(id),
      trainer.getModel(id),
      trainer.listModels(),
      trainer.deleteModel(id),
      trainer.waitForTrainingJob(id),
    ];
    for (const call of calls) {
      const error = await errorOf(call);
      expect(error).toBeInstanceOf(StorageError);
      expect(error.message).toContain('the disk is gone');
    }
  });

  it('passes over what is no record of a job at all', async () => {
    const { trainer, storage } = aTrainer();
    await storage.write('jobs', 'local/x', { status: 'READY' }, undefined);
    expect((await resultOf(trainer.listModels())).data).toEqual([]);
  });

  it('makes the job ERROR where its figures can not be written', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const { write } = storage;
    storage.write = (...args) => {
      storage.write = write; // fails once
      return Promise.reject(new Error(`${args[0]} can't be written`));
    };
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.status).toBe('ERROR');
    expect(job.error).toEqual({ code: 'storage', message: "jobs can't be written" });
    expect(run.options.signal.aborted).toBe(true);
  });

  it('makes the job ERROR where its folder can not be published', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    storage.publishFolder = () => Promise.reject(new Error('no space'));
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).error).toEqual({
      code: 'storage',
      message: 'no space',
    });
  });

  it('records the end of a job once the storage works again', async () => {
    const { trainer, host, storage, clock } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const { write, publishFolder } = storage;
    storage.publishFolder = async (key) => {
      await publishFolder.call(storage, key);
      storage.write = () => Promise.reject(new Error('the disk is full'));
    };
    const released = new Promise<void>((resolve) => {
      const { read } = storage;
      storage.read = (collection, key) => {
        if (collection === 'job-leases' && storage.write !== write) resolve();
        return read.call(storage, collection, key);
      };
    });
    await run.finish();
    await released;
    expect(await statusOf(trainer, id)).toBe('RUNNING');
    storage.write = write;
    await clock.advance(HEARTBEAT_MS);
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
    expect(host.runs).toHaveLength(1);
  });

  it('delays, and does not lose, the start of a job', async () => {
    const { trainer, host, storage, clock } = aTrainer();
    const allowWrites = refuseWrites(storage, 'job-leases', new Error('locked'));
    const id = await createJob(trainer);
    await clock.advance(HEARTBEAT_MS);
    expect(await statusOf(trainer, id)).toBe('QUEUED');
    allowWrites();
    await clock.advance(HEARTBEAT_MS);
    expect((await host.nextRun()).spec.id).toBe(id);
  });

  it.each([
    ['waits', async () => undefined],
    ['writes a checkpoint', (staged: string) => mkdir(staged, { recursive: true }).then(() => undefined)],
  ])('ends the wait for a job that %s after the folder was deleted', async (_, goOn) => {
    const directory = await aDirectory();
    const { trainer, host, clock } = aTrainer({ storage: fileStorage(directory) });
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const end = errorOf(trainer.waitForTrainingJob(id));
    await rm(directory, { recursive: true });
    await goOn(run.spec.directory);
    await clock.advance(LEASE_MS); // the lease can't be renewed: the run stops
    const error = await advancingUntil(end, clock);
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toBe(
      `${directory} was deleted or moved while it was in use; restore it, or create a new storage`,
    );
    expect(run.options.signal.aborted).toBe(true);
  });
});

describe('a storage that can not be reached for a while', () => {
  const away = () => Promise.reject(new StorageError('the database restarts', { isUnavailable: true }));

  it('costs a run nothing: figures, folder and end are written once it is back', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const { write, publishFolder } = storage;
    storage.write = () => {
      storage.write = write;
      return away();
    };
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    storage.publishFolder = async (key) => {
      storage.publishFolder = publishFolder;
      await publishFolder.call(storage, key);
      storage.write = () => {
        storage.write = write;
        return away();
      };
      return away(); // it was done, and nobody heard of it
    };
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
    expect(run.options.signal.aborted).toBe(false);
    expect(host.runs).toHaveLength(1);
  });

  it('leaves the job to another run where it is away for longer than the lease', async () => {
    const { trainer, host, storage, clock } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const { write } = storage;
    storage.write = away;
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    clock.jump(LEASE_MS);
    await clock.advance(HEARTBEAT_MS); // the lease can't be renewed
    expect(run.options.signal.aborted).toBe(true);
    storage.write = write;
    const again = await advancingUntil(host.nextRun(), clock);
    await again.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });
});

/** What comes of a call that needs some beats of the clock, and reads of a disk between them. */
async function advancingUntil<T>(call: Promise<T>, clock: ManualClock): Promise<T> {
  let isOver = false;
  const over = call.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(HEARTBEAT_MS);
  return over;
}
