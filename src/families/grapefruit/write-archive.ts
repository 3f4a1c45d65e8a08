import { CONFIG_FILE, LABEL_FILE, ProblemList, quoted, someOf } from '../../datasets/index.js';
import {
  type ArchiveOptions,
  type ArchiveSummary,
  checkArchiveOptions,
  DEFAULT_DEV_FRACTION,
  invalidOption,
  jsonFile,
  type PreparedArchive,
} from '../archive-writing.js';
import { type Splits, splitDev } from '../split-dev.js';
import { beginTag, entityTypes, parseTag } from './bio-tags.js';
import type { TagRules, WrittenSentence } from './check-sentence.js';
import { type CheckedSplit, checkSentences, checkTrainable, findWarnings, textOf } from './check-splits.js';
import { tagsOf } from './check-tags.js';
import { DEV_FOLDER, SENTENCES_FILE, TAGS_FILE, TRAIN_FOLDER } from './sentence-files.js';
import type { LocatedSentence, TaggedSentence } from './sequence-dataset.js';
import { readSource, type SentenceTable, type SequenceSource } from './source-sentences.js';

/** What `createSequenceArchive` is to write. */
export interface SequenceArchiveOptions extends ArchiveOptions<SequenceSource> {
  /** Types of entities, in the order of their tags' ids. Default: those that occur, sorted. */
  readonly entityTypes?: readonly string[] | undefined;
}

/** What was written. */
export interface SequenceArchiveSummary extends ArchiveSummary {
  /** In the order of their tags' ids. */
  readonly entityTypes: readonly string[];
  /**
   * How many words contained white space and became several words, or were nothing else and were left out.
   */
  readonly respacedWords: number;
}

function checkOptions(options: SequenceArchiveOptions): void {
  checkArchiveOptions(options);
  const { entityTypes: types } = options;
  const areTypes = types?.every((type) => parseTag(beginTag(type)) !== undefined) ?? true;
  if (types && (types.length === 0 || !areTypes || new Set(types).size < types.length)) {
    throw invalidOption('entityTypes', 'give at least one type, each once and without spaces');
  }
}

/** Reads and checks the rows. @throws DatasetError with every problem, ValidationError */
export async function prepareArchive(
  options: SequenceArchiveOptions,
): Promise<PreparedArchive<SequenceArchiveSummary>> {
  checkOptions(options);
  const { rows, devRows, devFraction = DEFAULT_DEV_FRACTION, seed = 0 } = options;
  const problems = new ProblemList();
  const trainTable = await readSource(rows, 'rows', problems);
  const devTable = devRows && (await readSource(devRows, 'devRows', problems));
  const types = options.entityTypes ?? typesOf([...trainTable.sentences, ...(devTable?.sentences ?? [])]);
  const tags = tagsOf(types);
  const rules = tagRules(tags, options.entityTypes);
  const given = await checkTable(trainTable, TRAIN_FOLDER, rules, problems);
  const givenDev = devTable && (await checkTable(devTable, DEV_FOLDER, rules, problems));
  if (problems.total > 0) throw problems.toError();

  const { train, dev } = givenDev
    ? { train: given, dev: givenDev }
    : setAside(given, tags, devFraction, seed);
  checkTrainable(tags, train, trainTable.file, problems);
  if (dev.sentences.length === 0) problems.add(tooFewToSplit(trainTable.file));
  if (problems.total > 0) throw problems.toError();
  return {
    files: archiveFiles(options, tags, { train: train.sentences, dev: dev.sentences }),
    summary: {
      entityTypes: types,
      train: train.sentences.length,
      dev: dev.sentences.length,
      removedDuplicates: given.removedDuplicates + (givenDev?.removedDuplicates ?? 0),
      respacedWords: trainTable.respacedWords + (devTable?.respacedWords ?? 0),
      warnings: await findWarnings(tags, train, dev),
    },
  };
}

function typesOf(sentences: readonly WrittenSentence[]): readonly string[] {
  return [...entityTypes(new Set(sentences.flatMap(({ tags }) => tags)))].sort();
}

function tagRules(tags: readonly string[], givenTypes: readonly string[] | undefined): TagRules {
  const ids = new Map(tags.map((tag, id) => [tag, id]));
  const ofTypes = givenTypes
    ? ` with one of the types ${someOf(givenTypes.map((type) => quoted(type)))}`
    : '';
  return { ids, expected: `a BIO tag: O, B-… or I-…${ofTypes}` };
}

interface CheckedTable extends CheckedSplit {
  readonly removedDuplicates: number;
}

async function checkTable(
  { file, sentences: written }: SentenceTable,
  name: string,
  rules: TagRules,
  problems: ProblemList,
): Promise<CheckedTable> {
  if (written.length === 0 && problems.total === 0) {
    problems.add({ file, found: 'found no sentences', expected: 'at least one sentence' });
  }
  const { sentences, emptyLines } = await checkSentences(name, written, rules, problems);
  const different = new Map<string, LocatedSentence>();
  for (const sentence of sentences) {
    const key = `${textOf(sentence)}\t${sentence.tags.join()}`;
    if (!different.has(key)) different.set(key, sentence);
  }
  const kept = [...different.values()];
  return { name, sentences: kept, emptyLines, removedDuplicates: sentences.length - kept.length };
}

/** A sentence counts for the rarest type of entity in it. */
function setAside(
  all: CheckedSplit,
  tags: readonly string[],
  devFraction: number,
  seed: number,
): { train: CheckedSplit; dev: CheckedSplit } {
  const keysOf = (sentence: LocatedSentence) => ({
    text: textOf(sentence),
    labels: entityTypes(sentence.tags.map((id) => tags[id] ?? '')),
  });
  const { train, dev } = splitDev(all.sentences, keysOf, devFraction, seed);
  return {
    train: { ...all, sentences: train },
    dev: { name: DEV_FOLDER, sentences: dev, emptyLines: [] },
  };
}

function tooFewToSplit(file: string) {
  const found = 'found too few sentences to set any aside for dev';
  return { file, found, expected: 'two different sentences with entities of one type, or rows for dev' };
}

function archiveFiles(
  { name, description = name }: SequenceArchiveOptions,
  tags: readonly string[],
  { train, dev }: Splits<TaggedSentence>,
): Readonly<Record<string, string>> {
  const tagLine = (sentence: TaggedSentence) => sentence.tags.map((id) => tags[id]).join(' ');
  return {
    [`${name}/${CONFIG_FILE}`]: jsonFile({ desc: description, DATASET_NAME: name, DATA_DIR: name }),
    [`${name}/${LABEL_FILE}`]: jsonFile(Object.fromEntries(tags.entries())),
    [`${name}/${TRAIN_FOLDER}/${SENTENCES_FILE}`]: lines(train.map(textOf)),
    [`${name}/${TRAIN_FOLDER}/${TAGS_FILE}`]: lines(train.map(tagLine)),
    [`${name}/${DEV_FOLDER}/${SENTENCES_FILE}`]: lines(dev.map(textOf)),
    [`${name}/${DEV_FOLDER}/${TAGS_FILE}`]: lines(dev.map(tagLine)),
  };
}

function lines(texts: readonly string[]): string {
  return [...texts, ''].join('\n');
}
