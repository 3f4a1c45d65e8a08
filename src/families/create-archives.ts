import { basename } from 'node:path';
import type { ResultAsync } from 'neverthrow';
import {
  callResult,
  DatasetError,
  DEFAULT_DEV_FRACTION,
  type ModelType,
  type OrchardError,
  ValidationError,
} from '../contract/index.js';
import type { CheckedRows, DatasetWarning, RecordFile, RowPlaces, RowTable, TaggedRow } from '../datasets/index.js';
import { deleteUnseen, requirePath } from '../system/index.js';
import { type ClassificationType, classificationTypes } from './classification/classification-dataset.js';
import { beginTag, entityTypes, parseTag } from './entities/bio-tags.js';
import type { FamilyRows } from './family.js';
import type { CheckedRowSets, Dataset, RowSets } from './row-sets.js';
import { inRowsThread, type RowsThreadLimits, withFewRows } from './rows-thread.js';

/**
 * Creates dataset archives (docs/archives.md) from rows: few rows in the caller's thread, more in a thread of their
 * own. What reads and writes files is loaded when it is first used.
 */

/** Options of all functions that create archives. */
export interface ArchiveOptions<Source> {
  /** The rows to train on. */
  readonly rows: Source;
  /** The rows to evaluate on. Default: the share `devFraction` of `rows`. */
  readonly devRows?: Source | undefined;
  /** DATASET_NAME and the folder inside the zip: 1 to 100 letters, digits, ".", "_" and "-". */
  readonly name: string;
  /** Default: the name. */
  readonly description?: string | undefined;
  /**
   * Share of the rows to set aside for dev, above 0 and below 1. Not with `devRows`. Default
   * {@link DEFAULT_DEV_FRACTION}.
   */
  readonly devFraction?: number | undefined;
  /** Seed of the choice of the rows that are set aside. Default 0. */
  readonly seed?: number | undefined;
  /** Stops the work. Nothing is then written. */
  readonly signal?: AbortSignal | undefined;
}

/** The summary of every archive that was written. */
export interface ArchiveSummary {
  /** Where the zip was written. */
  readonly path: string;
  /** Number of rows to train on. */
  readonly train: number;
  /** Number of rows to evaluate on. */
  readonly dev: number;
  /** Number of rows that were left out because an earlier row of the same set is equal. */
  readonly removedDuplicates: number;
  /** The warnings that training would give. */
  readonly warnings: readonly DatasetWarning[];
}

/** A text with the name of its label, or with any number of names (multilabel). */
export type SourceRow =
  | { readonly text: string; readonly label: string }
  | { readonly text: string; readonly labels: readonly string[] };

/** A UTF-8 file of labelled texts. */
export interface SourceFile extends RecordFile {
  /** Default: `text`, else `sentence`, `content`, `review` or `utterance`. */
  readonly textColumn?: string | undefined;
  /**
   * Several labels of a row are separated by commas, or are an array in JSON Lines. Default: `labels`, `tags`,
   * `categories` or `topics`, else `label`, `category`, `class`, `intent` or `sentiment`.
   */
  readonly labelColumn?: string | undefined;
}

/** Where labelled texts come from. */
export type RowSource = SourceFile | Iterable<SourceRow>;

/** Options of {@link createClassificationArchive}. */
export interface ClassificationArchiveOptions extends ArchiveOptions<RowSource> {
  /** The type of model to train on it. */
  readonly type: ClassificationType;
  /** The labels in the order of their ids. Default: those that occur, sorted. */
  readonly labels?: readonly string[] | undefined;
}

/** The summary of an archive by {@link createClassificationArchive}. */
export interface ClassificationArchiveSummary extends ArchiveSummary {
  /** In the order of their ids. */
  readonly labels: readonly string[];
  /** Number of texts with tabs or line breaks, which were replaced by spaces because the format can't hold them. */
  readonly respacedTexts: number;
}

