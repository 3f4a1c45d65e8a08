import * as z from 'zod';
import type { DatasetProblem } from '../../contract/index.js';
import {
  type ArchiveConfig,
  type ArchiveFile,
  type ArchiveFolder,
  archiveConfigSchema,
  CONFIG_FILE,
  counted,
  type DatasetLocation,
  type DatasetWarning,
  findDataFile,
  LABEL_FILE,
  MAX_TAGS,
  openArchive,
  ProblemList,
  placeOfField,
  placeOfRow,
  quoted,
  type RowTable,
  readArchiveConfig,
  readLabelIds,
  readLines,
  singleProblem,
  someOf,
  warnAbout,
} from '../../datasets/index.js';
import { isPauseDue, mapWithPauses, pause } from '../../system/index.js';
import type { FamilyRows } from '../family.js';
import { comparisonWarnings, type RowComparison, requireValid, type Splits, splitRowSets } from '../row-sets.js';
import { beginTag, entityTypes, insideTag, OUTSIDE, parseTag } from './bio-tags.js';
import { type LocatedSentence, type SequenceDataset, sequenceTypes, type TaggedSentence } from './sequence-dataset.js';
import { taggedSentence } from './tagged-sentence.js';
import { sentenceText } from './word-pieces.js';

const TRAIN_FOLDER = 'train';
const DEV_FOLDER = 'val';
const SENTENCES_FILE = 'sentences.txt';
const TAGS_FILE = 'tags.txt';

type Place = Pick<DatasetProblem, 'file' | 'line' | 'column'>;

/** A sentence as its source has it, with the names of the tags. */
interface WrittenSentence extends DatasetLocation {
  readonly words: readonly string[];
  readonly tags: readonly string[];
  readonly shares?: ReturnType<typeof taggedSentence>['shares'];
  /** What the words are of. Default: they are all there is. */
  readonly text?: string;
  placeOfTag(index?: number): Place;
}

interface SentenceCheck {
  readonly ids: ReadonlyMap<string, number>;
  /** The same in words, for problems. */
  readonly expected: string;
  /** Places where words and tags are both missing. */
  readonly emptyLines: DatasetLocation[];
  readonly problems: ProblemList;
  /** What warnings call the dev sentences: a folder of the archive, or an option. */
  readonly devName: string;
  readonly signal: AbortSignal | undefined;
}

/** Checks every sentence; those with neither words nor tags are left out. */
async function checkSentences(written: readonly WrittenSentence[], check: SentenceCheck): Promise<LocatedSentence[]> {
  const sentences: LocatedSentence[] = [];
  for (const each of written) {
    if (isPauseDue()) await pause(check.signal);
    if (each.words.length === 0 && each.tags.length === 0) check.emptyLines.push(each);
    else {
      const sentence = checkSentence(each, check);
      if (sentence) sentences.push(sentence);
    }
  }
  return sentences;
}

/** An I- tag that continues no entity is read as B-, as conlleval does. Undefined after adding at least one problem. */
function checkSentence(
  sentence: WrittenSentence,
  { ids, expected, problems }: SentenceCheck,
): LocatedSentence | undefined {
  const { file, line, words, tags, text, shares } = sentence;
  const before = problems.total;
  const broken = words.find((word) => /\p{Surrogate}/u.test(word));
  if (broken !== undefined) {
    const found = `found half a surrogate pair in ${quoted(broken)}`;
    problems.add({ file, line, found, expected: 'whole characters' });
  }
  if (tags.length !== words.length) {
    const onePerWord = `${counted(words.length, 'tag')}, one for each word`;
    const found = `found ${counted(tags.length, 'tag')}`;
    problems.add({ ...sentence.placeOfTag(), found, expected: onePerWord });
  }
  for (const [index, tag] of tags.entries()) {
    if (ids.has(tag)) continue;
    problems.add({ ...sentence.placeOfTag(index), found: `found the tag ${quoted(tag)}`, expected });
  }
  if (problems.total > before) return undefined;
  const repaired = repairTags(tags);
  return {
    words,
    tags: repaired.flatMap((tag) => ids.get(tag) ?? []),
    ...(shares && { shares: shares.map((each) => each && sharesById(each, ids)) }),
    ...(text !== undefined && text !== sentenceText(words) && { text }),
    file,
    line,
    isRepaired: repaired.some((tag, index) => tag !== tags[index]),
  };
}

/** Tags that the dataset doesn't have are left out. Undefined if no other tag is probable. [tags] */
function sharesById(
  shares: Readonly<Record<string, number>>,
  ids: ReadonlyMap<string, number>,
): readonly number[] | undefined {
  const known = Array.from(ids.keys(), (tag) => shares[tag] ?? 0);
  const sum = known.reduce((total, share) => total + share, 0);
  return sum > 0 ? known.map((share) => share / sum) : undefined;
}

