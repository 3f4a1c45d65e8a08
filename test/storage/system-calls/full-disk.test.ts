import { existsSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { fileStorage, type Storage } from '../../../src/storage/index.js';
import { failureOf } from '../../support/outcomes.js';
import { aDirectory } from '../temporary-place.js';

/**
 * A disk that is full until the reserve of the storage is deleted. No new file can be opened meanwhile, and no record deleted,
 * as on file systems that copy what they change.
 */

const disk = vi.hoisted(() => ({ isFull: false, code: 'ENOSPC', reserve: '' }));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const requireRoom = async () => {
    if (!disk.isFull || (disk.reserve !== '' && !existsSync(disk.reserve))) return;
    throw Object.assign(new Error('no space left on device'), { code: disk.code });
  };
  return {
    ...original,
    async open(...file: Parameters<typeof original.open>) {
      if (file[1] === 'wx') await requireRoom();
      return original.open(...file);
    },
    async unlink(path: string) {
      if (path.endsWith('.json')) await requireRoom();
      return original.unlink(path);
    },
  };
});

const RESERVE_BYTES = 1024 * 1024;

let directory: string;
let storage: Storage;
beforeEach(async () => {
  Object.assign(disk, { isFull: false, code: 'ENOSPC', reserve: '' });
  directory = await aDirectory();
  storage = fileStorage(directory);
});

/** Writes a record and fills the disk. @returns the version of the record. */
async function fill(): Promise<string> {
  const version = await storage.write('jobs', 'a', 1, undefined);
  Object.assign(disk, { isFull: true, reserve: join(directory, 'reserve') });
  return version;
}

const hasReserve = () => existsSync(join(directory, 'reserve'));

describe('the reserve', () => {
  it('is one megabyte, made with the first record', async () => {
    await storage.list('jobs');
    await storage.close();
    expect(await readdir(directory)).toEqual([]);
    await storage.write('jobs', 'a', 1, undefined);
    expect((await stat(join(directory, 'reserve'))).size).toBe(RESERVE_BYTES);
  });

  it('is made anew by the next storage where it is missing or cut off', async () => {
    await storage.write('jobs', 'a', 1, undefined);
    for (const spoil of [(path: string) => rm(path), (path: string) => writeFile(path, 'cut off')]) {
      await spoil(join(directory, 'reserve'));
      const next = fileStorage(directory);
      await next.read('jobs', 'a');
      await next.close();
      expect((await stat(join(directory, 'reserve'))).size).toBe(RESERVE_BYTES);
    }
  });

  it('is not touched by an ordinary write on a full disk, which fails', async () => {
    const version = await fill();
    const error = await failureOf('storage', () => storage.write('jobs', 'a', 2, version));
    expect(error.message).toContain('no space left on device');
    expect(hasReserve()).toBe(true);
    expect(await storage.read('jobs', 'a')).toEqual({ value: 1, version });
  });

  it.each(['ENOSPC', 'EDQUOT'])('is freed by an urgent write, which then succeeds: %s', async (code) => {
    disk.code = code;
    const version = await fill();
    const next = await storage.write('jobs', 'a', 2, version, { isUrgent: true });
    expect(await storage.read('jobs', 'a')).toEqual({ value: 2, version: next });
    expect(hasReserve()).toBe(false);
  });

  it('is freed by the removal of a record, too', async () => {
    await fill();
    await storage.remove('jobs', 'a');
    expect(await storage.read('jobs', 'a')).toBeUndefined();
    expect(hasReserve()).toBe(false);
  });

  it('is not freed for another failure than a full disk', async () => {
    const version = await fill();
    disk.code = 'EIO';
    await failureOf('storage', () => storage.write('jobs', 'a', 2, version, { isUrgent: true }));
    expect(hasReserve()).toBe(true);
  });

  it('helps once: without it, an urgent write fails as well', async () => {
    const version = await fill();
    await rm(join(directory, 'reserve'));
    disk.reserve = '';
    await failureOf('storage', () => storage.write('jobs', 'a', 2, version, { isUrgent: true }));
    expect(await storage.read('jobs', 'a')).toEqual({ value: 1, version });
  });
});