/**
 * Creates a zip archive (docs/archives.md) from labelled texts. Rows are checked as in training. Fails with a
 * DatasetError that names the line of each problem in the source; nothing is written then.
 */
export function createClassificationArchive(
  options: ClassificationArchiveOptions,
  outputPath: string,
): ResultAsync<ClassificationArchiveSummary, OrchardError> {
  return making('classification', writeClassificationArchive, options, outputPath);
}

async function writeClassificationArchive(
  options: ClassificationArchiveOptions,
  outputPath: string,
): Promise<ClassificationArchiveSummary> {
  const { type, labels } = options;
  if (!classificationTypes.includes(type)) {
    throw invalidOption('type', `give one of ${classificationTypes.join(', ')}`);
  }
  checkArchiveOptions(options);
  if (labels && (labels.includes('') || new Set(labels).size < labels.length)) {
    throw invalidOption('labels', 'give each label once, and no empty label');
  }
  const isMultilabel = type === 'multilabel-text-classification';
  const read = async (source: RowSource, option: string): Promise<RowTable> => {
    if (!(Symbol.iterator in source)) {
      const { readRowFile, requireUsedReading } = await import('../datasets/index.js');
      const { path, format, textColumn: text, labelColumn: label } = source;
      const fitting = ['labels', 'label'] as const;
      const table = await readRowFile(path, { columns: { text, label }, format, isMultilabel, fitting });
      requireUsedReading([table], { columns: { text, label } });
      return table;
    }
    const rows = mapRows(source, option, (row) => {
      const extra = ['text2', 'weight'].find((field) => Reflect.get(row, field) !== undefined);
      if (extra !== undefined) throw noPlaceFor(extra, option);
      const labels = 'labels' in row ? row.labels : [row.label];
      if (typeof labels === 'object' && !Array.isArray(labels)) throw noPlaceFor('probability for each label', option);
      return { text: row.text, labels };
    });
    return given({ shape: 'labels', rows }, option, { labels: 'label' });
  };
  const { classificationRows, respaced } = await import('./classification/rows.js');
  const { dataset, ...checked } = await checkSources(classificationRows, type, options, read, labels);
  const isRespaced = ({ text }: { readonly text: string }) => respaced(text) !== text;
  const respacedTexts = [...dataset.train, ...dataset.dev].filter(isRespaced).length;
  const summary = await writeArchive(classificationRows, { dataset, ...checked }, options, outputPath);
  return { ...summary, labels: dataset.labels, respacedTexts };
}

function noPlaceFor(field: string, option: string): ValidationError {
  const msg = `rows have a ${field}, but an archive has no place for it; give these rows to train directly`;
  return new ValidationError([{ loc: [option], msg, type: 'invalid_option' }]);
}

/** Words and the BIO tag of each, `O`, `B-…` or `I-…`; an I- that continues nothing (IOB1) is taken as B-. */
export interface SequenceRow {
  readonly words: readonly string[];
  /** One per word. */
  readonly tags: readonly string[];
}

/**
 * A UTF-8 file with one word per line, the word in the first of two or more columns and its tag in the last. Columns
 * are separated by tabs, or by spaces if a line has no tab; a blank line ends a sentence, and so does -DOCSTART-.
 */
export interface ConllFile {
  readonly path: string;
}

/** Where tagged sentences come from. */
export type SequenceSource = ConllFile | Iterable<SequenceRow>;

/** Options of {@link createSequenceArchive}. */
export interface SequenceArchiveOptions extends ArchiveOptions<SequenceSource> {
  /** Types of entities, in the order of their tags' ids. Default: those that occur, sorted. */
  readonly entityTypes?: readonly string[] | undefined;
}

/** The summary of an archive by {@link createSequenceArchive}. */
export interface SequenceArchiveSummary extends ArchiveSummary {
  /** In the order of their tags' ids. */
  readonly entityTypes: readonly string[];
  /** Number of words with white space, which were split, or left out if they had nothing else. */
  readonly respacedWords: number;
}

