import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileLocks, ownedName } from '../../src/system/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { anEndedName } from '../support/ended-process.js';

const CONTENDERS = 10;

describe('FileLocks', () => {
  it('lets one holder in at a time, even of several instances', async () => {
    const { directory } = await aLockDirectory();
    expect(await mostTogether(directory)).toBe(1);
  });

  it('lets different names be held together', async () => {
    const { locks } = await aLockDirectory();
    const inner = await locks.hold('a', () => locks.hold('b', async () => 'both'));
    expect(inner).toBe('both');
  });

  it('is free again after work that failed', async () => {
    const { locks } = await aLockDirectory();
    await expect(locks.hold('a', () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck');
    expect(await locks.hold('a', async () => 'free')).toBe('free');
  });

  it('breaks the lock of a process that has ended, and still lets one holder in at a time', async () => {
    const { directory } = await aLockDirectory();
    for (let round = 0; round < 20; round++) {
      await leaveLock(directory, 'a', anEndedName());
      expect(await mostTogether(directory)).toBe(1);
    }
  });

  it('breaks the lock of a process that ended while it was breaking a lock', async () => {
    const { directory } = await aLockDirectory();
    await leaveLock(directory, 'a', anEndedName());
    await leaveLock(directory, 'a.break', anEndedName());
    expect(await mostTogether(directory)).toBe(1);
  });

  it.runIf(process.platform === 'linux')('breaks the lock of an earlier process with a reused pid', async () => {
    const { directory, locks } = await aLockDirectory();
    await leaveLock(directory, 'a', ownedName().replace(/\.\d+\./, '.1.'));
    expect(await locks.hold('a', async () => 'held')).toBe('held');
  });

  it('breaks a lock whose file a power cut left empty', async () => {
    const { directory, locks } = await aLockDirectory();
    await writeFile(join(directory, 'a'), '');
    expect(await locks.hold('a', async () => 'held')).toBe('held');
  });

  it('tells a holder whose lock was taken away, and leaves the new holder its lock', async () => {
    const { directory, locks } = await aLockDirectory();
    await locks.hold('a', async (lock) => {
      await rm(join(directory, 'a'));
      await writeFile(join(directory, 'a'), 'of another');
      await expect(lock.confirm()).rejects.toThrow('taken by another process');
    });
    expect(await readdir(directory)).toContain('a');
  });

  it('waits for a holder on another machine as long as it shows signs of life, and no longer', async () => {
    const { directory, temporary } = await aLockDirectory();
    const locks = new FileLocks(directory, temporary, { silenceMs: 20, maxPauseMs: 1 });
    await leaveLock(directory, 'a', anEndedName().replace(/\.[0-9a-f]{16}\./, `.${'0'.repeat(16)}.`));
    let signs = 0;
    const signOfLife = async () => {
      signs = Math.min(50, signs + 1);
      return String(signs);
    };
    expect(await locks.hold('a', async () => signs, { signOfLife })).toBe(50);
  });

  it('is waited for until a signal fires', async () => {
    const { directory, locks } = await aLockDirectory();
    await leaveLock(directory, 'a', ownedName());
    const stop = new AbortController();
    const signOfLife = async () => {
      stop.abort(new Error('enough'));
      return '';
    };
    await expect(locks.hold('a', async () => 'held', { signal: stop.signal, signOfLife })).rejects.toThrow();
    expect((await readdir(directory)).sort()).toEqual(['a', 'temporary']);
  });

  it('leaves nothing behind', async () => {
    const { directory, temporary } = await aLockDirectory();
    await leaveLock(directory, 'a', anEndedName());
    await mostTogether(directory);
    expect(await readdir(directory)).toEqual(['temporary']);
    expect(await readdir(temporary)).toEqual([]);
  });
});

async function aLockDirectory() {
  const directory = await aDirectory();
  const temporary = join(directory, 'temporary');
  await mkdir(temporary);
  return { directory, temporary, locks: new FileLocks(directory, temporary) };
}

/** Contends for lock `a` from many instances; @returns how many were in at once, at most. */
async function mostTogether(directory: string): Promise<number> {
  let together = 0;
  let most = 0;
  const contend = () =>
    new FileLocks(directory, join(directory, 'temporary')).hold('a', async () => {
      together += 1;
      most = Math.max(most, together);
      for (let turn = 0; turn < 20; turn++) await readdir(directory); // lets every other contender try
      together -= 1;
    });
  await Promise.all(Array.from({ length: CONTENDERS }, contend));
  return most;
}

async function leaveLock(directory: string, name: string, holder: string): Promise<void> {
  await writeFile(join(directory, name), holder);
}
