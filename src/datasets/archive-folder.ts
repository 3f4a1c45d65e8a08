import { type Dirent, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { DatasetError } from '../contract/index.js';
import { DEFAULT_MAX_ARCHIVE_ENTRIES, isClutter } from './archive-limits.js';
import { count, singleProblem, someOf } from './problems.js';

/** The file that marks a dataset's folder; upper and lower case matter. */
export const CONFIG_FILE = 'config.json';

/** What problems call the archive as a whole. */
const THE_ARCHIVE = 'the archive';

/** A dataset on disk: the folder with config.json, or with the file that marks it instead. */
export interface ArchiveFolder {
  readonly path: string;
  /**
   * The paths of all regular files in it, relative to the folder, with "/", sorted. Links are not followed.
   */
  readonly files: readonly string[];
}

/** A file of an archive. */
export interface ArchiveFile {
  readonly path: string;
  /** The path relative to the archive's folder, with "/", which problems name. */
  readonly name: string;
}

/**
 * Finds the one folder with config.json in an unzipped archive: `directory` itself or any folder below it.
 * @param markers names of files that can mark the folder; the first of them that exists decides.
 * @throws DatasetError
 */
export function openArchive(directory: string, markers: readonly string[] = [CONFIG_FILE]): ArchiveFolder {
  const files = listFiles(directory);
  const named = (marker: string) => files.filter((file) => posix.basename(file) === marker);
  const [marked, ...others] = markers.map(named).find(({ length }) => length > 0) ?? [];
  if (marked === undefined) throw notOneFolder(markers, `found no ${markers.join(' or ')} among ${someOf(files)}`);
  if (others.length > 0) throw notOneFolder(markers, `found ${someOf([marked, ...others])}`);
  const folder = posix.dirname(marked);
  const prefix = folder === '.' ? '' : `${folder}/`;
  return {
    path: join(directory, folder),
    files: files.filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length)),
  };
}

/** A file of the archive by its exact name; undefined if there is none. */
export function archiveFile(archive: ArchiveFolder, name: string): ArchiveFile | undefined {
  return archive.files.includes(name) ? { path: join(archive.path, name), name } : undefined;
}

function notOneFolder(markers: readonly string[], found: string): DatasetError {
  const expected = `one folder with a file ${markers.join(' or ')}`;
  return singleProblem({ file: THE_ARCHIVE, found, expected });
}

function listFiles(directory: string): string[] {
  const files: string[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let entries: Dirent[];
    try {
      entries = readdirSync(join(directory, folder), { withFileTypes: true });
    } catch (thrown) {
      const file = folder === '' ? THE_ARCHIVE : folder;
      throw singleProblem({ file, found: "it can't be read", expected: 'a readable folder' }, thrown);
    }
    for (const entry of entries) {
      const name = posix.join(folder, entry.name);
      if (isClutter(name)) continue;
      if (entry.isDirectory()) folders.push(name);
      if (entry.isFile()) files.push(name);
    }
    if (files.length + folders.length > DEFAULT_MAX_ARCHIVE_ENTRIES) throw tooManyFiles();
  }
  return files.sort();
}

function tooManyFiles(): DatasetError {
  const most = count(DEFAULT_MAX_ARCHIVE_ENTRIES);
  return singleProblem({
    file: THE_ARCHIVE,
    found: `found more than ${most} files`,
    expected: `the folder of one dataset, with at most ${most}`,
  });
}