/**
 * Creates a zip archive (docs/archives.md) from tagged sentences. They are checked as in training. Fails with a
 * DatasetError that names the line of each problem in the source; nothing is written then.
 */
export function createSequenceArchive(
  options: SequenceArchiveOptions,
  outputPath: string,
): ResultAsync<SequenceArchiveSummary, OrchardError> {
  return making('sequence', writeSequenceArchive, options, outputPath);
}

async function writeSequenceArchive(
  options: SequenceArchiveOptions,
  outputPath: string,
): Promise<SequenceArchiveSummary> {
  checkArchiveOptions(options);
  const { entityTypes: types } = options;
  const areTypes = types?.every((type) => parseTag(beginTag(type)) !== undefined) ?? true;
  if (types && (types.length === 0 || !areTypes || new Set(types).size < types.length)) {
    throw invalidOption('entityTypes', 'give at least one type, each once and without spaces');
  }
  const { sequenceRows, isSpaced } = await import('./entities/rows.js');
  let respacedWords = 0;
  const read = async (source: SequenceSource, option: string): Promise<RowTable> => {
    const { readRowFile } = await import('../datasets/index.js');
    const table =
      Symbol.iterator in source
        ? await given({ shape: 'tags', rows: tokensOf(source, option) }, option)
        : await readRowFile(source.path, { format: 'conll' });
    if (table.checked.shape === 'tags') {
      for (const { tokens } of table.checked.rows) respacedWords += tokens.filter(isSpaced).length;
    }
    return table;
  };
  const checked = await checkSources(sequenceRows, 'sequence-labeling', options, read, types);
  const summary = await writeArchive(sequenceRows, checked, options, outputPath);
  return { ...summary, entityTypes: entityTypes(checked.dataset.tags), respacedWords };
}

/** A question and the passage that answers it. */
export interface QuestionRow {
  readonly question: string;
  /** The passage that answers it. */
  readonly context: string;
}

/** A UTF-8 file of questions and passages. */
export interface QuestionFile extends RecordFile {
  /** Default: `question`, else `query`. */
  readonly questionColumn?: string | undefined;
  /** The column of the passages. Default: `passage`, else `context` or `answer`. */
  readonly contextColumn?: string | undefined;
}

/** Where questions come from. */
export type QuestionSource = QuestionFile | Iterable<QuestionRow>;

/** Options of {@link createRetrievalArchive}. */
export interface RetrievalArchiveOptions extends ArchiveOptions<QuestionSource> {
  /** Passages to search in addition to those of the rows. Default: none. */
  readonly passages?: Iterable<string> | undefined;
}

/** The summary of an archive by {@link createRetrievalArchive}. */
export interface RetrievalArchiveSummary extends ArchiveSummary {
  /** The number of distinct passages, including those without a question. */
  readonly passages: number;
}

/**
 * Creates a zip archive (docs/archives.md) from questions and passages. Rows are checked as in training. Fails with a
 * DatasetError that names the line or row of each problem; nothing is written then.
 */
export function createRetrievalArchive(
  options: RetrievalArchiveOptions,
  outputPath: string,
): ResultAsync<RetrievalArchiveSummary, OrchardError> {
  return making('retrieval', writeRetrievalArchive, options, outputPath);
}

async function writeRetrievalArchive(
  options: RetrievalArchiveOptions,
  outputPath: string,
): Promise<RetrievalArchiveSummary> {
  checkArchiveOptions(options);
  const read = async (source: QuestionSource, option: string): Promise<RowTable> => {
    if (Symbol.iterator in source) {
      const rows = mapRows(source, option, ({ question, context: passage }) => ({ question, passage }));
      return given({ shape: 'passage', rows }, option, { passage: 'context' });
    }
    const { readRowFile, requireUsedReading } = await import('../datasets/index.js');
    const { path, format, questionColumn: question, contextColumn: passage } = source;
    const columns = { question, passage };
    const table = await readRowFile(path, { columns, format, fitting: ['passages', 'passage'] });
    requireUsedReading([table], { columns });
    return table;
  };
  const { retrievalRows } = await import('./retrieval/rows.js');
  const checked = await checkSources(retrievalRows, 'question-answering', options, read);
  const summary = await writeArchive(retrievalRows, checked, options, outputPath);
  return { ...summary, passages: checked.dataset.passages.length };
}

