import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aSuccessor, aTrainer, createJob } from './builders.js';
import type { FakeRun } from './fake-host.js';

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

describe('a job whose process dies', () => {
  it('ends in ERROR after three attempts that came no further, and says why', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await dying(storage, 2, async () => undefined);
    const { trainer, host } = await aSuccessor({ storage });
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(host.runs).toEqual([]);
    expect(job.status).toBe('ERROR');
    expect(job.error?.code).toBe('training');
    expect(job.error?.message).toContain('died 3 times');
    expect(job.error?.message).toContain('memory');
  });

  it('goes on as long as each attempt leaves a newer checkpoint', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await dying(storage, 6, (run, time) => checkpoint(run, `checkpoint${'.'.repeat(time)}`));
    const { trainer, host } = await aSuccessor({ storage });
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('came no further where its checkpoint is the same, though it was written again or brought from elsewhere', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    await checkpoint(await first.host.nextRun(), 'checkpoint');
    await dying(storage, 3, (run) => checkpoint(run, 'checkpoint'));
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
