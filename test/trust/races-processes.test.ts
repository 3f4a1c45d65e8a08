import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { JobRepository, Trainer } from '../../src/jobs/index.js';
import { withInternals } from '../../src/jobs/trainer-options.js';
import { fileStorage } from '../../src/storage/index.js';
import type { TrainingHost } from '../../src/training/index.js';
import { statsAfter } from '../jobs/fake-host.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** With TRUST_ROUNDS=50, so many rounds of more calls; else one short round. */
const ROUNDS = Number(process.env.TRUST_ROUNDS ?? 0);
const CALLS = ROUNDS > 0 ? 60 : 25;
const script = fileURLToPath(new URL('./races/operate.ts', import.meta.url));

const lineSchema = z.union([
  z.object({ run: z.string(), from: z.number(), to: z.number() }),
  z.object({ call: z.string(), outcome: z.string(), id: z.string(), key: z.string().optional() }),
]);
/** What each call may come to, as its documentation says. */
const documented: Readonly<Record<string, readonly string[]>> = {
  create: ['ok'],
  cancel: ['ok', 'transition'],
  delete: ['ok'],
  get: ['ok'],
};

async function operate(directory: string, seed: number) {
  const args = ['--import', 'tsx', script, directory, String(seed), String(CALLS)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout
    .trim()
    .split('\n')
    .map((line) => lineSchema.parse(JSON.parse(line)));
}

/** Trains at once. */
const host: TrainingHost = { run: async () => statsAfter(1), close: async () => undefined };

it('keeps every job, and its state, under two processes that create, cancel and delete at random', async () => {
  for (let round = 0; round < Math.max(1, ROUNDS); round += 1) await play(round);
}, 3_600_000);

async function play(round: number): Promise<void> {
  const directory = temporaryDirectory();
  const lines = (await Promise.all([operate(directory, 2 * round + 1), operate(directory, 2 * round + 2)])).flat();
  const calls = lines.flatMap((line) => ('call' in line ? line : []));
  for (const { call, outcome } of calls) expect(documented[call], call).toContain(outcome);

  const runs = lines.flatMap((line) => ('run' in line ? line : [])).sort((a, b) => a.from - b.from);
  for (const [at, { from }] of runs.entries()) expect(from).toBeGreaterThanOrEqual(runs[at - 1]?.to ?? 0);

  const keys = new Map<string, string>();
  for (const { call, id, key } of calls) {
    if (call !== 'create' || key === undefined) continue;
    expect(id).toBe(keys.get(key) ?? id);
    keys.set(key, id);
  }

  const storage = fileStorage(directory);
  // The processes ended in a time that runs twice as fast.
  const clock = { now: () => Date.now() * 3, elapsed: () => performance.now() * 3, every: everyMoment };
  const trainer = new Trainer(withInternals({ storage, host }, { clock }));
  const created = new Set(calls.filter(({ call }) => call === 'create').map(({ id }) => id));
  const deleted = new Set(calls.filter(({ call }) => call === 'delete').map(({ id }) => id));
  for (const id of created) {
    const { status } = await resultOf(trainer.waitForTrainingJob(id));
    expect(status === 'DELETED').toBe(deleted.has(id));
    expect((await storage.openFolder(id)) !== undefined).toBe(status === 'READY');
  }
  const listed = (await resultOf(trainer.listTrainingJobs({ limit: 100 }))).data.map(({ model }) => model.id);
  expect([...listed].sort()).toEqual([...created].filter((id) => !deleted.has(id)).sort());
  expect(await new JobRepository(storage, 'local').unfinished()).toEqual([]);
  await trainer.close();
  const folders = await readdir(join(directory, 'folders')).catch(() => []);
  const ready = await Promise.all(listed.map((id) => storage.openFolder(id)));
  expect(folders.length).toBe(ready.filter((folder) => folder !== undefined).length);
  await storage.close();
}

function everyMoment(_: number, work: () => Promise<void>): () => void {
  const timer = setInterval(() => void work(), 50);
  return () => clearInterval(timer);
}
