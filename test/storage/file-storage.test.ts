import { mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/contract/errors.js';
import { fileStorage } from '../../src/storage/index.js';
import { ownedName } from '../../src/system/index.js';
import { anEndedName } from '../support/ended-process.js';
import { aDirectory } from './temporary-place.js';

const ON_WINDOWS = process.platform === 'win32';

describe('fileStorage on disk', () => {
  it('keeps records and folders for the next storage on the directory', async () => {
    const directory = await aDirectory();
    const before = fileStorage(directory);
    const version = await before.write('jobs', 'local/7', { status: 'READY' }, undefined);
    await writeFile(join(await before.stageFolder('m'), 'config.json'), '{}');
    await before.publishFolder('m');
    await writeFile(join(await before.stageFolder('m'), 'checkpoint.bin'), 'half way');
    await before.close();

    const after = fileStorage(directory);
    expect(await after.read('jobs', 'local/7')).toEqual({ value: { status: 'READY' }, version });
    expect(await readdir((await after.openFolder('m')) ?? '')).toEqual(['config.json']);
    expect(await readdir(await after.stageFolder('m'))).toEqual(['checkpoint.bin']);
  });

  it('names files so that a person finds them', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    const version = await storage.write('jobs', 'local/7', { status: 'READY' }, undefined);
    await storage.stageFolder('model-7');
    await storage.publishFolder('model-7');

    const path = join(directory, 'records', 'jobs', 'loc', 'al', '%2f', '7.json');
    const record = JSON.parse(await readFile(path, 'utf8'));
    expect(record).toEqual({ key: 'local/7', version, value: { status: 'READY' } });
    expect(await readdir(join(directory, 'folders', 'model-7'))).toEqual(['published-1']);
  });

  it('leaves no lock, temporary file, trash or earlier folder behind', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    const version = await storage.write('jobs', 'a', 1, undefined);
    await storage.write('jobs', 'a', 2, version);
    await expect(storage.write('jobs', 'a', 3, version)).rejects.toThrow('written by someone else');
    for (const _ of ['first', 'second']) {
      await storage.stageFolder('m');
      await storage.publishFolder('m');
    }
    await storage.stageFolder('removed');
    await storage.removeFolder('removed');

    for (const place of ['locks', 'temporary', 'trash']) expect(await readdir(join(directory, place))).toEqual([]);
    expect(await readdir(join(directory, 'folders', 'm'))).toEqual(['published-2']);
  });

  it('fails after its directory was deleted, until that is restored', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    await storage.write('jobs', 'a', 1, undefined);
    expect(await storage.list('jobs')).toHaveLength(1);
    await rename(directory, `${directory}-away`);
    const calls = [
      () => storage.read('jobs', 'a'),
      () => storage.write('jobs', 'b', 1, undefined),
      () => storage.list('jobs'),
      () => storage.stageFolder('m'),
      () => storage.openFolder('m'),
    ];
    for (const call of calls) {
      const message = expect.stringContaining(`${directory} was deleted or moved while it was in use`);
      await expect(call()).rejects.toMatchObject({ code: 'storage', isUnavailable: true, message });
    }
    await rename(`${directory}-away`, directory); // which fails where a call has made the directory anew
    expect(await storage.read('jobs', 'a')).toMatchObject({ value: 1 });
  });

  it('makes nothing on disk until something is written', async () => {
    const directory = join(await aDirectory(), 'new');
    const storage = fileStorage(directory);
    expect(await storage.read('jobs', 'a')).toBeUndefined();
    expect(await storage.list('jobs')).toEqual([]);
    expect(await storage.openFolder('m')).toBeUndefined();
    await storage.close();
    await expect(readdir(directory)).rejects.toThrow('ENOENT');
  });

  it('removes directories whose records were removed', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    for (const key of ['local/7', 'local/8', 'other/7']) await storage.write('jobs', key, 1, undefined);
    for (const key of ['local/7', 'other/7']) await storage.remove('jobs', key);
    expect(await readdir(join(directory, 'records', 'jobs'))).toEqual(['loc']);
    await storage.remove('jobs', 'local/8');
    expect(await readdir(join(directory, 'records', 'jobs'))).toEqual([]);
  });

  it('does not take foreign files for records', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    await storage.write('jobs', 'a', 1, undefined);
    for (const name of ['.DS_Store', 'a copy.json', 'A.json', 'notes.txt', 'abc', 'notes']) {
      await writeFile(join(directory, 'records', 'jobs', name), 'not ours');
    }
    expect((await storage.list('jobs')).map(({ key }) => key)).toEqual(['a']);
  });
});

