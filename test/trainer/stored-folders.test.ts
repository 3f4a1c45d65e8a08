/**
 * Storages as every release has left them, which later releases must open: `test/storage/stored` has one a release that
 * changed what is stored, each with a job of every state, of which one was being trained. Layout 1, from before there
 * were job records like these, is storage-layout.test.ts's.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { fileStorage } from '../../src/storage/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { aSuccessor, resultOf } from './builders.js';

const STORED = fileURLToPath(new URL('../storage/stored', import.meta.url));
const fileSchema = z.object({ path: z.string(), text: z.string() });

/** The files of a storage, from a line each. */
async function unpacked(name: string): Promise<string> {
  const directory = await aDirectory();
  const lines = (await readFile(join(STORED, name), 'utf8')).trim().split('\n');
  for (const line of lines) {
    const { path, text } = fileSchema.parse(JSON.parse(line));
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

describe.each(await readdir(STORED))('the storage that %s left', (name) => {
  it('has the same jobs, and those that had not ended go on', async () => {
    const storage = fileStorage(await unpacked(name));
    const { trainer, host } = await aSuccessor({ storage });
    const { data } = await resultOf(trainer.listTrainingJobs());
    const statuses = data.map(({ status }) => status);
    expect(statuses).toEqual(['QUEUED', 'RUNNING', 'CANCELLED', 'ERROR', 'READY']);
    expect((await resultOf(trainer.listModels({ trainingStatus: 'DELETED' }))).data).toHaveLength(1);
    const [queued, running, , failed, ready] = data.map(({ model }) => model.id);
    expect((await resultOf(trainer.getTrainingJob(failed ?? ''))).error?.message).toBe('training diverged');
    const folder = (await storage.openFolder(ready ?? '')) ?? '';
    expect(await readFile(join(folder, 'model.safetensors'), 'utf8')).toBe('weights');

    const run = await host.nextRun();
    expect(run.spec).toMatchObject({ id: running, seed: 3 });
    expect(await readFile(join(run.spec.directory, 'checkpoint'), 'utf8')).toBe('half way');
    await run.finish();
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(queued ?? ''))).status).toBe('READY');
    await resultOf(trainer.deleteModel(ready ?? ''));
    expect(await storage.openFolder(ready ?? '')).toBeUndefined();
    expect(await storage.listKeys('damaged-jobs')).toEqual([]);
  });
});
