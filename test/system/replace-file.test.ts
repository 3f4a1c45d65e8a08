import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replaceFile } from '../../src/system/index.js';
import { aDirectory } from '../storage/temporary-place.js';

const ON_WINDOWS = process.platform === 'win32';

describe('replaceFile', () => {
  it('makes a file, and the directories to it', async () => {
    const directory = await aDirectory();
    const path = join(directory, 'a', 'b', 'keys.json');
    await replaceFile(path, 'first');
    expect(await readFile(path, 'utf8')).toBe('first');
  });

  it('replaces a file by text or bytes and leaves no draft', async () => {
    const directory = await aDirectory();
    const path = join(directory, 'checkpoint');
    await replaceFile(path, 'a longer content than the next');
    await replaceFile(path, Uint8Array.of(1, 2, 3));
    expect([...(await readFile(path))]).toEqual([1, 2, 3]);
    expect(await readdir(directory)).toEqual(['checkpoint']);
  });

  it('writes over a draft of its own name that a crash left', async () => {
    const directory = await aDirectory();
    const path = join(directory, 'checkpoint');
    const draft = `${path}.draft`;
    await writeFile(draft, 'cut short by a crash, and longer than the content');
    await replaceFile(path, 'whole', { draft });
    expect(await readFile(path, 'utf8')).toBe('whole');
    expect(await readdir(directory)).toEqual(['checkpoint']);
  });

  it.skipIf(ON_WINDOWS)('gives it the permissions asked for, whatever those of the earlier one', async () => {
    const path = join(await aDirectory(), 'keys.json');
    await writeFile(path, 'open to all');
    await chmod(path, 0o666);
    await replaceFile(path, 'secret', { mode: 0o600 });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('leaves the earlier content and no draft if it fails', async () => {
    const directory = await aDirectory();
    const path = join(directory, 'taken');
    await replaceFile(join(path, 'inside'), 'a directory has the name');
    await expect(replaceFile(path, 'new')).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY|EPERM/);
    expect(await readdir(directory)).toEqual(['taken']);
    expect(await readdir(path)).toEqual(['inside']);
    await rm(path, { recursive: true });
  });

  it('ends with the whole content of one of many writers', async () => {
    const path = join(await aDirectory(), 'file');
    const contents = Array.from({ length: 20 }, (_, writer) => `${writer} `.repeat(5000));
    await Promise.all(contents.map((content) => replaceFile(path, content)));
    expect(contents).toContain(await readFile(path, 'utf8'));
  });
});
