import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type StoredUpload,
  UPLOADED_ZIP,
  UploadRecords,
  uploadFolder,
  uploadIn,
  uploadUrl,
} from '../../src/jobs/index.js';
import { aMemoryStorage, refuseWrites } from './builders.js';
import { idOf } from './some-jobs.js';

const waiting = { state: 'waiting', bytes: 3, at: 5, job: null } as const;
const [A, B, C] = [idOf(1), idOf(2), idOf(3)];
const idsOf = (uploads: readonly StoredUpload[]) => uploads.map(({ app_id, id }) => `${app_id} ${id}`);

describe('the dataset_url of an upload', () => {
  it('leads back to the upload', () => {
    expect(uploadIn(uploadUrl(A))).toBe(A);
  });

  it.each([
    `file:///elsewhere/${A}.zip`,
    `https://example.com/stored-upload/${A}.zip`,
    `file:///stored-upload/../${A}.zip`,
    'file:///stored-upload/reviews.zip',
    `file:///stored-upload/${A}.zip.zip`,
    `file:///stored-upload/${A}.zip?`,
  ])('is no other URL: %s', (url) => {
    expect(uploadIn(url)).toBeUndefined();
  });
});

describe('the records of uploads', () => {
  it('are found by account and id', async () => {
    const records = new UploadRecords(aMemoryStorage());
    const added = await records.add('a/b', A, waiting);
    expect(added).toMatchObject({ app_id: 'a/b', id: A, upload: waiting });
    expect(await records.find('a/b', A)).toEqual(added);
    expect(await records.find('a', A)).toBeUndefined();
    expect(await records.find('a/b', B)).toBeUndefined();
    expect(await records.find('a/b', '../a')).toBeUndefined();
  });

  it('are listed by age, those of one account or of all', async () => {
    const storage = aMemoryStorage();
    const records = new UploadRecords(storage);
    await records.add('one', A, { ...waiting, at: 3 });
    await records.add('one', B, { ...waiting, at: 1 });
    await records.add('one more', C, { ...waiting, at: 2 });
    await storage.write('uploads', 'nobody', waiting, undefined);
    await storage.write('uploads', `one/${C}`, { ...waiting, state: 'lost' }, undefined);
    expect(idsOf(await records.all())).toEqual([`one ${B}`, `one more ${C}`, `one ${A}`]);
    expect(idsOf(await records.all('one'))).toEqual([`one ${B}`, `one ${A}`]);
    expect(await records.find('one', C)).toBeUndefined();
  });

  it.each([
    ['a negative size', { bytes: -1 }],
    ['half a byte', { bytes: 0.5 }],
    ['an unknown field', { name: 'reviews.zip' }],
    ['no time', { at: null }],
  ])('are none with %s', async (_, change) => {
    const storage = aMemoryStorage();
    await storage.write('uploads', `one/${A}`, { ...waiting, ...change }, undefined);
    expect(await new UploadRecords(storage).find('one', A)).toBeUndefined();
  });

  it('change once, for the first of two who know the same', async () => {
    const records = new UploadRecords(aMemoryStorage());
    const known = await records.add('one', A, { ...waiting, bytes: 0 });
    const changed = await records.change(known, { state: 'taken', job: C });
    expect(changed).toMatchObject({ app_id: 'one', id: A, upload: { ...waiting, bytes: 0, state: 'taken', job: C } });
    expect(await records.change(known, { state: 'taken', job: B })).toBeUndefined();
    expect(await records.find('one', A)).toEqual(changed);
  });

  it('say why they can not be written', async () => {
    const storage = aMemoryStorage();
    const records = new UploadRecords(storage);
    const known = await records.add('one', A, waiting);
    refuseWrites(storage, 'uploads', new Error('no space'));
    await expect(records.change(known, { state: 'taken' })).rejects.toMatchObject({
      code: 'storage',
      message: 'no space',
    });
  });

  it('go with their zip, and stay if that can not be removed', async () => {
    const storage = aMemoryStorage();
    const records = new UploadRecords(storage);
    await records.add('one', A, waiting);
    await writeFile(join(await storage.stageFolder(uploadFolder(A)), UPLOADED_ZIP), 'PK');
    await storage.publishFolder(uploadFolder(A));
    const { removeFolder } = storage;
    storage.removeFolder = () => Promise.reject(new Error('locked'));
    await expect(records.remove('one', A)).rejects.toMatchObject({ code: 'storage' });
    expect(await records.find('one', A)).toBeDefined();
    storage.removeFolder = removeFolder;
    await records.remove('one', A);
    expect(await records.all()).toEqual([]);
    expect(await storage.openFolder(uploadFolder(A))).toBeUndefined();
  });
});
