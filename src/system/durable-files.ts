import { randomUUID } from 'node:crypto';
import { fsync, readdir as readdirOf, readFile as readFileOf } from 'node:fs';
import { access, link, mkdir, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type * as z from 'zod';

const ON_WINDOWS = process.platform === 'win32';
/**
 * Virus scanners and indexers keep files open for moments, in which Windows refuses to move or delete them.
 */
const WINDOWS_ATTEMPTS = 20;
const WINDOWS_PAUSE_MS = 50;

/** Listings read many small files, which takes half as long with these as with node:fs/promises. */
const readFile = promisify(readFileOf);
const readNames = promisify(readdirOf);
/** Yarn's Plug'n'Play has no `sync` of a FileHandle. */
const flush = promisify(fsync);

/** How often a change in a directory is tried that other processes keep removing. */
const MAX_ATTEMPTS = 100;

/** True for the error of a system call that failed with one of these codes, such as `ENOENT`. */
export function failedWith(thrown: unknown, ...codes: string[]): boolean {
  return thrown instanceof Error && 'code' in thrown && codes.some((code) => code === thrown.code);
}

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

/** Deletes something that is no longer in use; what can't be deleted now is left to the next sweep. */
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
async function onceFree<T>(call: () => Promise<T>): Promise<T> {
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

export interface ReplaceOptions {
  /** Permissions of the file. Default: what the umask leaves of 0o666. */
  readonly mode?: number;
  /**
   * Where the content is written before it is renamed to the file, on the same file system. What a crash left
   * there is overwritten. Default: a new name in the same directory, so that there may be any number of writers.
   */
  readonly draft?: string;
}

/**
 * Writes a file and flushes it to the medium; its directory is created if it is missing. Readers find the
 * whole earlier or the whole new content, even after a crash at any point.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, draft = `${path}.${randomUUID()}.draft` }: ReplaceOptions = {},
): Promise<void> {
  await ensureDirectory(dirname(path));
  await deleteUnseen(draft); // an existing one would keep its permissions
  try {
    await writeFlushed(draft, content, mode);
    await move(draft, path);
  } catch (thrown) {
    await deleteUnseen(draft);
    throw thrown;
  }
  await flushDirectory(dirname(path));
}

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

/** The value of a JSON text; undefined if it isn't JSON or doesn't fit the schema. */
export function parseJson<S extends z.ZodType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