describe('a listing of fileStorage, during which records are removed', () => {
  /** Five records. Those named are links to nothing: they are listed, and gone when they are read. */
  async function withoutSome(gone: readonly string[], long = '') {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    for (const key of 'abcde') await storage.write('jobs', key + long, key, undefined);
    const entries = await readdir(join(directory, 'records'), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      if (!gone.includes(JSON.parse(await readFile(path, 'utf8')).value)) continue;
      await rm(path);
      await symlink(join(directory, 'nowhere'), path);
    }
    return storage;
  }

  it.skipIf(ON_WINDOWS).each([
    [['a'], 3, false, ['b', 'c', 'd']],
    [['b', 'c'], 2, false, ['a', 'd']],
    [['a', 'b', 'c', 'd'], 2, false, ['e']],
    [['e', 'd'], 2, true, ['c', 'b']],
    [['a', 'b', 'c', 'd', 'e'], 1, false, []],
  ])('goes on after %j for %i records, reversed: %s', async (gone, limit, reverse, expected) => {
    const storage = await withoutSome(gone);
    expect((await storage.list('jobs', { limit, reverse })).map(({ value }) => value)).toEqual(expected);
  });

  it.skipIf(ON_WINDOWS)('leaves out one whose key is in its contents alone', async () => {
    const long = 'é'.repeat(199);
    const storage = await withoutSome(['b'], long);
    expect(await storage.listKeys('jobs')).toEqual(['a', 'c', 'd', 'e'].map((key) => key + long));
  });
});

describe('fileStorage after a crash', () => {
  it('opens the newer folder if a crash came before the earlier one was deleted, and deletes that', async () => {
    const directory = await aDirectory();
    const home = join(directory, 'folders', 'm');
    await mkdir(join(home, 'published-9'), { recursive: true });
    await mkdir(join(home, 'published-10'));

    const storage = fileStorage(directory);
    expect(await storage.openFolder('m')).toBe(join(home, 'published-10'));
    await storage.close();
    expect(await readdir(home)).toEqual(['published-10']);
  });

  it('deletes the trash and old temporary files, but not those that a living writer may hold', async () => {
    const directory = await aDirectory();
    await mkdir(join(directory, 'trash', 'half-deleted', 'onnx'), { recursive: true });
    await mkdir(join(directory, 'temporary'));
    await writeFile(join(directory, 'temporary', 'fresh'), '');
    await writeFile(join(directory, 'temporary', 'old'), '');
    const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
    await utimes(join(directory, 'temporary', 'old'), twoHoursAgo, twoHoursAgo);

    const storage = fileStorage(directory);
    await storage.list('jobs');
    await storage.close();
    expect(await readdir(join(directory, 'trash'))).toEqual([]);
    expect(await readdir(join(directory, 'temporary'))).toEqual(['fresh']);
  });
});

describe('fileStorage beside processes that were killed', () => {
  it('deletes at once what a dead process left, and nothing of a living one', async () => {
    const directory = await aDirectory();
    for (const place of ['temporary', 'locks']) await mkdir(join(directory, place));
    const dead = anEndedName();
    const living = ownedName();
    for (const name of [dead, living]) await writeFile(join(directory, 'temporary', name), 'a draft');
    await writeFile(join(directory, 'locks', 'dead'), anEndedName());
    await writeFile(join(directory, 'locks', 'dead.break'), anEndedName());
    await writeFile(join(directory, 'locks', 'living'), ownedName());

    const storage = fileStorage(directory);
    await storage.list('jobs');
    await storage.close();
    expect(await readdir(join(directory, 'temporary'))).toEqual([living]);
    expect(await readdir(join(directory, 'locks'))).toEqual(['living']);
  });
});

describe('fileStorage on a medium that fails', () => {
  it('names the record or folder, and what failed', async () => {
    const file = join(await aDirectory(), 'file');
    await writeFile(file, '');
    const storage = fileStorage(file);
    await expect(storage.write('jobs', 'a/b', 1, undefined)).rejects.toThrow(
      /^record jobs\/a\/b can't be written: ENOTDIR/,
    );
    await expect(storage.read('jobs', 'a/b')).rejects.toThrow(/^record jobs\/a\/b can't be read: ENOTDIR/);
    await expect(storage.list('jobs')).rejects.toThrow(/^collection jobs can't be listed: ENOTDIR/);
    await expect(storage.stageFolder('m')).rejects.toThrow(/^folder m can't be staged: /);
    await expect(storage.openFolder('m')).rejects.toThrow(StorageError);
  });

  it('works again once the medium does', async () => {
    const directory = await aDirectory();
    const root = join(directory, 'root');
    await writeFile(root, 'in the way');
    const storage = fileStorage(root);
    await expect(storage.write('jobs', 'a', 1, undefined)).rejects.toThrow(StorageError);
    await rm(root);
    await storage.write('jobs', 'a', 1, undefined);
    expect((await storage.read('jobs', 'a'))?.value).toBe(1);
  });

  it('hands on what is left of a record that a person has damaged, and lets it be replaced and removed', async () => {
    const directory = await aDirectory();
    const storage = fileStorage(directory);
    const version = await storage.write('jobs', 'a', 1, undefined);
    await storage.write('jobs', 'b', 2, undefined);
    const path = join(directory, 'records', 'jobs', 'a.json');
    await writeFile(path, '{ "key": "a"');
    const found = await storage.read('jobs', 'a');
    expect(found).toMatchObject({ value: '{ "key": "a"', damage: expect.stringContaining(path) });
    expect(await storage.list('jobs')).toMatchObject([{ key: 'a', damage: found?.damage }, { value: 2 }]);
    await expect(storage.write('jobs', 'a', 2, version)).rejects.toThrow('since it was read');
    await storage.write('jobs', 'a', 3, found?.version);
    expect(await storage.read('jobs', 'a')).toEqual({ value: 3, version: expect.any(String) });
    await writeFile(path, '');
    await storage.remove('jobs', 'a');
    expect(await storage.read('jobs', 'a')).toBeUndefined();
  });
});
