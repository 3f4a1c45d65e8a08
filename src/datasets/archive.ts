import { type Dirent, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import * as z from 'zod';
import type { DatasetError } from '../contract/index.js';
import { isPauseDue, mapWithPauses, pause } from '../system/index.js';
import { DEFAULT_MAX_ARCHIVE_ENTRIES, isClutter } from './archive-limits.js';
import { byIndex, checkIndices, type JsonMember, jsonValue, readJsonFile } from './json-file.js';
import { counted, grouped, type ProblemList, quoted, singleProblem, someOf } from './problems.js';

/** The file that marks a dataset's folder; upper and lower case matter. */
export const CONFIG_FILE = 'config.json';

const THE_ARCHIVE = 'the archive';

export interface ArchiveFolder {
  readonly path: string;
  /** The paths of all regular files in it, relative to the folder, with "/", sorted. Links are not followed. */
  readonly files: readonly string[];
}

export interface ArchiveFile {
  readonly path: string;
  /** The path relative to the archive's folder, with "/", which problems name. */
  readonly name: string;
}

/**
 * Finds the one folder with config.json, or another marker, in an unzipped archive; the first marker that exists
 * decides.
 * @throws DatasetError
 */
export function openArchive(directory: string, markers: readonly string[] = [CONFIG_FILE]): ArchiveFolder {
  const files = listFiles(directory);
  const named = (marker: string) => files.filter((file) => posix.basename(file) === marker);
  const [marked, ...others] = markers.map(named).find(({ length }) => length > 0) ?? [];
  if (marked === undefined) {
    const none = `found no ${markers.join(' or ')} among ${someOf(files)}`;
    throw notOneFolder(markers, files.length === 0 ? 'found no files' : none);
  }
  if (others.length > 0) throw notOneFolder(markers, `found ${someOf([marked, ...others])}`);
  const folder = posix.dirname(marked);
  const prefix = folder === '.' ? '' : `${folder}/`;
  return {
    path: join(directory, folder),
    files: files.filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length)),
  };
}

export function archiveFile(archive: ArchiveFolder, name: string): ArchiveFile | undefined {
  return archive.files.includes(name) ? { path: join(archive.path, name), name } : undefined;
}

function notOneFolder(markers: readonly string[], found: string): DatasetError {
  const expected = `one folder with a ${markers.join(' or ')}`;
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
  const most = grouped(DEFAULT_MAX_ARCHIVE_ENTRIES);
  return singleProblem({
    file: THE_ARCHIVE,
    found: `found more than ${most} files`,
    expected: `the folder of one dataset, with at most ${most}`,
  });
}

// The messages of these schemas say what is expected, as words that follow "expected" in a problem.
const text = z.string('a string');
const fileName = text.min(1, 'the name of a file in the archive');

/** The fields that config.json has for every task; unknown ones are allowed. `desc` isn't used. */
export const archiveConfigSchema = z.looseObject(
  { desc: text.default(''), DATASET_NAME: text, DATA_DIR: text },
  'an object with the fields DATASET_NAME, DATA_DIR, TRAIN_FILE and DEV_FILE and, for text classification, field_names and NUM_CLASS_LABELS; for sequence labelling, all fields are optional',
);

/** The fields of a task whose splits are single files. TEST_FILE may be empty; training doesn't read it. */
export const splitFilesSchema = archiveConfigSchema.extend({
  TRAIN_FILE: fileName,
  DEV_FILE: fileName,
  TEST_FILE: text.optional(),
});

export type ArchiveConfig = z.infer<typeof archiveConfigSchema>;

