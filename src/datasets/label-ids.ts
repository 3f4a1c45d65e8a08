import { isPauseDue, pacedMap, pause } from '../system/index.js';
import { type ArchiveFolder, archiveFile } from './archive-folder.js';
import { type JsonMember, readJsonFile } from './json-file.js';
import { count, counted, type ProblemList, quoted, someOf } from './problems.js';
import { byIndex, checkIndices } from './string-indices.js';

/** Maps a string index to a label: `{ "0": "negative", "1": "positive" }`. */
export const LABEL_FILE = 'label_id.json';

interface LabelRules {
  readonly noun?: string;
  readonly most: number;
}

/**
 * Reads label_id.json: ids 0 to n−1 without gaps, labels that are unique and not empty.
 * @param rules.noun what a label is called in problems. Default `label`.
 * @param rules.most how many there may be.
 * @returns the labels in the order of their ids, or undefined after adding at least one problem.
 */
export async function readLabelIds(
  archive: ArchiveFolder,
  problems: ProblemList,
  { noun = 'label', most }: LabelRules,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  const file = archiveFile(archive, LABEL_FILE);
  if (file === undefined) {
    const found = `not in the archive, which holds ${someOf(archive.files)}`;
    problems.add({ file: LABEL_FILE, found, expected: `a file with the ${noun}s` });
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
    problems.add({ file: LABEL_FILE, found, expected: `at most ${count(most)}` });
    return undefined;
  }
  const before = problems.total;
  await checkIndices(members, LABEL_FILE, problems, signal);
  await checkLabels(members, noun, problems, signal);
  if (problems.total > before) return undefined;
  return pacedMap(byIndex(members), ({ value }) => String(value), signal);
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
      const found = `found ${quoted(label)}, which is the ${noun} of id ${earlier} too`;
      problems.add({ file: LABEL_FILE, column: id, found, expected: `every ${noun} once` });
    }
  }
}
