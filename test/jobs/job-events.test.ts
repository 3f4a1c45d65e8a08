import { describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import type { TrainingEvent } from '../../src/jobs/index.js';
import { EventBuffer } from '../../src/jobs/job-events.js';
import { HEARTBEAT_MS } from '../../src/jobs/one-job-per-account.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, errorOf, nextWrite } from './builders.js';
import { statsAfter } from './fake-host.js';
import { bound } from './storages.js';

describe('watching a job', () => {
  it('tells its states and what its run tells, in order, and ends with the job', async () => {
    const { trainer, host } = aTrainer();
    await createJob(trainer);
    const first = await host.nextRun();
    const id = await createJob(trainer);
    const events = trainer.watch(id);
    expect(await nextOf(events)).toEqual({
      type: 'state',
      id,
      status: 'QUEUED',
      at: '2026-11-20T08:15:30.123+00:00',
    });
    await first.finish();
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'RUNNING' });
    const run = await host.nextRun();
    run.progress(1);
    expect(await nextOf(events)).toMatchObject({ type: 'progress', id, step: 1 });
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    expect(await nextOf(events)).toEqual({ type: 'epoch', id, stats: statsAfter(1) });
    await run.finish();
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'READY' });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('stops at once when its signal fires, also while it waits', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    await host.nextRun();
    const leaving = new AbortController();
    const events = trainer.watch(id, { signal: leaving.signal });
    expect(await nextOf(events)).toMatchObject({ status: 'RUNNING' });
    const waiting = nextOf(events);
    leaving.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  });

  it('gives a late watcher the present state first, and each watcher every event', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    run.progress(1);
    const watchers = [trainer.watch(id), trainer.watch(id)];
    for (const events of watchers) expect(await nextOf(events)).toMatchObject({ status: 'RUNNING' });
    run.progress(2);
    for (const events of watchers) expect(await nextOf(events)).toMatchObject({ step: 2 });
  });

  it('that runs elsewhere tells its states and epochs as soon as they are written, and no progress', async () => {
    const storage = aMemoryStorage();
    const { trainer } = aTrainer({ storage, runsJobs: false });
    const id = await createJob(trainer);
    const events = trainer.watch(id);
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'QUEUED' });
    const { host } = aTrainer({ storage });
    const run = await host.nextRun();
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'RUNNING' });
    run.progress(1);
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    expect(await nextOf(events)).toEqual({ type: 'epoch', id, stats: statsAfter(1) });
    run.emit({ type: 'epoch', stats: statsAfter(2) });
    expect(await nextOf(events)).toEqual({ type: 'epoch', id, stats: statsAfter(2) });
    await run.finish();
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'READY' });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('that another process runs tells its states and epochs with the next heartbeat', async () => {
    const medium = aMemoryStorage();
    const { trainer, clock } = aTrainer({ storage: bound(medium), runsJobs: false });
    const id = await createJob(trainer);
    const events = trainer.watch(id);
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'QUEUED' });
    const elsewhere = aTrainer({ storage: bound(medium) });
    const run = await elsewhere.host.nextRun();
    await clock.advance(HEARTBEAT_MS);
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'RUNNING' });
    const written = nextWrite(medium, 'jobs');
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    await written;
    await clock.advance(HEARTBEAT_MS);
    expect(await nextOf(events)).toEqual({ type: 'epoch', id, stats: statsAfter(1) });
    await run.finish(statsAfter(1));
    await resultOf(elsewhere.trainer.waitForTrainingJob(id));
    await clock.advance(HEARTBEAT_MS);
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'READY' });
  });

  it('of an ended job tells its state and ends', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    (await host.nextRun()).fail(new TrainingError('training diverged'));
    await resultOf(trainer.waitForTrainingJob(id));
    const events: TrainingEvent[] = [];
    for await (const event of trainer.watch(id)) events.push(event);
    expect(events).toEqual([expect.objectContaining({ type: 'state', status: 'ERROR' })]);
  });

  it('stops where the loop is left; the job goes on', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    for await (const _ of trainer.watch(id)) break;
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('gives a slow reader the latest progress and every state', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const events = trainer.watch(id);
    await nextOf(events);
    for (let step = 1; step <= 1000; step += 1) run.progress(step);
    expect(await nextOf(events)).toMatchObject({ type: 'progress', step: 1000 });
    await run.finish();
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'READY' });
  });

  it('does not tell twice a state that was told while the record was read', async () => {
    const { trainer, host, storage } = aTrainer();
    await createJob(trainer);
    const first = await host.nextRun();
    const id = await createJob(trainer);
    const { read } = storage;
    storage.read = async (...args) => {
      storage.read = read;
      await first.finish();
      await started;
      return read.apply(storage, args);
    };
    const started = host.nextRun();
    const events = trainer.watch(id);
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'RUNNING' });
    await (await started).finish();
    expect(await nextOf(events)).toMatchObject({ type: 'state', status: 'READY' });
  });
});