/** Reads config.json; a missing one counts as an empty object. Each field that doesn't fit becomes a problem. */
export async function readArchiveConfig<Schema extends z.ZodType>(
  archive: ArchiveFolder,
  schema: Schema,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<z.infer<Schema> | undefined> {
  const file = archiveFile(archive, CONFIG_FILE);
  const json = file ? await readJsonFile(file.path, file.name, problems, signal) : { value: {} };
  if (json === undefined) return undefined;
  const parsed = schema.safeParse(jsonValue(json), { reportInput: true });
  if (parsed.success) return parsed.data;
  for (const { path, input, message } of parsed.error.issues) {
    const found = input === undefined ? 'the field is missing' : `found ${quoted(input)}`;
    const place = { file: CONFIG_FILE, ...(path.length > 0 && { column: path.join('.') }) };
    problems.add({ ...place, found, expected: message });
  }
  return undefined;
}

/** A file in DATA_DIR (often a path on its author's machine) or, if it isn't there, next to config.json. */
export function findDataFile(archive: ArchiveFolder, config: ArchiveConfig, name: string): ArchiveFile | undefined {
  for (const place of placesInside(config, name)) {
    const file = archiveFile(archive, place);
    if (file) return file;
  }
  return undefined;
}

/** As {@link findDataFile}, for the name that a field of config.json gives; adds a problem if there is no such file. */
export function findConfiguredFile(
  archive: ArchiveFolder,
  config: ArchiveConfig,
  field: string,
  written: string,
  problems: ProblemList,
): ArchiveFile | undefined {
  const file = findDataFile(archive, config, written);
  if (file) return file;
  problems.add({
    file: CONFIG_FILE,
    column: field,
    found:
      placesInside(config, written).length === 0
        ? `${quoted(written)} is a path outside the archive`
        : `${quoted(written)} is not in the archive, which holds ${someOf(archive.files)}`,
    expected: 'the name of a file in the archive',
  });
  return undefined;
}

function placesInside(config: ArchiveConfig, name: string): readonly string[] {
  const places = [posix.join(relative(config.DATA_DIR), relative(name)), posix.normalize(relative(name))];
  return places.filter((place) => !place.startsWith('../') && !posix.isAbsolute(place));
}

function relative(path: string): string {
  return path.replaceAll('\\', '/');
}

/** Maps a string index to a label: `{ "0": "negative", "1": "positive" }`. */
export const LABEL_FILE = 'label_id.json';

/**
 * Reads label_id.json: ids 0 to n−1 without gaps, labels that are unique and not empty.
 * @returns the labels in the order of their ids, or undefined after adding at least one problem
 */
export async function readLabelIds(
  archive: ArchiveFolder,
  problems: ProblemList,
  { noun = 'label', most }: { readonly noun?: string; readonly most: number },
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  const file = archiveFile(archive, LABEL_FILE);
  if (file === undefined) {
    const found = `not in the archive, which holds ${someOf(archive.files)}`;
    problems.add({ file: LABEL_FILE, found, expected: `a file that lists the ${noun}s` });
    return undefined;
  }
  const json = await readJsonFile(file.path, file.name, problems, signal);
  if (json === undefined) return undefined;
  if (json.members === undefined || json.members.length === 0) {
    const found = `found ${json.members === undefined ? quoted(json.value) : '{}'}`;
    problems.add({ file: LABEL_FILE, found, expected: `an object that maps "0", "1", … to ${noun}s` });
    return undefined;
  }
  const { members } = json;
  if (members.length > most) {
    const found = `found ${counted(members.length, noun)}`;
    problems.add({ file: LABEL_FILE, found, expected: `at most ${grouped(most)}` });
    return undefined;
  }
  const before = problems.total;
  await checkIndices(members, LABEL_FILE, problems, signal);
  await checkLabels(members, noun, problems, signal);
  if (problems.total > before) return undefined;
  return mapWithPauses(byIndex(members), ({ value }) => String(value), signal);
}

async function checkLabels(
  members: readonly JsonMember[],
  noun: string,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<void> {
  const idOf = new Map<string, string>();
  for (const { key: id, value: label } of members) {
    if (isPauseDue()) await pause(signal);
    if (typeof label !== 'string' || label.trim() === '') {
      problems.add({ file: LABEL_FILE, column: id, found: `found ${quoted(label)}`, expected: `a ${noun}` });
      continue;
    }
    const earlier = idOf.get(label);
    if (earlier === undefined) idOf.set(label, id);
    else {
      const found = `found ${quoted(label)}, which is also the ${noun} of id ${earlier}`;
      problems.add({ file: LABEL_FILE, column: id, found, expected: `each ${noun} once` });
    }
  }
}
