import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { flushDirectory, moveIfPresent, namesIn } from '../files/index.js';
import { decodeFileName, isHashedFileName } from './file-name.js';
import { readRecord } from './record-file.js';
import { EXTENSION, pathOfKey } from './record-path.js';

/** How many files are moved at once. */
const TOGETHER = 32;

/** The directories of the collections. */
export async function collectionsIn(records: string): Promise<string[]> {
  const names = await namesIn(records);
  return names.filter((name) => /^[a-z-]+$/.test(name)).map((name) => join(records, name));
}

/**
 * Moves the records of layout 1, which has one directory per collection with files `<key>.json`, to the
 * nested paths of layout 2. Can be repeated after a crash at any point, and called by several processes. Once
 * it resolves, its changes survive a power cut.
 */
export async function nestRecords(records: string): Promise<void> {
  for (const collection of await collectionsIn(records)) {
    const changed = new Set([collection]);
    const files = (await namesIn(collection)).filter((name) => name.endsWith(EXTENSION));
    await inGroups(files, async (file) => {
      const path = await nest(collection, file);
      if (path === undefined) return;
      for (let at = dirname(path); at !== collection; at = dirname(at)) changed.add(at);
    });
    await inGroups([...changed], flushDirectory);
  }
}

/** @returns the record's path; undefined if the file isn't ours. */
async function nest(collection: string, file: string): Promise<string | undefined> {
  const flat = join(collection, file);
  const name = file.slice(0, -EXTENSION.length);
  const key = isHashedFileName(name) ? (await readRecord(flat))?.key : decodeFileName(name);
  if (!key) return undefined;
  const path = join(collection, pathOfKey(key));
  if (path === flat) return path;
  await mkdir(dirname(path), { recursive: true });
  await moveIfPresent(flat, path);
  return path;
}

async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let next = 0; next < items.length; next += TOGETHER) {
    await Promise.all(items.slice(next, next + TOGETHER).map(work));
  }
}
