import { fsync, readdir as readdirOf, readFile as readFileOf } from 'node:fs';
import { access, link, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { failedWith } from './failed-with.js';

const ON_WINDOWS = process.platform === 'win32';
/**
 * Virus scanners and indexers keep files open for moments, in which Windows refuses to move or delete them.
 */
const WINDOWS_ATTEMPTS = 20;
const WINDOWS_PAUSE_MS = 50;

/**
 * Listings read many small files, which takes half as long with these as with their likes in
 * node:fs/promises.
 */
const readFile = promisify(readFileOf);
const readNames = promisify(readdirOf);
/** Yarn's Plug'n'Play has no `sync` of a FileHandle. */
const flush = promisify(fsync);

/** Creates a directory and its missing parents, all of which then survive a power cut. */
export async function ensureDirectory(path: string): Promise<void> {
  const firstNew = await mkdir(path, { recursive: true });
  if (firstNew === undefined) return;
  for (let made = path; made.length >= firstNew.length; made = dirname(made))
    await flushDirectory(dirname(made));
}

/**
 * Writes a new file and flushes it to the medium; {@link flushDirectory} does that for its directory entry.
 */
export async function writeFlushed(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await flush(file.fd);
  } finally {
    await file.close();
  }
}

/** Flushes every file and directory of a tree to the medium. */
export async function flushTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await flushTree(path);
    else if (entry.isFile()) await flushFile(path);
  }
  await flushDirectory(directory);
}

/** Flushes the entries of a directory (what was created, renamed or removed in it) to the medium. */
export async function flushDirectory(path: string): Promise<void> {
  if (ON_WINDOWS) return; // Windows has no such call: NTFS journals its directories
  try {
    await flushFile(path);
  } catch (thrown) {
    if (!failedWith(thrown, 'EINVAL', 'ENOTSUP')) throw thrown; // some network file systems can't
  }
}

async function flushFile(path: string): Promise<void> {
  const file = await open(path, ON_WINDOWS ? 'r+' : 'r'); // Windows flushes only what is open for writing
  try {
    await flush(file.fd);
  } finally {
    await file.close();
  }
}

/** Renames a file or directory; an existing file with the new name is replaced. */
export function move(from: string, to: string): Promise<void> {
  return onceFree(() => rename(from, to));
}

/** @returns false if there is nothing to move. */
export function moveIfPresent(from: string, to: string): Promise<boolean> {
  return onceFree(() => unless('ENOENT', rename(from, to)));
}

/** Gives a file a second name. @returns false if that name is taken. */
export function linkIfAbsent(existing: string, path: string): Promise<boolean> {
  return onceFree(() => unless('EEXIST', link(existing, path)));
}

/** Deletes a file. @returns false if there is none. */
export function unlinkIfPresent(path: string): Promise<boolean> {
  return onceFree(() => unless('ENOENT', unlink(path)));
}

/** Deletes what nobody can see any more; what can't be deleted now is left to the next sweep. */
export async function deleteUnseen(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}

/** The text of a file; undefined if there is none. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

/** The names in a directory; none if there is no such directory. */
export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readNames(directory);
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}

/** @returns false if nothing has this name. */
export function isPresent(path: string): Promise<boolean> {
  return unless('ENOENT', access(path));
}

/** @returns true if the call succeeded, false if it failed with this code. */
async function unless(code: string, call: Promise<void>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (thrown) {
    if (failedWith(thrown, code)) return false;
    throw thrown;
  }
}

/** Makes a system call; on Windows, repeats it for a second while another process has the file open. */
export async function onceFree<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (thrown) {
      const mayPass = ON_WINDOWS && failedWith(thrown, 'EPERM', 'EACCES', 'EBUSY');
      if (!mayPass || attempt === WINDOWS_ATTEMPTS) throw thrown;
      await delay(WINDOWS_PAUSE_MS);
    }
  }
}
