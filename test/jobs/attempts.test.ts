import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claimed, withoutAttempt } from '../../src/jobs/retry.js';
import type { Storage } from '../../src/storage/index.js';
import { RunnerDeathError } from '../../src/training/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aSuccessor, aTrainer, createJob } from './builders.js';
import type { FakeRun } from './fake-host.js';
import { aJob } from './some-jobs.js';

/** As many trainers as this take up the job, one after the other, and die with it. */
async function dying(storage: Storage, times: number, each: (run: FakeRun, time: number) => Promise<void>) {
  for (let time = 0; time < times; time += 1) {
    const { host } = await aSuccessor({ storage });
    await each(await host.nextRun(), time);
  }
}

async function checkpoint({ spec }: FakeRun, content: string): Promise<void> {
  const file = join(spec.directory, 'work', 'checkpoint.safetensors');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

/** How often a job may end the process that trains it, in a thread of its own, before it is given up. */
const MOST = 10;

describe('a job whose process dies', () => {
  it('ends in ERROR after ten attempts that came no further, and says what was seen', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await dying(storage, MOST - 1, async () => undefined);
    const { trainer, host } = await aSuccessor({ storage });
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(host.runs).toEqual([]);
    expect(job.status).toBe('ERROR');
    expect(job.error?.code).toBe('training');
    expect(job.error?.message).toContain('ended 10 times without progress');
    expect(job.error?.message).not.toContain('memory');
  });

  it('goes on after five kills of its service that came before its first checkpoint', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await dying(storage, 4, async () => undefined);
    const { trainer, host } = await aSuccessor({ storage });
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('goes on as long as each attempt leaves a newer checkpoint', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await dying(storage, MOST + 2, (run, time) => checkpoint(run, `checkpoint${'.'.repeat(time)}`));
    const { trainer, host } = await aSuccessor({ storage });
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('came no further where its checkpoint is the same, though it was written again or brought from elsewhere', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await checkpoint(await first.host.nextRun(), 'checkpoint');
    await dying(storage, MOST, (run) => checkpoint(run, 'checkpoint'));
    const { trainer, host } = await aSuccessor({ storage });
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('ERROR');
    expect(host.runs).toEqual([]);
  });

  it('may be stopped in good order as often as one likes', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await first.trainer.close();
    for (let time = 0; time < 5; time += 1) {
      const next = aTrainer({ storage });
      await next.host.nextRun();
      await next.trainer.close();
    }
    const { trainer, host } = aTrainer({ storage });
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });
});

describe('a job whose run dies in a process of its own', () => {
  const died = () => new RunnerDeathError('its process ended with SIGKILL');

  it('is run again, and ends in ERROR after three deaths without progress, with what was seen', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    for (let death = 0; death < 3; death += 1) {
      const run = await host.nextRun();
      run.progress(1);
      run.fail(died());
    }
    const { status, error } = await resultOf(trainer.waitForTrainingJob(id));
    expect(status).toBe('ERROR');
    expect(error?.message).toContain('died 3 times without progress, last in the phase train');
    expect(error?.message).toContain('SIGKILL');
    expect(host.runs).toHaveLength(3);
  });

  it('came further with a later phase, and with a newer checkpoint', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const figures = { fraction: 0, epoch: 0, epochs: 1, step: 0, steps: 1, elapsedMs: 1 };
    for (const phase of ['download', 'download', 'read', 'read', 'train', 'train'] as const) {
      const run = await host.nextRun();
      run.emit({ type: 'progress', phase, ...figures });
      run.fail(died());
    }
    const seventh = await host.nextRun();
    await checkpoint(seventh, 'checkpoint');
    seventh.fail(died());
    (await host.nextRun()).fail(died());
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('is not run again where it was cancelled', async () => {
    const { trainer, host } = aTrainer();
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const cancelled = resultOf(trainer.cancelTrainingJob(id));
    run.options.signal.addEventListener('abort', () => run.fail(died()));
    await cancelled;
    expect((await resultOf(trainer.getTrainingJob(id))).status).toBe('CANCELLED');
    expect(host.runs).toHaveLength(1);
  });
});

describe('a job that a run claims', () => {
  const attempts = (count: number, checkpoint: string | null) => ({ attempts: { count, checkpoint } });

  it('is RUNNING with its first attempt, also if it was not QUEUED yet', () => {
    for (const status of ['CREATED', 'QUEUED'] as const) {
      expect(claimed(aJob(1, status), null)).toEqual({ ...aJob(1, 'RUNNING'), ...attempts(1, null) });
    }
  });

  it('has one attempt more if it came no further, and else its first again', () => {
    const running = { ...aJob(1, 'RUNNING'), ...attempts(2, 'a') };
    expect(claimed(running, 'a')).toEqual({ ...running, ...attempts(3, 'a') });
    expect(claimed(running, 'b')).toEqual({ ...running, ...attempts(1, 'b') });
    expect(withoutAttempt(running)).toEqual({ ...running, ...attempts(1, 'a') });
  });

  it('stays as it is once it has ended', () => {
    for (const status of ['READY', 'ERROR', 'CANCELLED', 'DELETED'] as const) {
      const ended = { ...aJob(1, status), ...attempts(2, null) };
      expect([claimed(ended, null), withoutAttempt(ended)]).toEqual([ended, ended]);
    }
  });
});
