import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inDirectory, unlinkWithEmptyParents } from '../../src/system/index.js';
import { aDirectory } from '../storage/temporary-place.js';

describe('inDirectory', () => {
  it('makes the directory before the change', async () => {
    const directory = join(await aDirectory(), 'a', 'b', 'c');
    await inDirectory(directory, () => writeFile(join(directory, 'file'), 'text'));
    expect(await readFile(join(directory, 'file'), 'utf8')).toBe('text');
  });

  it('makes the change again if the directory was removed in between', async () => {
    const directory = join(await aDirectory(), 'a', 'b');
    let attempts = 0;
    await inDirectory(directory, async () => {
      attempts += 1;
      if (attempts < 3) await rmdir(directory);
      await writeFile(join(directory, 'file'), 'text');
    });
    expect(attempts).toBe(3);
    expect(await readdir(directory)).toEqual(['file']);
  });

  it('fails with the error of the change', async () => {
    const directory = join(await aDirectory(), 'a');
    const full = () => Promise.reject(new Error('no space'));
    await expect(inDirectory(directory, full)).rejects.toThrow('no space');
    const absent = () => writeFile(join(directory, 'nowhere', 'file'), 'text');
    await expect(inDirectory(directory, absent)).rejects.toThrow('ENOENT');
  });
});

describe('unlinkWithEmptyParents', () => {
  it('deletes the directories that are then empty, up to the root', async () => {
    const root = await aDirectory();
    const file = join(root, 'a', 'b', 'c', 'file');
    const other = join(root, 'a', 'other');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '');
    await writeFile(other, '');
    expect(await unlinkWithEmptyParents(file, root)).toBe(true);
    expect(await readdir(join(root, 'a'))).toEqual(['other']);
    expect(await unlinkWithEmptyParents(other, root)).toBe(true);
    expect(await readdir(root)).toEqual([]);
  });

  it('does nothing if there is no such file', async () => {
    const root = await aDirectory();
    await mkdir(join(root, 'a'));
    expect(await unlinkWithEmptyParents(join(root, 'a', 'file'), root)).toBe(false);
    expect(await readdir(root)).toEqual(['a']);
  });

  it('loses no file that others put into the same directories at the same time', async () => {
    const root = await aDirectory();
    const file = (writer: number) => join(root, 'a', 'b', `file-${writer}`);
    const comeAndGo = async (writer: number) => {
      const path = file(writer);
      for (let round = 0; round < 100; round += 1) {
        await inDirectory(dirname(path), () => writeFile(path, String(round)));
        expect(await readFile(path, 'utf8')).toBe(String(round));
        await unlinkWithEmptyParents(path, root);
      }
    };
    await Promise.all([1, 2, 3].map(comeAndGo));
    expect(await readdir(root)).toEqual([]);
  });
});
