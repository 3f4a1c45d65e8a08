import { type Dirent, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { err, ok, type Result } from 'neverthrow';
import type { DatasetError } from '../errors.js';
import { DEFAULT_MAX_ARCHIVE_ENTRIES, isClutter } from './archive-limits.js';
import { count, singleProblem, someOf } from './problems.js';

/** The file that marks a dataset's folder; spelled exactly so. */
export const CONFIG_FILE = 'config.json';

/** How problems call the archive as a whole. */
const THE_ARCHIVE = 'the archive';

/** A dataset on disk: the folder that holds config.json. */
export interface ArchiveFolder {
  readonly path: string;
  /** Every regular file below, as paths relative to the folder with "/", sorted; links are not followed. */
  readonly files: readonly string[];
}

/** A file of an archive. */
export interface ArchiveFile {
  readonly path: string;
  /** Relative to the archive's folder, with "/"; how problems call it. */
  readonly name: string;
}

/** Finds the one folder with config.json in an unzipped archive: `directory` itself or any folder below it. */
export function openArchive(directory: string): Result<ArchiveFolder, DatasetError> {
  const listing = listFiles(directory);
  if (listing.isErr()) return err(listing.error);
  const files = listing.value;
  const [config, ...others] = files.filter((file) => posix.basename(file) === CONFIG_FILE);
  if (config === undefined) return err(notOneConfig(`found no ${CONFIG_FILE} among ${someOf(files)}`));
  if (others.length > 0) return err(notOneConfig(`found ${someOf([config, ...others])}`));
  const folder = posix.dirname(config);
  const prefix = folder === '.' ? '' : `${folder}/`;
  return ok({
    path: join(directory, folder),
    files: files.filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length)),
  });
}

/** A file of the archive by its exact name, or undefined where it isn't there. */
export function archiveFile(archive: ArchiveFolder, name: string): ArchiveFile | undefined {
  return archive.files.includes(name) ? { path: join(archive.path, name), name } : undefined;
}

function notOneConfig(found: string): DatasetError {
  return singleProblem({ file: THE_ARCHIVE, found, expected: `one folder with a file ${CONFIG_FILE}` });
}

function listFiles(directory: string): Result<string[], DatasetError> {
  const files: string[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let entries: Dirent[];
    try {
      entries = readdirSync(join(directory, folder), { withFileTypes: true });
    } catch (thrown) {
      const file = folder === '' ? THE_ARCHIVE : folder;
      return err(singleProblem({ file, found: "it can't be read", expected: 'a readable folder' }, thrown));
    }
    for (const entry of entries) {
      const name = posix.join(folder, entry.name);
      if (isClutter(name)) continue;
      if (entry.isDirectory()) folders.push(name);
      if (entry.isFile()) files.push(name);
    }
    if (files.length + folders.length > DEFAULT_MAX_ARCHIVE_ENTRIES) return err(tooManyFiles());
  }
  return ok(files.sort());
}

function tooManyFiles(): DatasetError {
  const most = count(DEFAULT_MAX_ARCHIVE_ENTRIES);
  return singleProblem({
    file: THE_ARCHIVE,
    found: `found more than ${most} files`,
    expected: `the folder of one dataset, with at most ${most}`,
  });
}
