import { randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { StorageError, ValidationError } from '../contract/index.js';
import { failedWith } from '../system/index.js';

/** Writes folders as a whole: a reader never sees half of one. */

/** How a kind of folder is recognized. */
interface FolderKind {
  /** A file in every such folder. */
  readonly marker: string;
  /** What the marker is, for messages. */
  readonly noun: string;
}

/** Checks that a folder is missing, empty, or of the same kind. @throws ValidationError if it holds anything else */
export async function requireReplaceable(folder: string, { marker, noun }: FolderKind, option: string): Promise<void> {
  const names = await namesIn(resolve(folder), option);
  if (names.length === 0 || names.includes(marker)) return;
  const listed = names.slice(0, 3).join(', ');
  const msg = `${folder} has ${listed}${names.length > 3 ? ', …' : ''}, but no ${noun}; give a new or empty folder`;
  throw new ValidationError([{ loc: [option], msg, type: 'not_empty' }]);
}

async function namesIn(directory: string, option: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return [];
    if (!failedWith(thrown, 'ENOTDIR')) throw thrown;
    const msg = `${directory} is a file; give a folder`;
    throw new ValidationError([{ loc: [option], msg, type: 'not_a_folder' }]);
  }
}

/**
 * Fills a temporary folder next to the target, then renames it, so that the target is always complete. Replaces an earlier
 * folder of the same kind.
 * @param write fills an empty folder.
 * @param option the name of the option that gave the folder, for errors.
 * @throws ValidationError if the target holds anything else, StorageError, and any error of `write`
 */
export async function writeFolder(
  folder: string,
  kind: FolderKind,
  write: (directory: string) => Promise<void>,
  option = 'folder',
): Promise<void> {
  await requireReplaceable(folder, kind, option);
  const target = resolve(folder);
  const sibling = (role: string) => join(dirname(target), `.${basename(target)}.${role}-${randomUUID()}`);
  const [made, earlier] = [sibling('new'), sibling('old')];
  try {
    await mkdir(made, { recursive: true });
    await write(made);
    await rename(target, earlier).catch((thrown: unknown) => {
      if (!failedWith(thrown, 'ENOENT')) throw thrown;
    });
    await rename(made, target);
    await rm(earlier, { recursive: true, force: true });
  } catch (thrown) {
    await rm(made, { recursive: true, force: true });
    if (!(thrown instanceof Error && 'syscall' in thrown)) throw thrown;
    throw new StorageError(`writing ${target}: ${thrown.message}`, { cause: thrown });
  }
}

/** Moves a folder to the place of an empty one. */
export async function moveInto(source: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true });
  await rename(source, directory).catch(async (thrown: unknown) => {
    if (!failedWith(thrown, 'EXDEV')) throw thrown;
    await copyInto(source, directory); // the other one is on another disk
    await rm(source, { recursive: true });
  });
}

/** Copies all files of a folder into another. */
export async function copyInto(source: string, directory: string): Promise<void> {
  await cp(source, directory, { recursive: true, dereference: true });
}
