import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileStorage, pathOfKey } from '../../src/storage/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { resultOf } from '../support/outcomes.js';
import { aTrainer, createJob, statusOf } from './builders.js';

/** Damaged records. */

/** A READY job, and another one beside it, in a storage on disk. */
async function twoJobs() {
  const directory = await aDirectory();
  const { trainer, host } = aTrainer({ storage: fileStorage(directory) });
  const ids: string[] = [];
  for (const _ of ['the one to damage', 'the other']) {
    const id = await createJob(trainer);
    await (await host.nextRun()).finish();
    await resultOf(trainer.waitForTrainingJob(id));
    ids.push(id);
  }
  await trainer.close();
  const [damaged = '', other = ''] = ids;
  return { directory, damaged, other, file: fileOf(directory, 'jobs', `local/${damaged}`) };
}

function fileOf(directory: string, collection: string, key: string): string {
  return join(directory, 'records', collection, pathOfKey(key));
}

describe.each([
  ['cut short', (text: string) => text.slice(0, text.length / 2)],
  ['empty', () => ''],
  ['full of zeros', (text: string) => '\0'.repeat(text.length)],
  ['JSON of something else', () => '[1, 2]'],
  ['a record of something else', (text: string) => text.replace('"READY"', '"SLEEPING"')],
])("a job's record that is %s", (_, damage) => {
  it('is listed as damaged, is set aside and can be deleted, while other jobs go on', async () => {
    const { directory, damaged, other, file } = await twoJobs();
    const left = damage(await readFile(file, 'utf8'));
    await writeFile(file, left);

    const storage = fileStorage(directory);
    const { trainer, host } = aTrainer({ storage });
    const { data } = await resultOf(trainer.listTrainingJobs());
    expect(data.map(({ model, status }) => [model.id, status])).toEqual([
      [other, 'READY'],
      [damaged, 'ERROR'],
    ]);
    const job = await resultOf(trainer.getTrainingJob(damaged));
    expect(job.error?.message).toContain(`record jobs/local/${damaged} is damaged`);
    const age = Date.now() - Date.parse(job.created);
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(120_000);
    const errors = await resultOf(trainer.listTrainingJobs({ trainingStatus: 'ERROR' }));
    expect(errors.data.map(({ model }) => model.id)).toEqual([damaged]);
    const kept = await storage.read('damaged-jobs', `local/${damaged}`);
    expect(JSON.stringify(kept?.value).length).toBeGreaterThan(left.length / 2);

    await resultOf(trainer.deleteModel(damaged));
    expect(await statusOf(trainer, damaged)).toBe('DELETED');
    expect(await storage.openFolder(damaged)).toBeUndefined();
    const next = await createJob(trainer);
    await (await host.nextRun()).finish();
    expect((await resultOf(trainer.waitForTrainingJob(next))).status).toBe('READY');
    expect(await statusOf(trainer, other)).toBe('READY');
  });
});

describe('damage beside the jobs', () => {
  it.each(['job-leases', 'job-index'])('to every record of %s holds no job up', async (collection) => {
    const directory = await aDirectory();
    const first = aTrainer({ storage: fileStorage(directory) });
    const id = await createJob(first.trainer);
    await first.host.nextRun();
    await first.trainer.close();
    const home = join(directory, 'records', collection);
    for (const name of await readdir(home, { recursive: true })) {
      if (name.endsWith('.json')) await writeFile(join(home, name), 'not ours');
    }

    const { trainer, host, clock } = aTrainer({ storage: fileStorage(directory) });
    let isOver = false;
    const run = host.nextRun().finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(5_000);
    await (await run).finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
    expect((await resultOf(trainer.listModels())).data.map((model) => model.id)).toEqual([id]);
  });
});
