import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { failedWith } from '../../src/system/index.js';
import { aDirectory } from './temporary-place.js';

/** Whether this user may mount file systems here, as root may on most machines of our own. */
export const mayMount = canMount();

/** A disk of its own with this much room, gone when the running test has finished. */
export async function aSmallDisk(kilobytes: number): Promise<string> {
  const directory = await aDirectory();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', directory]);
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', directory]);
  });
  return directory;
}

export function remount(directory: string, how: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${how}`, directory]);
}

/** Writes a file until the disk has no byte left. @returns the error of the last write. */
export async function fill(directory: string, name = 'filling'): Promise<unknown> {
  const file = await open(join(directory, name), 'w');
  try {
    for (;;) await file.write(new Uint8Array(4096));
  } catch (thrown) {
    if (!failedWith(thrown, 'ENOSPC')) throw thrown;
    return thrown;
  } finally {
    await file.close();
  }
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
