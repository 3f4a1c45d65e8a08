import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Trainer } from '../../src/jobs/index.js';
import { HEARTBEAT_MS } from '../../src/jobs/one-job-per-account.js';
import { fileStorage } from '../../src/storage/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, errorOf, holdWrites, statusOf } from './builders.js';
import { aRequest } from './request.js';

describe('closing', () => {
  it('leaves the running job RUNNING, for the next trainer to go on with at once', async () => {
    const directory = await aDirectory();
    const first = aTrainer({ storage: fileStorage(directory) });
    const id = await createJob(first.trainer);
    const stopped = await first.host.nextRun();
    await first.trainer.close();
    expect(stopped.options.signal.aborted).toBe(true);

    const { trainer, host } = aTrainer({ storage: fileStorage(directory) });
    expect(await statusOf(trainer, id)).toBe('RUNNING');
    expect((await host.nextRun()).spec).toMatchObject({ id, directory: stopped.spec.directory });
  });

  it('leaves its jobs to a trainer of the account that lives on', async () => {
    const storage = aMemoryStorage();
    const living = aTrainer({ storage });
    await living.clock.advance(HEARTBEAT_MS);
    const closing = aTrainer({ storage });
    const running = await createJob(closing.trainer);
    const waiting = await createJob(closing.trainer);
    await closing.host.nextRun();
    await closing.trainer.close();

    await living.clock.advance(HEARTBEAT_MS);
    const run = await living.host.nextRun();
    expect(run.spec.id).toBe(running);
    await run.finish();
    expect((await living.host.nextRun()).spec.id).toBe(waiting);
  });

  it('waits until the run has stopped, and starts no other', async () => {
    const { trainer, host, storage } = aTrainer();
    host.obeys = false;
    await createJob(trainer);
    const waiting = await createJob(trainer);
    const run = await host.nextRun();
    let isClosed = false;
    const closing = trainer.close().then(() => {
      isClosed = true;
    });
    await aTrainer({ storage, account: { app_id: 'bystander', tier: 'pro' } }).trainer.listModels();
    expect(isClosed).toBe(false);
    run.obey();
    await closing;
    expect(host.runs).toHaveLength(1);
    expect(await statusOf(aTrainer({ storage }).trainer, waiting)).toBe('QUEUED');
  });

  it('publishes a run that finishes while the trainer closes', async () => {
    const { trainer, host, storage } = aTrainer();
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const closing = trainer.close();
    await run.finish();
    await closing;
    expect(await statusOf(aTrainer({ storage }).trainer, id)).toBe('READY');
  });

  it('may be called twice, and fails every later call', async () => {
    const { trainer } = aTrainer();
    const id = await createJob(trainer);
    await Promise.all([trainer.close(), trainer.close()]);
    await trainer[Symbol.asyncDispose]();
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
    for (const call of calls) expect((await errorOf(call)).code).toBe('closed');
    await expect(trainer.watch(id).next()).rejects.toMatchObject({ code: 'closed' });
  });

  it('ends what waits for a job', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    await host.nextRun();
    const waiting = trainer.waitForTrainingJob(id);
    await trainer.close();
    expect((await errorOf(waiting)).code).toBe('closed');
  });

  it('waits for calls under way', async () => {
    const { trainer, storage } = aTrainer();
    const letWrite = holdWrites(storage);
    let isClosed = false;
    const creating = trainer.createTrainingJob(aRequest);
    const closing = trainer.close().then(() => {
      isClosed = true;
    });
    await nextTurn();
    expect(isClosed).toBe(false);
    letWrite();
    await closing;
    const { id } = await resultOf(creating);
    expect(await statusOf(aTrainer({ storage }).trainer, id)).not.toBe('CREATED');
  });

  it('ends a cancellation that waits for another process', async () => {
    const storage = aMemoryStorage();
    const owner = aTrainer({ storage });
    const id = await createJob(owner.trainer);
    await owner.host.nextRun();
    const { trainer } = aTrainer({ storage });
    const letWrite = holdWrites(storage);
    const cancelling = trainer.cancelTrainingJob(id);
    const closing = trainer.close();
    await nextTurn();
    letWrite();
    await closing;
    expect((await errorOf(cancelling)).code).toBe('closed');
  });

  it('closes the host that it made', async () => {
    const trainer = new Trainer({ storage: aMemoryStorage(), isolation: 'inline' });
    await trainer.close();
    expect((await errorOf(trainer.listModels())).code).toBe('closed');
  });

  it('lets a cancellation under way come to its end', async () => {
    const { trainer, host, storage } = aTrainer();
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const cancelling = trainer.cancelTrainingJob(id);
    await new Promise((resolve) => run.options.signal.addEventListener('abort', resolve));
    const closing = trainer.close();
    run.obey();
    await resultOf(cancelling);
    await closing;
    expect(await statusOf(aTrainer({ storage }).trainer, id)).toBe('CANCELLED');
  });
});
