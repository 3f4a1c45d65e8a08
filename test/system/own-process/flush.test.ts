import { fstatSync } from 'node:fs';
import { mkdir, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { linkIfAbsent } from '../../../src/system/files.js';
import { flushDirectory, flushTree, move, unlinkIfPresent, unlinkWithEmptyParents } from '../../../src/system/index.js';
import { aDirectory } from '../../storage/temporary-place.js';

/** Every flush of an open file: its inode, and how it fails. The file system is watched, so this file has a process of its own. */
const flushes = vi.hoisted(
  (): { made: number[]; failure: string | undefined; isOnce: boolean; isMissing: boolean } => ({
    made: [],
    failure: undefined,
    isOnce: false,
    isMissing: false,
  }),
);

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  return {
    ...original,
    async open(...given: Parameters<typeof original.open>) {
      const file = await original.open(...given);
      const sync = async () => {
        const code = flushes.failure;
        if (flushes.isOnce) flushes.failure = undefined;
        if (code !== undefined) throw Object.assign(new Error('fsync'), { code });
        flushes.made.push(fstatSync(file.fd).ino);
      };
      Object.assign(file, { sync: flushes.isMissing ? undefined : sync });
      return file;
    },
  };
});

beforeEach(() => {
  Object.assign(flushes, { made: [], failure: undefined, isOnce: false, isMissing: false });
});

const ON_WINDOWS = process.platform === 'win32';

describe.skipIf(ON_WINDOWS)('a flush', () => {
  it('of a directory is passed over on a file system that has none, and fails where the disk does', async () => {
    const directory = await aDirectory();
    for (const code of ['EINVAL', 'ENOTSUP']) {
      flushes.failure = code;
      await flushDirectory(directory);
    }
    flushes.failure = 'EIO';
    await expect(flushDirectory(directory)).rejects.toMatchObject({ code: 'EIO' });
  });

  it('of a tree is one of each file and directory, the directories after what is in them', async () => {
    const directory = await aDirectory();
    const inner = join(directory, 'inner');
    await mkdir(inner);
    const files = [join(directory, 'file'), join(inner, 'file')];
    for (const file of files) await writeFile(file, 'text');
    await symlink('file', join(directory, 'link'));
    await flushTree(directory);
    const inodeOf = async (path: string) => (await stat(path)).ino;
    const inodes = await Promise.all([...files, inner, directory].map(inodeOf));
    expect([...flushes.made].sort()).toEqual(inodes.sort());
    expect(flushes.made.at(-1)).toBe(await inodeOf(directory));
    expect(flushes.made.indexOf(await inodeOf(inner))).toBeGreaterThan(
      flushes.made.indexOf(await inodeOf(files[1] ?? '')),
    );
  });

  it('after a deletion is one of the lowest directory that is left, also if another process removes one meanwhile', async () => {
    const directory = await aDirectory();
    const inner = join(directory, 'a', 'b');
    await mkdir(inner, { recursive: true });
    for (const name of ['file', 'other']) await writeFile(join(inner, name), 'text');
    Object.assign(flushes, { failure: 'ENOENT', isOnce: true });
    expect(await unlinkWithEmptyParents(join(inner, 'file'), directory)).toBe(true);
    expect(flushes.made).toEqual([(await stat(join(directory, 'a'))).ino]);
    flushes.made = [];
    expect(await unlinkWithEmptyParents(join(inner, 'other'), directory)).toBe(true);
    expect(flushes.made).toEqual([(await stat(directory)).ino]);
    await writeFile(join(directory, 'last'), 'text');
    Object.assign(flushes, { failure: 'EIO', isOnce: false });
    await expect(unlinkWithEmptyParents(join(directory, 'last'), directory)).rejects.toMatchObject({ code: 'EIO' });
  });

  it('is made without the method of a file, which not every file system in a program has', async () => {
    flushes.isMissing = true;
    await flushDirectory(await aDirectory());
    expect(flushes.made).toEqual([]);
  });
});

describe('a change in a directory', () => {
  it('says whether there was anything to change, and fails for any other reason', async () => {
    const directory = await aDirectory();
    const [file, other] = [join(directory, 'file'), join(directory, 'other')];
    await writeFile(file, 'text');
    expect([await linkIfAbsent(file, other), await linkIfAbsent(file, other)]).toEqual([true, false]);
    expect([await unlinkIfPresent(other), await unlinkIfPresent(other)]).toEqual([true, false]);
    await expect(linkIfAbsent(other, file)).rejects.toThrow('ENOENT');
    await expect(move(other, file)).rejects.toThrow('ENOENT');
    await rename(file, other);
    await move(other, file);
    expect((await stat(file)).isFile()).toBe(true);
  });
});