/** An archive to make in a thread. */
export type ArchiveTask =
  | { readonly kind: 'classification'; readonly options: ClassificationArchiveOptions; readonly outputPath: string }
  | { readonly kind: 'sequence'; readonly options: SequenceArchiveOptions; readonly outputPath: string }
  | { readonly kind: 'retrieval'; readonly options: RetrievalArchiveOptions; readonly outputPath: string };

/** Makes an archive in this thread. @throws OrchardError */
export function writeArchiveHere(task: ArchiveTask): Promise<ArchiveSummary> {
  switch (task.kind) {
    case 'classification':
      return writeClassificationArchive(task.options, task.outputPath);
    case 'sequence':
      return writeSequenceArchive(task.options, task.outputPath);
    case 'retrieval':
      return writeRetrievalArchive(task.options, task.outputPath);
  }
}

/**
 * Makes an archive of a file in a thread, within limits; of a small file in this thread.
 * @throws OrchardError: DatasetError if a limit is exceeded, AbortedError as soon as the signal fires; nothing is then left
 */
export async function makeArchiveWithin(task: ArchiveTask, limits: RowsThreadLimits): Promise<void> {
  const reading = { doing: `making ${task.outputPath}`, signal: limits.signal };
  await withFewRows(task.options, reading, async ({ areFew }) => {
    await (areFew ? writeArchiveHere(task) : makeInThread(task, limits));
  });
}

interface ArchiveSources extends ArchiveOptions<{ readonly path: string } | Iterable<unknown>> {
  readonly passages?: Iterable<string> | undefined;
}

function making<Options extends ArchiveSources, Summary extends ArchiveSummary>(
  kind: ArchiveTask['kind'],
  write: (options: Options, outputPath: string) => Promise<Summary>,
  given: Options,
  outputPath: string,
): ResultAsync<Summary, OrchardError> {
  const make = async (): Promise<Summary> => {
    const target = requirePath(outputPath, 'outputPath');
    const { signal } = given;
    return withFewRows(withSources(given), { doing: `making ${target}`, signal }, async ({ options, areFew }) =>
      areFew ? write(options, target) : makeInThread({ kind, options, outputPath: target }, { signal }),
    );
  };
  return callResult(make(), `making ${outputPath}`);
}

/** The same options with the paths of the call. @throws ValidationError */
function withSources<Options extends ArchiveSources>(given: Options): Options {
  const options = { ...given, rows: sourceOf(given?.rows, 'rows') };
  return given.devRows === undefined ? options : { ...options, devRows: sourceOf(given.devRows, 'devRows') };
}

function sourceOf(source: ArchiveSources['rows'], option: string): ArchiveSources['rows'] {
  const isObject = typeof source === 'object' && source !== null;
  if (isObject && Symbol.iterator in source) return source;
  if (isObject && typeof source.path === 'string') return { ...source, path: requirePath(source.path, option) };
  throw invalidOption(option, 'give an array or an iterable of rows, or { path } with the path of a file');
}

/** @throws DatasetError for a row that is no object */
function mapRows<Row, Made>(rows: Iterable<Row>, origin: string, change: (row: Row) => Made): Made[] {
  return Array.from(rows, (row, at) => {
    if (typeof row === 'object' && row !== null) return change(row);
    const found = row === null || row === undefined ? String(row) : `a ${typeof row}`;
    throw new DatasetError([{ file: origin, line: at + 1, found: `found ${found}`, expected: 'an object' }]);
  });
}

