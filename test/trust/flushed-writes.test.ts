import type { PathLike } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What is on the medium before a write is acknowledged: the operating system is asked to flush it. */

const flushed: string[] = [];

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const fsync: typeof fs.fsync = Object.assign(
    (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
      flushed.push(fs.readlinkSync(`/proc/self/fd/${fd}`));
      fs.fsync(fd, done);
    },
    { __promisify__: fs.fsync.__promisify__ },
  );
  return { ...fs, fsync };
});

const { fileStorage } = await import('../../src/storage/index.js');

beforeEach(() => {
  flushed.length = 0;
});

const isFlushed = (path: PathLike) => flushed.includes(String(path));

describe.skipIf(process.platform !== 'linux')('a file storage', () => {
  it('has flushed a record and the folder that names it', async () => {
    const root = temporaryDirectory();
    const storage = fileStorage(root);
    await storage.write('jobs', 'local/a', { count: 1 }, undefined);
    const records = flushed.filter((path) => path.startsWith(root));
    const folders = records.filter((path) => basename(path) === basename(dirname(join(path, 'x'))));
    expect(records.some((path) => /json|draft|temporary/.test(path))).toBe(true);
    expect(folders.some((path) => path.startsWith(join(root, 'records')))).toBe(true);
    await storage.close();
  });

  it('has flushed every file and folder of a model folder when it is published', async () => {
    const storage = fileStorage(temporaryDirectory());
    const directory = await storage.stageFolder('a');
    await mkdir(join(directory, 'inner'));
    await writeFile(join(directory, 'model.safetensors'), 'weights');
    await writeFile(join(directory, 'inner', 'more.json'), '{}');
    await storage.publishFolder('a');
    for (const name of ['', 'model.safetensors', 'inner', 'inner/more.json']) {
      expect([name, isFlushed(join(directory, name))]).toEqual([name, true]);
    }
    await storage.close();
  });
});