/** An I-x after O, another type or nothing begins an entity, as is common in corpora in the older IOB1 scheme. */
function repairTags(tags: readonly string[]): readonly string[] {
  let open: string | undefined;
  return tags.map((tag) => {
    const parsed = parseTag(tag);
    const continues = parsed?.type === open;
    open = parsed?.type;
    return parsed?.position === 'I' && !continues ? beginTag(parsed.type) : tag;
  });
}

function checkTrainable(
  tags: readonly string[],
  train: readonly LocatedSentence[],
  file: string,
  problems: ProblemList,
): void {
  if (train.length === 0 || typesIn(train, tags).size > 0) return;
  problems.add({ file, found: 'found no entity: every tag is O', expected: 'sentences with entities' });
}

const comparison: Omit<RowComparison<LocatedSentence>, 'dev'> = {
  noun: 'sentence',
  train: TRAIN_FOLDER,
  textOf: (sentence) => textOf(sentence),
  answerOf: ({ tags }) => tags.join(),
  conflict: 'the words of an earlier one but different tags',
};

async function datasetOf(
  tags: readonly string[],
  { train, dev }: Splits<LocatedSentence>,
  { emptyLines, devName, signal }: SentenceCheck,
): Promise<SequenceDataset> {
  const repaired = [...train, ...dev].filter(({ isRepaired }) => isRepaired);
  const inside = counted(repaired.length, 'sentence has', 'sentences have');
  const asBegin = `${inside} an I- tag that continues no entity; such a tag is read as B-, as in conlleval`;
  const empty = counted(emptyLines.length, 'sentence without words was', 'sentences without words were');
  return {
    tags,
    train: await mapWithPauses(train, withoutLocation, signal),
    dev: await mapWithPauses(dev, withoutLocation, signal),
    warnings: [
      ...warnAbout('inside_without_begin', repaired, asBegin),
      ...warnAbout('empty_sentence', emptyLines, `${empty} left out`),
      ...(await comparisonWarnings({ train, dev }, { ...comparison, dev: devName }, signal)),
      ...typeWarnings(tags, train, TRAIN_FOLDER),
      ...typeWarnings(tags, dev, devName),
    ],
  };
}

function withoutLocation({ words, tags, text, shares }: LocatedSentence): TaggedSentence {
  return { words, tags, ...(shares && { shares }), ...(text !== undefined && { text }) };
}

function typeWarnings(
  tags: readonly string[],
  split: readonly LocatedSentence[],
  name: string,
): readonly DatasetWarning[] {
  const used = typesIn(split, tags);
  const missing = entityTypes(tags).filter((type) => !used.has(type));
  if (missing.length === 0) return [];
  const listed = someOf(missing.map((type) => quoted(type)));
  const types = missing.length === 1 ? 'the type' : 'any of the types';
  const message = `no sentence of ${name} has an entity of ${types} ${listed}`;
  return [{ kind: 'class_without_examples', count: missing.length, message, examples: [] }];
}

function typesIn(all: readonly LocatedSentence[], tags: readonly string[]): ReadonlySet<string> {
  const ids = new Set(all.flatMap((sentence) => sentence.tags));
  return new Set(entityTypes(tags.filter((_, id) => ids.has(id))));
}

/** The words in one string, which is unambiguous, as words contain no spaces. */
function textOf({ words }: { readonly words: readonly string[] }): string {
  return words.join(' ');
}

export const sequenceRows: FamilyRows<SequenceDataset> = {
  /**
   * Finds all problems in one pass, but checks no sentences without label_id.json, or with an invalid config.json.
   * @throws DatasetError with every problem; TypeError for a model type of another family
   */
  async read(directory, type, signal) {
    if (!sequenceTypes.some((each) => each === type)) {
      throw new TypeError(`${type} is not a sequence labelling type`);
    }
    const archive = openArchive(directory, [CONFIG_FILE, LABEL_FILE]);
    return requireValid((problems) => readDataset(archive, problems, signal));
  },
  async check(sets, _type, signal) {
    const problems = new ProblemList();
    const tags = tagsOf(
      sets.classes ?? typesOf([sets.train, ...(sets.dev ? [sets.dev] : [])].flatMap(writtenSentences)),
    );
    const type = sets.classes?.length === 1 ? 'the type' : 'one of the types';
    const ofTypes = sets.classes ? ` with ${type} ${someOf(sets.classes.map((each) => quoted(each)))}` : '';
    const check: SentenceCheck = {
      ids: new Map(tags.map((tag, id) => [tag, id])),
      expected: `a BIO tag: O, B-… or I-…${ofTypes}`,
      ...{ emptyLines: [], problems, devName: 'dev', signal },
    };
    const { leftOut, isDevDrawn, ...splits } = await splitRowSets<LocatedSentence>(sets, problems, {
      noun: 'sentence',
      needed: 'two different sentences with entities of one type, or rows for dev',
      check: (table) => checkSentences(writtenSentences(table), check),
      keyOf: ({ tags: ids, shares, ...sentence }) =>
        `${textOf(sentence)}\t${ids.join()}${shares ? JSON.stringify(shares) : ''}`,
      // A sentence counts for the rarest type of entity in it.
      splitKeysOf: (sentence) => ({
        text: textOf(sentence),
        labels: entityTypes(sentence.tags.map((id) => tags[id] ?? '')),
      }),
      checkTrainable: (train) => checkTrainable(tags, train, sets.train.origin, problems),
    });
    const dataset = await datasetOf(tags, splits, check);
    return { dataset: { ...dataset, ...(isDevDrawn && { isDevDrawn }) }, leftOut };
  },
  write: archiveFiles,
};

