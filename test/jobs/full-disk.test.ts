import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StorageError, toOrchardError } from '../../src/contract/errors.js';
import { LASTING_MS } from '../../src/jobs/job-events.js';
import { HEARTBEAT_MS } from '../../src/jobs/one-job-per-account.js';
import { fileStorage } from '../../src/storage/index.js';
import { aSmallDisk, fill, mayMount, remount } from '../storage/small-disk.js';
import { resultOf } from '../support/outcomes.js';
import { aTrainer, createJob, errorOf, refuseWrites, statusOf } from './builders.js';
import type { ManualClock } from './manual-clock.js';
import { aRequest } from './request.js';

/** A disk without room, one that is read-only, and one that is well again; where the user may mount such disks. */

const DISK_KB = 4096;

describe.runIf(mayMount)('a full disk', () => {
  it('ends the job that filled it in ERROR, removes what it made, and the next job runs', async () => {
    const disk = await aSmallDisk(DISK_KB);
    const { trainer, host } = aTrainer({ storage: fileStorage(join(disk, 'models')) });
    const id = await createJob(trainer);
    const run = await host.nextRun();
    run.fail(toOrchardError(await fill(run.spec.directory), 'training'));
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.status).toBe('ERROR');
    expect(job.error?.code).toBe('storage');
    expect(job.error?.message).toContain('no space left');
    expect(await readdir(join(disk, 'models', 'folders'))).toEqual([]);
    const next = await createJob(trainer);
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(next))).status).toBe('READY');
  });

  it('that others fill still lets a job end, be deleted, and be cancelled, from the reserve', async () => {
    const disk = await aSmallDisk(DISK_KB);
    const storage = fileStorage(join(disk, 'models'));
    const { trainer, host } = aTrainer({ storage });
    const failing = await createJob(trainer);
    const waiting = await createJob(trainer);
    const run = await host.nextRun();
    run.fail(toOrchardError(await fill(disk), 'training'));
    expect((await resultOf(trainer.waitForTrainingJob(failing))).status).toBe('ERROR');
    await resultOf(trainer.cancelTrainingJob(waiting));
    expect(await statusOf(trainer, waiting)).toBe('CANCELLED');
    await resultOf(trainer.deleteModel(failing));
    expect(await statusOf(trainer, failing)).toBe('DELETED');
    expect(await readdir(join(disk, 'models'))).not.toContain('reserve');
    await fill(disk, 'the rest');
    expect(await errorOf(trainer.createTrainingJob(aRequest))).toBeInstanceOf(StorageError);
    // The trainer may be about to give up its lease, under a lock.
    for (const place of ['temporary', 'locks']) {
      await expect.poll(() => readdir(join(disk, 'models', place)), { timeout: 10_000 }).toEqual([]);
    }

    for (const name of ['filling', 'the rest']) await rm(join(disk, name));
    const again = fileStorage(join(disk, 'models'));
    await again.list('jobs');
    await again.close();
    expect(await readdir(join(disk, 'models'))).toContain('reserve');
    const id = await createJob(trainer);
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });
});

describe.runIf(mayMount)('a disk that becomes read-only', () => {
  it('is reported to callers that wait, and the job continues once it can be written', async () => {
    const disk = await aSmallDisk(DISK_KB);
    const { trainer, host, clock } = aTrainer({ storage: fileStorage(join(disk, 'models')) });
    const id = await createJob(trainer);
    const run = await host.nextRun();
    remount(disk, 'ro');
    const end = errorOf(trainer.waitForTrainingJob(id));
    run.fail(toOrchardError(new Error('the training failed'), 'training'));
    const error = await advancingUntil(end, clock);
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain('read-only');
    remount(disk, 'rw');
    const ready = resultOf(trainer.waitForTrainingJob(id));
    await clock.advance(HEARTBEAT_MS);
    await (await host.nextRun()).finish();
    expect((await ready).status).toBe('READY');
  });
});

describe('a storage that is not allowed to write', () => {
  it('is reported to callers that wait for a job that can not begin, and the job continues once it is allowed', async () => {
    const { trainer, host, storage, clock } = aTrainer();
    const allowWrites = refuseWrites(storage, 'job-leases', new Error('EACCES: permission denied'));
    const id = await createJob(trainer);
    let isTold = false;
    const end = errorOf(trainer.waitForTrainingJob(id)).finally(() => {
      isTold = true;
    });
    for (let passedMs = 0; passedMs + HEARTBEAT_MS < LASTING_MS; passedMs += HEARTBEAT_MS) {
      await clock.advance(HEARTBEAT_MS);
      expect(isTold).toBe(false); // it may pass
    }
    const error = await advancingUntil(end, clock);
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain('EACCES');
    allowWrites();
    const ready = resultOf(trainer.waitForTrainingJob(id));
    await clock.advance(HEARTBEAT_MS);
    await (await host.nextRun()).finish();
    expect((await ready).status).toBe('READY');
  });
});

/** What comes of a call that needs some beats of the clock, and calls of a disk between them. */
async function advancingUntil<T>(call: Promise<T>, clock: ManualClock): Promise<T> {
  let isOver = false;
  const over = call.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(HEARTBEAT_MS);
  return over;
}
