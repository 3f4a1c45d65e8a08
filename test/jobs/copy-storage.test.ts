import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { v7 as uuidV7 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { COPIED } from '../../src/jobs/account-records.js';
import { type CopiedStorage, copyStorage, UploadRecords, uploadFolder, uploadUrl } from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob } from './builders.js';
import { aRequest } from './request.js';
import { bound } from './storages.js';

const FIELDS = 'accounts records jobs unfinished local_datasets folders files bytes'.split(' ');
const countsOf = (copied: CopiedStorage) => Object.entries(copied).filter(([name]) => FIELDS.includes(name));

async function publish(storage: Storage, key: string, files: Readonly<Record<string, string>>): Promise<void> {
  const directory = await storage.stageFolder(key);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  await storage.publishFolder(key);
}

/**
 * Two accounts: a model with two files of 3 and 4 bytes, a job under way with a checkpoint of 5, two that wait for
 * datasets of this machine and one for an upload of 6 bytes.
 */
async function aStorageInUse() {
  const storage = aMemoryStorage();
  const one = aTrainer({ storage, account: { app_id: 'one/a', tier: 'pro' } });
  const ready = await createJob(one.trainer);
  const first = await one.host.nextRun();
  await mkdir(join(first.spec.directory, 'inner'));
  await writeFile(join(first.spec.directory, 'inner', 'file'), 'abc');
  await writeFile(join(first.spec.directory, 'model.safetensors'), '');
  await first.finish(); // writes 'weights'
  await resultOf(one.trainer.waitForTrainingJob(ready));
  await one.trainer.close();

  const two = aTrainer({ storage, account: { app_id: 'two', tier: 'pro' } });
  const running = await createJob(two.trainer);
  const run = await two.host.nextRun();
  await writeFile(join(run.spec.directory, 'checkpoint'), '12345');
  const local = await createJob(two.trainer, { ...aRequest, dataset_url: 'file:///data/reviews.zip' });
  const another = await createJob(two.trainer, { ...aRequest, dataset_url: 'file:///data/others.zip' });
  const upload = uuidV7();
  await new UploadRecords(storage).add('two', upload, { state: 'taken', bytes: 6, at: 1, job: null });
  await publish(storage, uploadFolder(upload), { 'dataset.zip': 'PK1234' });
  const uploaded = await createJob(two.trainer, { ...aRequest, dataset_url: uploadUrl(upload) });
  await two.trainer.close();
  return { storage, ready, running, local, another, uploaded, upload };
}

/** The records of a storage, without their versions. */
async function recordsOf(storage: Storage): Promise<string[]> {
  const lists = COPIED.map(async (collection) => {
    const records = await storage.list(collection, { limit: 10_000 });
    return records.map(({ key, value }) => `${JSON.stringify([collection, key, value])}\n`);
  });
  return (await Promise.all(lists)).flat();
}

describe('the copy of a storage', () => {
  it('has every record and folder, also checkpoints and uploads, and is counted', async () => {
    const { storage: from, ready, running, upload } = await aStorageInUse();
    const to = aMemoryStorage();
    const copied = await resultOf(copyStorage({ from, to }));
    const records = await recordsOf(from);
    expect(await recordsOf(to)).toEqual(records);
    expect(copied).toMatchObject({ accounts: 2, jobs: 5, unfinished: 4, local_datasets: 2 });
    expect(copied).toMatchObject({ folders: 3, files: 4, bytes: 'abc'.length + 'weights'.length + 5 + 6 });
    expect(copied.records).toBe(records.length);
    expect(copied.sha256.records).toBe(createHash('sha256').update(records.join('')).digest('hex'));
    const contentOf = (directory: string | undefined, file: string) => readFile(join(directory ?? '', file), 'utf8');
    expect(await contentOf(await to.openFolder(ready), 'inner/file')).toBe('abc');
    expect(await contentOf(await to.stageFolder(running), 'checkpoint')).toBe('12345');
    expect(await contentOf(await to.openFolder(uploadFolder(upload)), 'dataset.zip')).toBe('PK1234');
    expect(await to.openFolder(running)).toBeUndefined();
  });

  it('has the same hashes as its own copy, and other hashes after a change of a record or a file', async () => {
    const { storage: from, ready } = await aStorageInUse();
    const copyOf = async (storage: Storage) => {
      const to = aMemoryStorage();
      return { to, copied: await resultOf(copyStorage({ from: storage, to })) };
    };
    const first = await copyOf(from);
    const second = await copyOf(first.to);
    expect(second.copied).toEqual(first.copied);

    await publish(second.to, ready, { 'inner/file': 'abd', 'model.safetensors': 'weights' });
    const third = await copyOf(second.to);
    expect(third.copied.sha256.records).toBe(first.copied.sha256.records);
    expect(third.copied.sha256.files).not.toBe(first.copied.sha256.files);
    expect(countsOf(third.copied)).toEqual(countsOf(first.copied));

    await third.to.write('quota', 'one', { calls: 1 }, undefined);
    const fourth = await copyOf(third.to);
    expect(fourth.copied.sha256.records).not.toBe(first.copied.sha256.records);
    expect(fourth.copied.sha256.files).toBe(third.copied.sha256.files);
    expect(fourth.copied).toMatchObject({ accounts: 3, records: first.copied.records + 1, jobs: 5 });
  });

  it('adds the jobs that have not ended to a queue, oldest first, and no other', async () => {
    const { storage: from, running, local, another, uploaded } = await aStorageInUse();
    const added: string[] = [];
    const queue = {
      specificationVersion: 1,
      add: async ({ app_id, id }: { app_id: string; id: string }) => void added.push(`${app_id} ${id}`),
      cancel: async () => undefined,
      work: () => ({ close: async () => undefined }),
      close: async () => undefined,
    } as const;
    await resultOf(copyStorage({ from, to: aMemoryStorage(), queue }));
    expect(added).toEqual([`two ${running}`, `two ${local}`, `two ${another}`, `two ${uploaded}`]);
  });

  it.each(COPIED)('is refused if the target has a record of %s, which it names', async (collection) => {
    const to = aMemoryStorage();
    await to.write(collection, 'somebody/else', {}, undefined);
    const error = await errorOf(copyStorage({ from: aMemoryStorage(), to }));
    expect(error).toMatchObject({ code: 'storage', message: expect.stringContaining(`${collection}/somebody/else`) });
  });

  it('fails if something is written to the storage meanwhile', async () => {
    const { storage: from } = await aStorageInUse();
    await from.write('quota', 'one', { calls: 1 }, undefined);
    const medium = aMemoryStorage();
    const to = bound(medium);
    to.write = async (...args) => {
      if (args[0] === 'jobs') await from.remove('quota', 'one'); // after the copy of its collection
      return medium.write(...args);
    };
    expect(await errorOf(copyStorage({ from, to }))).toMatchObject({
      code: 'storage',
      message: expect.stringMatching(/^the copy \(\d+ records\) differs from the storage \(\d+ records\)/),
    });
  });

  it('fails if a folder does not arrive whole, and names it', async () => {
    const { storage: from, ready } = await aStorageInUse();
    const medium = aMemoryStorage();
    const to = bound(medium);
    to.publishFolder = async (key) => {
      if (key === ready) await writeFile(join(await medium.stageFolder(key), 'inner', 'file'), 'ab');
      await medium.publishFolder(key);
    };
    expect(await errorOf(copyStorage({ from, to }))).toMatchObject({
      code: 'storage',
      message: expect.stringContaining(`folder ${ready} differs`),
    });
  });
});
