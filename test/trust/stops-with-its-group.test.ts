import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fileStorage, Trainer, type TrainingIsolation } from 'orchard-nlp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../public/sentiments.js';

/** Ctrl-C and systemd's stop reach every process of a group: the application's, and those that it trains in. */

const program = fileURLToPath(new URL('./processes/train-until-stopped.ts', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true }));

/** Starts a training in a process group of its own and sends the group a signal. @returns the job's id. */
async function stoppedTraining(isolation: TrainingIsolation, signal: NodeJS.Signals): Promise<string> {
  const application = spawn(process.execPath, ['--import', 'tsx', program, folder, isolation], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(application, 'exit');
  const lines = createInterface({ input: application.stdout })[Symbol.asyncIterator]();
  const id = String((await lines.next()).value);
  process.kill(-(application.pid ?? Number.NaN), signal);
  expect((await lines.next()).value).toBe('closed');
  expect(await ended).toEqual([0, null]);
  return id;
}

describe.runIf(process.platform !== 'win32').each([
  ['inline', 'SIGTERM'],
  ['worker', 'SIGTERM'],
  ['process', 'SIGINT'],
] as const)('a training in isolation %s whose group gets %s', (isolation, signal) => {
  it('stays RUNNING, and the next trainer takes it on from a checkpoint', async () => {
    const id = await stoppedTraining(isolation, signal);
    const storage = fileStorage(join(folder, 'storage'));
    const record = await storage.read('jobs', `local/${id}`);
    expect(record?.value).toMatchObject({ status: 'RUNNING' });
    await using trainer = new Trainer({ storage, threads: 1 });
    const steps: number[] = [];
    for await (const event of trainer.watch(id)) {
      if (event.type === 'progress' && event.phase === 'train') steps.push(event.step);
    }
    expect(steps[0]).toBeGreaterThan(3);
    expect((await trainer.getTrainingJob(id))._unsafeUnwrap().status).toBe('READY');
  });
});