describe('waiting for a job', () => {
  it('ends with its signal, and leaves the job running', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const controller = new AbortController();
    const waiting = trainer.waitForTrainingJob(id, { signal: controller.signal });
    controller.abort();
    expect((await errorOf(waiting)).code).toBe('aborted');
    const late = trainer.waitForTrainingJob(id, { signal: controller.signal });
    expect((await errorOf(late)).code).toBe('aborted');
    expect(run.options.signal.aborted).toBe(false);
  });

  it('resolves with CANCELLED and with DELETED as with any end', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    await host.nextRun();
    const waiting = trainer.waitForTrainingJob(id);
    await resultOf(trainer.cancelTrainingJob(id));
    expect((await resultOf(waiting)).status).toBe('CANCELLED');
    await resultOf(trainer.deleteModel(id));
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('DELETED');
  });
});

describe('the buffer of a watcher', () => {
  it('holds one event of each kind and each state once, the warnings together', async () => {
    const buffer = new EventBuffer();
    const id = 'a';
    for (let epoch = 1; epoch <= 100; epoch += 1) {
      buffer.push({ type: 'epoch', id, stats: statsAfter(epoch) });
      buffer.push({ type: 'state', id, status: 'RUNNING', at: `${epoch}` });
    }
    const warning = { kind: 'duplicate_row', count: 1, message: 'one', examples: [] } as const;
    const other = { ...warning, message: 'two' };
    buffer.push({ type: 'warnings', id, warnings: [warning] });
    buffer.push({ type: 'warnings', id, warnings: [other] });
    buffer.push({ type: 'state', id, status: 'READY', at: '' });
    const told = [await buffer.next(), await buffer.next(), await buffer.next(), await buffer.next()];
    expect(told.map(({ type }) => type)).toEqual(['epoch', 'state', 'warnings', 'state']);
    expect(told[0]).toMatchObject({ stats: { epoch: 100 } });
    expect(told[2]).toMatchObject({ warnings: [warning, other] });
  });
});

describe('the end of a buffer', () => {
  const state = { type: 'state', id: 'a', status: 'CANCELLED', at: '' } as const;

  it('comes after what is pending where the trainer closes', async () => {
    const buffer = new EventBuffer();
    buffer.push(state);
    buffer.fail(new Error('closed'));
    buffer.push({ ...state, status: 'DELETED' });
    expect(await buffer.next()).toEqual(state);
    await expect(buffer.next()).rejects.toThrow('closed');
  });

  it('comes at once where the reader aborts', async () => {
    const buffer = new EventBuffer();
    buffer.push(state);
    buffer.abort(new Error('aborted'));
    buffer.push(state);
    await expect(buffer.next()).rejects.toThrow('aborted');
    await expect(buffer.next()).rejects.toThrow('aborted');
  });
});

async function nextOf(events: AsyncGenerator<TrainingEvent>): Promise<TrainingEvent> {
  const { done, value } = await events.next();
  if (done) throw new Error('the events have ended');
  return value;
}
