/** Writing a model where an application wants it. */
import { randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { StorageError, ValidationError } from '../errors.js';
import { failedWith } from '../files/index.js';

/** How a folder of ours is known. */
export interface FolderKind {
  /** A file that every such folder has. */
  readonly marker: string;
  /** What it holds, in words. */
  readonly noun: string;
}

/** A folder that can be replaced: absent, empty, or of the same kind. @throws ValidationError for any other, StorageError */
export async function requireReplaceable(
  folder: string,
  { marker, noun }: FolderKind,
  option: string,
): Promise<void> {
  const names = await namesIn(resolve(folder), option);
  if (names.length === 0 || names.includes(marker)) return;
  const listed = names.slice(0, 3).join(', ');
  const msg = `${folder} has ${listed}${names.length > 3 ? ', …' : ''}, but no ${noun}; name a new folder, or an empty one`;
  throw new ValidationError([{ loc: [option], msg, type: 'not_empty' }]);
}

async function namesIn(directory: string, option: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (failedWith(thrown, 'ENOENT')) return [];
    if (!failedWith(thrown, 'ENOTDIR')) throw thrown;
    const msg = `${directory} is a file; name a folder`;
    throw new ValidationError([{ loc: [option], msg, type: 'not_a_folder' }]);
  }
}

/**
 * Makes a folder of files beside the place it belongs, then moves it there, so that what is there is always whole. An
 * earlier one of its kind is replaced.
 * @param write fills an empty folder.
 * @param option what the folder was given as, for errors.
 * @throws ValidationError where the place is taken by something else, StorageError, what `write` throws
 */
export async function writeFolder(
  folder: string,
  kind: FolderKind,
  write: (directory: string) => Promise<void>,
  option = 'folder',
): Promise<void> {
  await requireReplaceable(folder, kind, option);
  const target = resolve(folder);
  const beside = (role: string) => join(dirname(target), `.${basename(target)}.${role}-${randomUUID()}`);
  const [made, earlier] = [beside('new'), beside('old')];
  try {
    await mkdir(made, { recursive: true });
    await write(made);
    const wasThere = await rename(target, earlier).then(
      () => true,
      (thrown: unknown) => absentOnly(thrown),
    );
    await rename(made, target);
    if (wasThere) await rm(earlier, { recursive: true, force: true });
  } catch (thrown) {
    await rm(made, { recursive: true, force: true });
    if (!(thrown instanceof Error && 'syscall' in thrown)) throw thrown;
    throw new StorageError(`writing ${target}: ${thrown.message}`, { cause: thrown });
  }
}

function absentOnly(thrown: unknown): false {
  if (failedWith(thrown, 'ENOENT')) return false;
  throw thrown;
}

/** Makes an empty folder the one that another was, which is gone then. */
export async function moveInto(source: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true });
  await rename(source, directory).catch(async (thrown: unknown) => {
    if (!failedWith(thrown, 'EXDEV')) throw thrown;
    await copyInto(source, directory); // the other one is on another disk
    await rm(source, { recursive: true });
  });
}

/** Copies all files of a folder. */
export async function copyInto(source: string, directory: string): Promise<void> {
  await cp(source, directory, { recursive: true, dereference: true });
}
