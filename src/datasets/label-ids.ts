import { type ArchiveFolder, archiveFile } from './archive-folder.js';
import { readJsonFile } from './json-file.js';
import { type ProblemList, quoted, someOf } from './problems.js';
import { checkIndices } from './string-indices.js';

/** Maps a string index to a label: `{ "0": "negative", "1": "positive" }`. */
export const LABEL_FILE = 'label_id.json';

/**
 * Reads label_id.json: ids 0 to n−1 without gaps, labels that are unique and not empty.
 * @param noun what a label is called in problems.
 * @returns the labels in the order of their ids, or undefined after adding at least one problem.
 */
export function readLabelIds(
  archive: ArchiveFolder,
  problems: ProblemList,
  noun = 'label',
): readonly string[] | undefined {
  const file = archiveFile(archive, LABEL_FILE);
  if (file === undefined) {
    const found = `not in the archive, which holds ${someOf(archive.files)}`;
    problems.add({ file: LABEL_FILE, found, expected: `a file with the ${noun}s` });
    return undefined;
  }
  const json = readJsonFile(file.path, file.name, problems);
  if (json === undefined) return undefined;
  const entries = labelEntries(json.value);
  if (entries === undefined) {
    const expected = `an object that maps "0", "1", … to ${noun}s`;
    problems.add({ file: LABEL_FILE, found: `found ${quoted(json.value)}`, expected });
    return undefined;
  }
  const before = problems.total;
  checkIndices(
    entries.map(([key]) => key),
    LABEL_FILE,
    problems,
  );
  checkLabels(entries, noun, problems);
  if (problems.total > before) return undefined;
  return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, label]) => String(label));
}

function labelEntries(value: unknown): [id: string, label: unknown][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  return entries.length === 0 ? undefined : entries;
}

function checkLabels(entries: readonly [string, unknown][], noun: string, problems: ProblemList): void {
  const idOf = new Map<string, string>();
  for (const [id, label] of entries) {
    if (typeof label !== 'string' || label.trim() === '') {
      problems.add({ file: LABEL_FILE, column: id, found: `found ${quoted(label)}`, expected: `a ${noun}` });
      continue;
    }
    const earlier = idOf.get(label);
    if (earlier === undefined) idOf.set(label, id);
    else {
      const found = `found ${quoted(label)}, which is the ${noun} of id ${earlier} too`;
      problems.add({ file: LABEL_FILE, column: id, found, expected: `every ${noun} once` });
    }
  }
}