function writtenSentences(table: RowTable): readonly WrittenSentence[] {
  const { checked } = table;
  if (checked.shape === 'entities') {
    return checked.rows.map((row, at) => ({
      ...placeOfRow(table, at),
      ...taggedSentence(row),
      text: row.text,
      placeOfTag: () => placeOfField(table, at, 'entities'),
    }));
  }
  if (checked.shape === 'tags') {
    return checked.rows.map(({ tokens, tags }, row) => ({
      ...placeOfRow(table, row),
      ...respaced(tokens, tags, (index) => placeOfField(table, row, 'tags', index)),
    }));
  }
  throw new TypeError(`rows of ${checked.shape} are not for sequence labelling`);
}

/** What ends a word when a text is read. */
const space = /[\p{White_Space}\uFEFF]+/u;

/** Whether a word is none when the text is read: it has white space, or is empty. */
export function isSpaced(word: string): boolean {
  return word === '' || space.test(word);
}

/** A word with white space is read as several, so it becomes several words of the same entity; an empty one is left out. */
function respaced(
  words: readonly string[],
  tags: readonly string[],
  placeOfTag: (index?: number) => Place,
): Pick<WrittenSentence, 'words' | 'tags' | 'placeOfTag'> {
  if (words.length !== tags.length || !words.some(isSpaced)) return { words, tags, placeOfTag };
  const parts = words.flatMap((word, index) => {
    const tag = tags[index] ?? '';
    const pieces = word.split(space).filter((piece) => piece !== '');
    return pieces.map((piece, at) => ({ word: piece, tag: at === 0 ? tag : continued(tag), index }));
  });
  return {
    words: parts.map(({ word }) => word),
    tags: parts.map(({ tag }) => tag),
    placeOfTag: (at) => placeOfTag(at === undefined ? undefined : parts[at]?.index),
  };
}

function continued(tag: string): string {
  const parsed = parseTag(tag);
  return parsed ? insideTag(parsed.type) : tag;
}

function typesOf(sentences: readonly WrittenSentence[]): readonly string[] {
  return [...entityTypes(new Set(sentences.flatMap(({ tags }) => tags)))].sort();
}

function tagsOf(types: readonly string[]): readonly string[] {
  return [OUTSIDE, ...types.flatMap((type) => [beginTag(type), insideTag(type)])];
}

const text = z.string('a string').default('');

/** Any field of config.json may be missing, and so may the file: the interface doesn't say what it holds here. */
const sequenceConfigSchema = archiveConfigSchema.extend({ DATASET_NAME: text, DATA_DIR: text });