async function makeInThread<Task extends { readonly options: ArchiveSources; readonly outputPath: string }, Summary>(
  task: Task,
  limits: RowsThreadLimits,
): Promise<Summary> {
  const { options, outputPath } = task;
  const doing = `making ${outputPath}`;
  const origin = 'path' in options.rows ? basename(options.rows.path) : 'rows';
  try {
    return await inRowsThread<Task, Summary>(task, { ...limits, doing, origin });
  } catch (thrown) {
    const { partialPath } = await import('../datasets/index.js');
    await deleteUnseen(partialPath(outputPath)); // the thread may have ended while it wrote
    throw thrown;
  }
}

function checkArchiveOptions(options: Omit<ArchiveOptions<unknown>, 'rows'>): void {
  const { name, devRows, devFraction = DEFAULT_DEV_FRACTION, seed = 0 } = options;
  if (!/^(?!\.+$)[\w.-]{1,100}$/.test(name)) {
    throw invalidOption('name', 'give 1 to 100 letters, digits, ".", "_" and "-"');
  }
  if (!(devFraction > 0 && devFraction < 1)) {
    throw invalidOption('devFraction', 'give a number above 0 and below 1');
  }
  if (devRows !== undefined && options.devFraction !== undefined) {
    throw invalidOption('devFraction', 'has no effect with `devRows`; leave one of them out');
  }
  if (!Number.isSafeInteger(seed)) throw invalidOption('seed', 'give a whole number');
}

function invalidOption(name: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [name], msg, type: 'invalid_option' }]);
}

function tokensOf(rows: Iterable<SequenceRow>, origin: string): readonly TaggedRow[] {
  return mapRows(rows, origin, ({ words: tokens, tags }) => ({ tokens, tags }));
}

/** Rows in memory. @param columns what their fields are called here. @throws DatasetError if there are none */
async function given(checked: CheckedRows, origin: string, columns: RowPlaces['columns'] = {}): Promise<RowTable> {
  if (checked.rows.length > 0) return { checked, origin, places: { lines: [], columns } };
  const { singleProblem } = await import('../datasets/index.js');
  throw singleProblem({ file: origin, found: 'found no rows', expected: 'at least one row' });
}

async function checkSources<Source, Made extends Dataset>(
  family: FamilyRows<Made>,
  type: ModelType,
  options: ArchiveOptions<Source> & Pick<RowSets, 'passages'>,
  read: (source: Source, option: string) => Promise<RowTable>,
  classes?: readonly string[],
): Promise<CheckedRowSets<Made>> {
  const { rows, devRows, devFraction, seed, passages } = options;
  const train = await read(rows, 'rows');
  const dev = devRows && (await read(devRows, 'devRows'));
  return family.check({ train, dev, devFraction, seed, classes, passages }, type);
}

async function writeArchive<Made extends Dataset>(
  { write }: FamilyRows<Made>,
  { dataset, leftOut }: CheckedRowSets<Made>,
  { name, description = name }: Pick<ArchiveOptions<unknown>, 'name' | 'description'>,
  path: string,
): Promise<ArchiveSummary> {
  const { CONFIG_FILE, writeZip } = await import('../datasets/index.js');
  const files = Object.entries(write(dataset, name)).map(([file, content]) => {
    const value = file === CONFIG_FILE && typeof content === 'object' ? { desc: description, ...content } : content;
    const text = typeof value === 'string' ? value : `${JSON.stringify(value, undefined, 2)}\n`;
    return [`${name}/${file}`, text];
  });
  await writeZip(path, Object.fromEntries(files));
  return {
    path,
    train: dataset.train.length,
    dev: dataset.dev.length,
    removedDuplicates: leftOut.find(({ kind }) => kind === 'duplicate_row')?.count ?? 0,
    warnings: dataset.warnings,
  };
}
