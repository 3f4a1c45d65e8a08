import { mkdir, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { flushDirectory, onceFree, unlinkIfPresent } from './durable-files.js';
import { failedWith } from './failed-with.js';

/** Each failure means that another process removed the directory between two calls. */
const MAX_ATTEMPTS = 100;

/**
 * Makes a change in a directory, which is created with its parents if it is missing; all of this then
 * survives a power cut. If {@link unlinkWithEmptyParents} removes the directory in between, the change is
 * made again.
 */
export async function inDirectory(directory: string, change: () => Promise<void>): Promise<void> {
  let topmost = directory;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const firstNew = await onceFree(() => mkdir(directory, { recursive: true }));
      if (firstNew !== undefined && firstNew.length <= topmost.length) topmost = dirname(firstNew);
      await change();
      break;
    } catch (thrown) {
      if (!failedWith(thrown, 'ENOENT') || attempt === MAX_ATTEMPTS) throw thrown;
    }
  }
  await Promise.all(directoriesUpTo(directory, topmost).map(flushIfPresent));
}

/**
 * Deletes a file, and then the directories above it that are empty, up to `root`, which stays.
 * @returns false if there is no such file.
 */
export async function unlinkWithEmptyParents(path: string, root: string): Promise<boolean> {
  if (!(await unlinkIfPresent(path))) return false;
  let directory = dirname(path);
  while (directory !== root && (await removeIfEmpty(directory))) directory = dirname(directory);
  while (!(await flushIfPresent(directory))) directory = dirname(directory);
  return true;
}

function directoriesUpTo(directory: string, topmost: string): string[] {
  const path = [directory];
  for (let at = directory; at.length > topmost.length; ) {
    at = dirname(at);
    path.push(at);
  }
  return path;
}

/** @returns false if the directory no longer exists. */
async function flushIfPresent(directory: string): Promise<boolean> {
  try {
    await flushDirectory(directory);
    return true;
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}

/**
 * @returns false if it stays. An empty one may stay on Windows, while a process reads it, which does no harm.
 */
async function removeIfEmpty(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
    return true;
  } catch {
    return false;
  }
}