async function readDataset(
  archive: ArchiveFolder,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<SequenceDataset | undefined> {
  const config = await readArchiveConfig(archive, sequenceConfigSchema, problems, signal);
  const tags = await readLabelIds(archive, problems, { most: MAX_TAGS }, signal);
  if (tags) checkTags(tags, problems);
  if (config === undefined || tags === undefined) return undefined;
  const check: SentenceCheck = {
    ids: new Map(tags.map((tag, id) => [tag, id])),
    expected: `a tag of label_id.json (${someOf(tags)})`,
    ...{ emptyLines: [], problems, devName: DEV_FOLDER, signal },
  };
  const readSplit = async (folder: string) =>
    checkSentences(await readSentenceFiles(archive, config, folder, problems, signal), check);
  const train = await readSplit(TRAIN_FOLDER);
  const dev = await readSplit(DEV_FOLDER);
  if (problems.total === 0) checkTrainable(tags, train, `${TRAIN_FOLDER}/${TAGS_FILE}`, problems);
  return problems.total === 0 ? datasetOf(tags, { train, dev }, check) : undefined;
}

/** Checks label_id.json: BIO tags with O among them, at least one entity type, and no I-x without its B-x. */
function checkTags(tags: readonly string[], problems: ProblemList): void {
  const add = (found: string, expected: string, id?: number) =>
    problems.add({ file: LABEL_FILE, ...(id !== undefined && { column: `${id}` }), found, expected });
  if (!tags.includes(OUTSIDE)) add('the tag "O" is missing', 'O for words outside of all entities');
  if (entityTypes(tags).length === 0) add('found no tag of an entity', 'a B- tag for each entity type');
  for (const [id, tag] of tags.entries()) {
    const parsed = parseTag(tag);
    if (parsed === undefined) {
      if (tag !== OUTSIDE) add(`found ${quoted(tag)}`, 'a BIO tag: O, B-… or I-…', id);
    } else if (parsed.position === 'I' && !tags.includes(beginTag(parsed.type))) {
      add(`found ${quoted(tag)} without ${quoted(beginTag(parsed.type))}`, 'a B- tag for every I- tag', id);
    }
  }
}

/** Words and tags are separated by a space; several spaces, or tabs, are accepted too. */
const cell = /[^ \t]+/g;

interface NumberedLines {
  readonly byNumber: ReadonlyMap<number, string>;
  /** Number of the last line that isn't blank; undefined if any line can't be decoded. */
  readonly last: number | undefined;
}

/**
 * The same line of both files of a split has the words and the tags of one sentence. Different lengths are a problem;
 * sentences that both files have are read all the same.
 */
async function readSentenceFiles(
  archive: ArchiveFolder,
  config: ArchiveConfig,
  folder: string,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<WrittenSentence[]> {
  const wordsFile = findSplitFile(archive, config, `${folder}/${SENTENCES_FILE}`, problems);
  const tagsFile = findSplitFile(archive, config, `${folder}/${TAGS_FILE}`, problems);
  if (wordsFile === undefined || tagsFile === undefined) return [];
  const words = await readNumberedLines(wordsFile, problems, signal);
  const tags = await readNumberedLines(tagsFile, problems, signal);
  checkLengths(wordsFile.name, words, tagsFile.name, tags, problems);
  const sentences: WrittenSentence[] = [];
  for (const [line, text] of words.byNumber) {
    if (isPauseDue()) await pause(signal);
    const tagText = tags.byNumber.get(line);
    if (tagText === undefined) continue;
    const place = { file: tagsFile.name, line };
    sentences.push({
      file: wordsFile.name,
      line,
      words: text.match(cell) ?? [],
      tags: tagText.match(cell) ?? [],
      placeOfTag: (at) => (at === undefined ? place : { ...place, column: columnOf(tagText, at) }),
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
    problems.add({ file: name, found, expected: 'this file, in DATA_DIR or next to config.json' });
  }
  return file;
}

/** Blank lines at the end are dropped: editors leave them there. */
async function readNumberedLines(
  { path, name }: ArchiveFile,
  problems: ProblemList,
  signal: AbortSignal | undefined,
): Promise<NumberedLines> {
  const before = problems.total;
  const lines = await readLines(path, name, problems, signal);
  const end = lines.findLastIndex(({ text }) => text.trim() !== '') + 1;
  const kept = lines.slice(0, end);
  const isWhole = problems.total === before;
  if (end === 0 && isWhole) {
    problems.add({ file: name, found: 'found an empty file', expected: 'one line for each sentence' });
  }
  return {
    byNumber: new Map(await mapWithPauses(kept, ({ number, text }) => [number, text] as const, signal)),
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

function columnOf(text: string, index: number): number {
  const found = [...text.matchAll(cell)][index];
  return (found?.index ?? 0) + 1;
}

/** @throws DatasetError for rows that archives have no place for */
function archiveFiles({ tags, train, dev }: SequenceDataset, name: string) {
  if ([...train, ...dev].some(({ shares }) => shares)) {
    const expected = 'rows without them, since an archive has no place for them; give these rows to train directly';
    throw singleProblem({ file: 'rows', found: 'found rows with doubts', expected });
  }
  const tagLine = (sentence: TaggedSentence) => sentence.tags.map((id) => tags[id]).join(' ');
  const lines = (texts: readonly string[]) => [...texts, ''].join('\n');
  return {
    [CONFIG_FILE]: { DATASET_NAME: name, DATA_DIR: name },
    [LABEL_FILE]: Object.fromEntries(tags.entries()),
    [`${TRAIN_FOLDER}/${SENTENCES_FILE}`]: lines(train.map(textOf)),
    [`${TRAIN_FOLDER}/${TAGS_FILE}`]: lines(train.map(tagLine)),
    [`${DEV_FOLDER}/${SENTENCES_FILE}`]: lines(dev.map(textOf)),
    [`${DEV_FOLDER}/${TAGS_FILE}`]: lines(dev.map(tagLine)),
  };
}
