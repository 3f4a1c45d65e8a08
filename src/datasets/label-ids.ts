import { type ArchiveFolder, archiveFile } from './archive-folder.js';
import { readJsonFile } from './json-file.js';
import { type ProblemList, quoted, someOf } from './problems.js';

/** Maps a string index to a label: `{ "0": "negative", "1": "positive" }`. */
export const LABEL_FILE = 'label_id.json';

/**
 * Reads label_id.json: ids 0 to n−1 without gaps, labels that are unique and not empty.
 * @returns the labels in the order of their ids, or undefined with at least one problem.
 */
export function readLabelIds(archive: ArchiveFolder, problems: ProblemList): readonly string[] | undefined {
  const file = archiveFile(archive, LABEL_FILE);
  if (file === undefined) {
    const found = `not in the archive, which holds ${someOf(archive.files)}`;
    problems.add({ file: LABEL_FILE, found, expected: 'a file with the labels' });
    return undefined;
  }
  const json = readJsonFile(file.path, file.name, problems);
  if (json === undefined) return undefined;
  const entries = labelEntries(json.value);
  if (entries === undefined) {
    const expected = 'an object that maps "0", "1", … to labels';
    problems.add({ file: LABEL_FILE, found: `found ${quoted(json.value)}`, expected });
    return undefined;
  }
  const before = problems.total;
  checkIds(entries, problems);
  checkLabels(entries, problems);
  if (problems.total > before) return undefined;
  return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, label]) => String(label));
}

function labelEntries(value: unknown): [id: string, label: unknown][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  return entries.length === 0 ? undefined : entries;
}

function checkIds(entries: readonly [string, unknown][], problems: ProblemList): void {
  const ids = new Set<number>();
  for (const [key] of entries) {
    if (/^(0|[1-9]\d*)$/.test(key)) ids.add(Number(key));
    else problems.add({ file: LABEL_FILE, found: `found the id ${quoted(key)}`, expected: 'a whole number' });
  }
  for (let id = 0; id < ids.size; id += 1) {
    if (ids.has(id)) continue;
    problems.add({ file: LABEL_FILE, found: `the id ${id} is missing`, expected: 'ids from 0 without gaps' });
    return;
  }
}

function checkLabels(entries: readonly [string, unknown][], problems: ProblemList): void {
  const idOf = new Map<string, string>();
  for (const [id, label] of entries) {
    if (typeof label !== 'string' || label === '') {
      problems.add({ file: LABEL_FILE, column: id, found: `found ${quoted(label)}`, expected: 'a label' });
      continue;
    }
    const earlier = idOf.get(label);
    if (earlier === undefined) idOf.set(label, id);
    else {
      const found = `found ${quoted(label)}, which is the label of id ${earlier} too`;
      problems.add({ file: LABEL_FILE, column: id, found, expected: 'every label once' });
    }
  }
}
