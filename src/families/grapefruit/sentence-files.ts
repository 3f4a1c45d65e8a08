/**
 * Reads a split of the archive: two files in which the same line has the words and the tags of one sentence.
 */
import {
  type ArchiveConfig,
  type ArchiveFile,
  type ArchiveFolder,
  counted,
  findDataFile,
  type ProblemList,
  readLines,
  someOf,
} from '../../datasets/index.js';
import { isPauseDue, pacedMap, pause } from '../../pauses.js';
import type { WrittenSentence } from './check-sentence.js';

/** The folders of the splits, and the files in each. */
export const TRAIN_FOLDER = 'train';
export const DEV_FOLDER = 'val';
export const SENTENCES_FILE = 'sentences.txt';
export const TAGS_FILE = 'tags.txt';

/** Words and tags are separated by a space; several spaces, or tabs, are accepted too. */
const cell = /[^ \t]+/g;

/** The lines of a file that can be decoded, by their numbers. */
interface NumberedLines {
  readonly byNumber: ReadonlyMap<number, string>;
  /** Number of the last line that isn't blank; undefined if any line can't be decoded. */
  readonly last: number | undefined;
}

/**
 * Reads the two files of a split, in DATA_DIR or beside config.json. What can't be read becomes a problem,
 * and so do files of different lengths. Sentences that both files have are read all the same.
 */
export async function readSentenceFiles(
  archive: ArchiveFolder,
  config: ArchiveConfig,
  folder: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<WrittenSentence[]> {
  const wordsFile = findSplitFile(archive, config, `${folder}/${SENTENCES_FILE}`, problems);
  const tagsFile = findSplitFile(archive, config, `${folder}/${TAGS_FILE}`, problems);
  if (wordsFile === undefined || tagsFile === undefined) return [];
  const words = await readNumberedLines(wordsFile, problems, signal);
  const tags = await readNumberedLines(tagsFile, problems, signal);
  if (words === undefined || tags === undefined) return [];
  checkLengths(wordsFile.name, words, tagsFile.name, tags, problems);
  const sentences: WrittenSentence[] = [];
  for (const [line, text] of words.byNumber) {
    if (isPauseDue()) await pause(signal);
    const tagText = tags.byNumber.get(line);
    if (tagText === undefined) continue;
    sentences.push({
      file: wordsFile.name,
      line,
      words: text.match(cell) ?? [],
      tags: tagText.match(cell) ?? [],
      tagPlace: { file: tagsFile.name, line },
      placeOfTag: (index) => ({ file: tagsFile.name, line, column: columnOf(tagText, index) }),
    });
  }
  return sentences;
}

function findSplitFile(
  archive: ArchiveFolder,
  config: ArchiveConfig,
  name: string,
  problems: ProblemList,
): ArchiveFile | undefined {
  const file = findDataFile(archive, config, name);
  if (file === undefined) {
    const found = `not in the archive, which holds ${someOf(archive.files)}`;
    problems.add({ file: name, found, expected: 'this file, in DATA_DIR or beside config.json' });
  }
  return file;
}

/** Blank lines at the end are dropped: editors leave them there. */
async function readNumberedLines(
  { path, name }: ArchiveFile,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<NumberedLines | undefined> {
  const before = problems.total;
  const lines = await readLines(path, name, problems, signal);
  if (lines === undefined) return undefined;
  const end = lines.findLastIndex(({ text }) => text.trim() !== '') + 1;
  const kept = lines.slice(0, end);
  const isWhole = problems.total === before;
  if (end === 0 && isWhole) {
    problems.add({ file: name, found: 'found an empty file', expected: 'one line for each sentence' });
  }
  return {
    byNumber: new Map(await pacedMap(kept, ({ number, text }) => [number, text] as const, signal)),
    last: isWhole ? (kept.at(-1)?.number ?? 0) : undefined,
  };
}

function checkLengths(
  wordsFile: string,
  words: NumberedLines,
  tagsFile: string,
  tags: NumberedLines,
  problems: ProblemList,
): void {
  const lengths = [words.last, tags.last];
  // A file that is empty or can't be decoded is a problem already.
  if (words.last === tags.last || lengths.includes(undefined) || lengths.includes(0)) return;
  const found = `found ${counted(tags.last ?? 0, 'line')}`;
  const expected = `${counted(words.last ?? 0, 'line')}, as many as ${wordsFile} has`;
  problems.add({ file: tagsFile, found, expected });
}

/** Where a cell of a line begins, 1-based. */
function columnOf(text: string, index: number): number {
  const found = [...text.matchAll(cell)][index];
  return (found?.index ?? 0) + 1;
}
