import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import * as z from 'zod';
import {
  type DatasetError,
  type DatasetProblem,
  ENCODINGS,
  OFFSETS,
  ROW_FORMATS,
  ValidationError,
} from '../contract/index.js';
import { allItems, mapWithPauses } from '../system/index.js';
import { conllSentences, looksLikeConll } from './conll.js';
import { type Offsets, offsetsName, settleSpans } from './entity-spans.js';
import { settledLabels } from './label-cells.js';
import { counted, type DatasetWarning, ProblemList, quoted, singleProblem, someOf } from './problems.js';
import { isObject, jsonRecords, looksLikeJson, own, tableRecords } from './records.js';
import { readRowText } from './row-text.js';
import {
  type CheckedRows,
  checkRows,
  fieldsOf,
  invalid,
  type RowIssue,
  type RowPlaces,
  type RowShape,
  type Rows,
  type RowsOrPath,
  type RowTable,
  rowShapes,
  shapeOfFirst,
  type TrainingRow,
} from './rows.js';
import { columnRows, type FoundRows, hasNumberTags, spansIn, toolRows } from './shapes.js';
import type { TextLine } from './text-lines.js';
import { bratRows, faqRows, fastTextRows, isBratFolder, looksLikeFastText } from './text-rows.js';

/** Reads rows: from a file, whatever wrote it (docs/files.md), or from memory. */

/** The names of a file's columns, if they differ from the defaults. */
export interface Columns {
  /** The column with the text. Default: `text`, otherwise `sentence`, `content`, `review` or `utterance`. */
  readonly text?: string | undefined;
  /** Classifiers of pairs: the second text. Default: `text2`; without such a column, texts are single. */
  readonly text2?: string | undefined;
  /**
   * Classifiers: the weight of each row in training. Default: `weight`; without such a column, every row has the weight
   * 1.
   */
  readonly weight?: string | undefined;
  /**
   * The column with the label. Default: `label`, otherwise `category`, `class`, `intent` or `sentiment`. For several
   * labels: `labels`, otherwise `tags`, `categories` or `topics`.
   */
  readonly label?: string | undefined;
  /** The column with the question. Default: `question`, otherwise `query`. */
  readonly question?: string | undefined;
  /** The column with the passage. Default: `passage`, otherwise `context` or `answer`. */
  readonly passage?: string | undefined;
}

const column = z.string().min(1, 'the name of the column is empty').optional();

export const columnsSchema: z.ZodType<Columns> = z.strictObject({
  text: column,
  text2: column,
  weight: column,
  label: column,
  question: column,
  passage: column,
});

/**
 * How to read rows, if what is detected is wrong. All options but `offsets`, `tagNames` and `skipInvalid` apply only to
 * files. An option that no given rows have a use for, such as `delimiter` for JSON, is a ValidationError.
 */
export interface ReadingOptions {
  readonly columns?: Columns | undefined;
  /** The format of the file. Default: detected from the content and the ending of the file's name, such as `.md`. */
  readonly format?: 'csv' | 'tsv' | 'json' | 'jsonl' | 'conll' | 'fasttext' | 'markdown' | undefined;
  /** The encoding of the file. Default: UTF-8; UTF-16 is detected. */
  readonly encoding?: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252' | undefined;
  /** The character that separates the cells of a table. Default: comma, semicolon, tab or |, as detected. */
  readonly delimiter?: string | undefined;
  /**
   * The unit of the offsets of entities. Default: UTF-16 code units, unless only code points or bytes fit the words.
   */
  readonly offsets?: 'utf-16' | 'code-points' | 'bytes' | undefined;
  /** The names of tags that are numbers, in the order of the numbers. */
  readonly tagNames?: readonly string[] | undefined;
  /** Whether to leave out rows with a problem, with a warning, instead of failing. Default false. */
  readonly skipInvalid?: boolean | undefined;
}

export const readingShape = {
  columns: columnsSchema.optional(),
  format: z.enum(ROW_FORMATS).optional(),
  encoding: z.enum(ENCODINGS).optional(),
  delimiter: z.string().length(1, 'give one character').optional(),
  offsets: z.enum(OFFSETS).optional(),
  tagNames: z.array(z.string()).min(1, 'give the names of the tags').optional(),
  skipInvalid: z.boolean().optional(),
};

interface RowFileOptions extends ReadingOptions {
  /** Whether rows have any number of labels. Default: as the labels say. */
  readonly isMultilabel?: boolean | undefined;
  /**
   * Whether blank texts and labels and repeated labels are refused here, not only by the family. Default: as
   * `skipInvalid`.
   */
  readonly isStrict?: boolean | undefined;
  /** The shapes that its rows may have, in the order in which they are tried. Default: any. */
  readonly fitting?: readonly RowShape[] | undefined;
}

/** Endings that files of rows have; others are read too. */
const ROW_ENDINGS = [...['csv', 'tsv', 'jsonl', 'ndjson', 'json', 'conll', 'bio', 'iob', 'iob2', 'txt', 'md', 'gz']];
const CONLL_ENDINGS = ['conll', 'bio', 'iob', 'iob2'];

export function isRowFile(path: string): boolean {
  return ROW_ENDINGS.includes(endingOf(path));
}

function endingOf(path: string): string {
  return extname(path.replace(/\.gz$/iu, '')).slice(1).toLowerCase();
}

/** Reads and checks the rows of a file, or a folder of brat. @throws DatasetError with every problem, each with its line */
export async function readRowFile(path: string, options: RowFileOptions = {}): Promise<RowTable> {
  const found = await stat(path).catch(() => undefined);
  const origin = basename(path);
  const isFolder = found?.isDirectory() === true && (await isBratFolder(path));
  if (!found?.isFile() && !isFolder) {
    const other = 'found a folder without annotations of brat (.ann)';
    throw notAFile(origin, found === undefined ? 'found no such file' : other);
  }
  const problems = new ProblemList();
  const read = isFolder
    ? { ...(await bratRows(path, problems)), written: [], uses: [] }
    : await fileRows(path, origin, options, problems);
  return rowTable(read, origin, options, problems);
}

type WrittenRows = FoundRows & {
  readonly written: readonly string[];
  /** As in a {@link RowTable}, by the format alone. */
  readonly uses: readonly string[];
};

/** The rows of a file, by what its text says it is. */
async function fileRows(
  path: string,
  file: string,
  options: RowFileOptions,
  problems: ProblemList,
): Promise<WrittenRows> {
  const { lines, notes: written } = await readRowText(path, options.encoding);
  const { format = formatOf(path, lines), fitting = rowShapes, columns, tagNames } = options;
  const extra = (['text2', 'weight'] as const).find((name) => columns?.[name] !== undefined);
  if (extra !== undefined && (format === 'conll' || format === 'fasttext' || format === 'markdown')) {
    throw singleProblem({
      file,
      found: `found the format ${format}`,
      expected: `a table or JSON, which can have a column for ${extra}`,
    });
  }
  const isTable = format === 'csv' || format === 'tsv';
  const more = { written, uses: ['format', 'encoding', ...(isTable ? ['delimiter'] : [])] };
  switch (format) {
    case 'conll': {
      const sentences = conllSentences(lines, file, problems);
      const name = sentences.scheme === 'BIO' ? 'CoNLL' : `CoNLL with ${sentences.scheme} tags`;
      return { name, shape: 'tags', columns: {}, ...sentences, ...more };
    }
    case 'fasttext':
      return { ...fastTextRows(lines, file, problems), ...more };
    case 'markdown':
      return { ...faqRows(lines, file), ...more };
    default: {
      const delimiter = options.delimiter ?? (format === 'tsv' ? '\t' : undefined);
      const records = isTable ? tableRecords(lines, file, problems, delimiter) : jsonRecords(lines, file, problems);
      if (problems.total > 0 && (records.cells ?? records.records).length === 0) throw problems.toError();
      const shaping = { columns: columns && { ...columns }, fitting, tagNames };
      const tool = isTable || columns !== undefined ? undefined : toolRows(records, file, problems);
      return { ...(tool ?? columnRows(records, file, shaping, problems)), ...more };
    }
  }
}

function formatOf(path: string, lines: readonly TextLine[]): NonNullable<ReadingOptions['format']> {
  const ending = endingOf(path);
  if (looksLikeJson(lines)) return 'json';
  if (looksLikeFastText(lines)) return 'fasttext';
  if (CONLL_ENDINGS.includes(ending) || looksLikeConll(lines)) return 'conll';
  if (ending === 'json' || ending === 'jsonl' || ending === 'ndjson') return 'json';
  return ending === 'md' || ending === 'markdown' ? 'markdown' : 'csv';
}

/** The checked rows of a file, with notes and warnings about them. @throws DatasetError */
function rowTable(read: WrittenRows, origin: string, options: RowFileOptions, problems: ProblemList): RowTable {
  const { isMultilabel, skipInvalid = false } = options;
  const { columns, wordLines } = read;
  const isLabelled = read.shape === 'label' || read.shape === 'labels' || read.shape === 'soft';
  const {
    shape,
    rows,
    lines,
    notes = [],
  } = isLabelled ? settledLabels(read, origin, isMultilabel, problems) : { ...read, notes: [] };
  if (problems.total > 0 && !skipInvalid) throw problems.toError();
  if (rows.length === 0) {
    throw singleProblem({ file: origin, found: `found ${read.name} without rows`, expected: 'at least one row' });
  }
  const places = { lines, columns, ...(wordLines && { wordLines }) };
  const settled = settledRows({ shape, rows, origin, places }, options);
  const left = problems.total > 0 ? [leftOut(problems.toError(), problems.total)] : [];
  const unread = read.unread ?? [];
  const listed = someOf(unread.map((name) => quoted(name)));
  const message = `${origin}: the ${unread.length === 1 ? 'column' : 'columns'} ${listed} ${unread.length === 1 ? 'is' : 'are'} not used`;
  const unreadWarning: DatasetWarning = { kind: 'unread_column', count: unread.length, message, examples: [] };
  const told = [...read.written, ...(read.notes ?? []), ...notes, ...settled.notes];
  const named = Object.keys(columns).map((field) => `columns.${field}`);
  return {
    ...settled.table,
    uses: [...read.uses, ...named, ...usesOf(shape, read.hasNamedTags)],
    readAs: [`${read.name}: ${contentOf(settled.table.checked)}`, ...told].join('; '),
    warnings: [...left, ...settled.warnings, ...(unread.length > 0 ? [unreadWarning] : [])],
  };
}

/** The options that rows have a use for, in a file or in memory. @param hasNamedTags whether tags that are numbers were named */
function usesOf(shape: RowShape, hasNamedTags = false): readonly string[] {
  return [...(shape === 'entities' ? ['offsets'] : []), ...(hasNamedTags ? ['tagNames'] : [])];
}

/** What was read, and what it has a use for. */
export interface ReadSource {
  readonly origin: string;
  readonly readAs?: string | undefined;
  readonly uses?: readonly string[] | undefined;
}

interface UnusedOption {
  readonly name: string;
  readonly appliesTo: string;
}

/** The options that were given and that none of the sources has a use for. */
export function unusedReading(
  sources: readonly ReadSource[],
  { columns = {}, format, encoding, delimiter, offsets, tagNames }: ReadingOptions,
): readonly UnusedOption[] {
  const used = new Set(sources.flatMap(({ uses = [] }) => uses));
  const ofColumns = Object.entries(columns).map(([field, value]) => {
    return { name: `columns.${field}`, value, appliesTo: `tables and JSON with a ${field} in each row` };
  });
  const options = [
    ...ofColumns,
    { name: 'format', value: format, appliesTo: 'single files' },
    { name: 'encoding', value: encoding, appliesTo: 'single files' },
    { name: 'delimiter', value: delimiter, appliesTo: 'tables' },
    { name: 'offsets', value: offsets, appliesTo: 'texts with entities' },
    { name: 'tagNames', value: tagNames, appliesTo: 'tags that are numbers' },
  ];
  return options.filter(({ name, value }) => value !== undefined && !used.has(name));
}

/** @throws ValidationError for an option that none of the sources has a use for. @param reading as the caller gave it */
export function requireUsedReading(sources: readonly ReadSource[], reading: ReadingOptions): void {
  const [unused] = unusedReading(sources, reading);
  if (unused === undefined) return;
  const { name, appliesTo } = unused;
  const found = sources.flatMap(({ origin, readAs }) =>
    readAs === undefined ? [] : `${origin} was read as ${readAs}`,
  );
  const why = [`applies only to ${appliesTo}`, ...found].join(', and ');
  throw invalid(name.split('.'), `${why}; leave \`${name}\` out`);
}

interface FoundTable {
  readonly shape: RowShape;
  readonly rows: readonly unknown[];
  readonly origin: string;
  readonly places?: RowPlaces;
}

interface SettledTable {
  readonly table: RowTable;
  readonly notes: readonly string[];
  readonly warnings: readonly DatasetWarning[];
}

/** Checked rows; places of entities in UTF-16 code units. @throws DatasetError, or ValidationError for rows in memory */
function settledRows(
  found: FoundTable,
  { offsets, skipInvalid = false, isStrict = skipInvalid }: ReadingOptions & Pick<RowFileOptions, 'isStrict'>,
): SettledTable {
  const { shape, origin, places } = found;
  const spans = shape === 'entities' ? settledEntities(found, offsets) : { rows: found.rows, notes: [], warnings: [] };
  const { checked, issues } = checkRows(shape, spans.rows, {
    isStrict,
    ...(skipInvalid && { most: Number.POSITIVE_INFINITY }),
  });
  const table = { checked, origin, ...(places && { places }) };
  if (issues.length === 0) return { ...spans, table };
  const error = errorOf(issues, found);
  const wrong = new Set(issues.map(({ row }) => row));
  if (!skipInvalid || wrong.size === spans.rows.length) throw error;
  const kept = <Value>(values: readonly Value[]) => values.filter((_, row) => !wrong.has(row));
  const lines = places?.lines ?? found.rows.map((_, row) => row + 1);
  const keptPlaces = {
    columns: {},
    ...(places ?? { given: found.rows.length }),
    lines: kept(lines),
    ...(places?.wordLines && { wordLines: kept(places.wordLines) }),
  };
  const warnings = [leftOut(error, wrong.size), ...spans.warnings];
  return { table: { ...table, places: keptPlaces }, notes: spans.notes, warnings };
}

function errorOf(issues: readonly RowIssue[], { shape, origin, places }: FoundTable): DatasetError | ValidationError {
  if (places === undefined) {
    return new ValidationError(
      issues.map(({ row, path, message }) => ({ loc: [origin, row, ...path], msg: message, type: 'row' })),
    );
  }
  const problems = new ProblemList();
  for (const issue of issues) problems.add(issueOf(issue, shape, origin, places));
  return problems.toError();
}

function issueOf(
  { row, path, message, input }: RowIssue,
  shape: RowShape,
  file: string,
  { columns, lines }: RowPlaces,
): DatasetProblem {
  const [field = '', ...rest] = path;
  const column = [columns[field] ?? field, ...rest].join('.');
  const place = { file, line: lines[row] ?? 0, ...(column !== '' && { column }) };
  const [, wanted] = /^give (.*)/.exec(message) ?? [];
  const found = wanted === undefined ? message : `found ${quoted(input)}`;
  return { ...place, found, expected: wanted ?? `a row of ${fieldsOf(shape)}` };
}

/** The warning about rows that `skipInvalid` leaves out. */
export function leftOut(error: DatasetError | ValidationError, count: number): DatasetWarning {
  const rows = counted(count, 'row with a problem was', 'rows with a problem were');
  const message = `${rows} left out, such as: ${error.message}`;
  return { kind: 'invalid_row', count, message, examples: [] };
}

const spanSchema = z.object({ start: z.int(), end: z.int(), type: z.string(), text: z.string().optional() });
const doubtsSchema = z.array(spanSchema.pick({ start: true, end: true }).extend({ tags: z.unknown() }));
const spansSchema = z.object({
  text: z.string(),
  entities: z.array(spanSchema),
  doubts: doubtsSchema.optional(),
});

/** What isn't even a text with places stays as it is, to be refused by its row. @throws DatasetError for places that fit no words */
function settledEntities({ rows, origin, places }: FoundTable, offsets: Offsets | undefined) {
  const read = rows.map((row) => spansSchema.safeParse(row).data);
  const at = [...read.keys()].filter((row) => read[row] !== undefined);
  const {
    rows: settled,
    counted: found,
    warnings,
    problem,
  } = settleSpans(
    at.flatMap((row) => read[row] ?? []),
    offsets,
  );
  if (problem) {
    const { line = 1, ...said } = problem;
    const row = at[line - 1] ?? 0;
    throw singleProblem({ file: origin, line: places?.lines[row] ?? row + 1, ...said });
  }
  const bySettled = new Map(at.map((row, place) => [row, settled[place]]));
  return {
    rows: rows.map((row, place) => {
      const { entities, doubts } = bySettled.get(place) ?? {};
      return entities === undefined || !isObject(row) ? row : { ...row, entities, ...(doubts && { doubts }) };
    }),
    notes: found && offsets === undefined ? [`entity offsets in ${offsetsName(found)}`] : [],
    warnings,
  };
}

function contentOf(checked: CheckedRows): string {
  const { length } = checked.rows;
  const kinds = (all: Iterable<string>, noun: string) => counted(new Set(all).size, noun);
  switch (checked.shape) {
    case 'label':
      return `${counted(length, 'text')}, ${kinds(
        checked.rows.map(({ label }) => label),
        'label',
      )}`;
    case 'labels': {
      const found = kinds(
        checked.rows.flatMap(({ labels }) => labels),
        'label',
      );
      return `${counted(length, 'text')}, ${found}, any number of them per text`;
    }
    case 'soft': {
      const found = kinds(
        checked.rows.flatMap(({ labels }) => Object.keys(labels)),
        'label',
      );
      return `${counted(length, 'text')}, ${found} with probabilities`;
    }
    case 'tags': {
      const types = checked.rows.flatMap(({ tags }) => tags.flatMap((tag) => (tag === 'O' ? [] : [tag.slice(2)])));
      return `${counted(length, 'sentence')}, ${kinds(types, 'entity type')}`;
    }
    case 'entities': {
      const types = checked.rows.flatMap(({ entities }) => entities.map(({ type }) => type));
      return `${counted(length, 'text')}, ${kinds(types, 'entity type')}`;
    }
    case 'passage':
      return `${counted(length, 'question')}, ${kinds(
        checked.rows.map(({ passage }) => passage),
        'passage',
      )}`;
    case 'passages':
      return `${counted(length, 'question')}, ${kinds(
        checked.rows.flatMap(({ passages }) => passages),
        'passage',
      )}`;
  }
}

interface ReadOptions {
  /** The option that they were given as, for messages. */
  readonly option: string;
  readonly reading?: ReadingOptions | undefined;
  readonly isMultilabel?: boolean | undefined;
  /**
   * Whether blank texts and labels and repeated labels are refused here, not only by the family. Default: as
   * `skipInvalid`.
   */
  readonly isStrict?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads and checks all rows. @throws ValidationError, DatasetError, AbortedError; what the iterator of the rows throws */
export async function readRows(
  source: RowsOrPath,
  { option, reading = {}, isMultilabel, isStrict, signal }: ReadOptions,
): Promise<RowTable> {
  if (typeof source === 'string') return readRowFile(source, { ...reading, isMultilabel, isStrict });
  for (const name of ['columns', 'format', 'encoding', 'delimiter'] as const) {
    if (reading[name] !== undefined)
      throw invalid([name], `applies only to files, and rows are given in memory; leave \`${name}\` out`);
  }
  return readRowsInMemory(source, option, { ...reading, isStrict }, signal);
}

/**
 * Labels may be numbers, and so may tags that `tagNames` names. Entities may be written as other tools write them.
 * @throws ValidationError, AbortedError; what the iterator throws
 */
async function readRowsInMemory(
  source: Rows,
  option: string,
  reading: RowFileOptions,
  signal?: AbortSignal,
): Promise<RowTable> {
  const rows: readonly unknown[] = await collected(source, option, signal);
  const shape = shapeOfFirst(rows[0], option);
  const spelled = rows.map((row) => spelledOut(row, reading.tagNames));
  const { table, warnings } = settledRows({ shape, rows: spelled, origin: option }, reading);
  const hasNamedTags = reading.tagNames !== undefined && rows.some(hasNumberTags);
  return { ...table, uses: usesOf(shape, hasNamedTags), ...(warnings.length > 0 && { warnings }) };
}

async function collected<Row extends TrainingRow>(
  source: Rows<Row>,
  option: string,
  signal: AbortSignal | undefined,
): Promise<readonly Row[]> {
  const isIterable =
    typeof source === 'object' && source !== null && (Symbol.iterator in source || Symbol.asyncIterator in source);
  if (!isIterable) throw invalid([option], 'give an array, an iterable of rows, or the path of a file');
  return allItems(source, { doing: `reading ${option}`, signal });
}

/**
 * Rows in memory with the places of their entities in UTF-16 code units. Anything that can't be read as such stays as it
 * is, to be judged with all rows. @throws ValidationError, AbortedError; what the iterator throws
 */
export async function rowsInUtf16(
  source: Rows,
  offsets: Offsets | undefined,
  signal?: AbortSignal,
): Promise<readonly TrainingRow[]> {
  const rows = await collected(source, 'rows', signal);
  const read = await mapWithPauses(rows, (row) => spansSchema.safeParse(spelledOut(row, undefined)).data, signal);
  const settled = settleSpans(
    read.flatMap((each) => each ?? []),
    offsets,
  ).rows.values();
  return rows.map((row, at) => {
    const { entities, doubts } = (read[at] && settled.next().value) ?? {};
    return entities === undefined ? row : Object.assign({ ...row }, { entities, ...(doubts && { doubts }) });
  });
}

function spelledOut(row: unknown, tagNames: readonly string[] | undefined): unknown {
  if (!isObject(row)) return row;
  if (tagNames && 'tokens' in row && Array.isArray(row.tags)) {
    const named = (tag: unknown) => (typeof tag === 'number' ? (tagNames[tag] ?? tag) : tag);
    return { ...row, tags: row.tags.map(named) };
  }
  if ('entities' in row && 'text' in row) return { ...row, entities: spansIn(row.entities) };
  if (typeof row.label === 'number' || typeof row.label === 'boolean') return { ...row, label: String(row.label) };
  if (!Array.isArray(row.labels)) return row;
  return { ...row, labels: row.labels.map((label: unknown) => (isScalar(label) ? String(label) : label)) };
}

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

function notAFile(file: string, found: string) {
  const endings = ROW_ENDINGS.map((ending) => `.${ending}`).join(', ');
  return singleProblem({ file, found, expected: `a file of rows: ${endings}` });
}

/** What a column has in one record of a file. */
export interface ColumnCell {
  /** Of the record, as in {@link RowPlaces}. */
  readonly line: number;
  readonly value: string;
}

/**
 * One column of a file of records, in their order; also of those that are no rows, such as rows with a problem that are left
 * out. @throws DatasetError; ValidationError for a column it lacks
 */
export async function columnOf(
  path: string,
  column: string,
  reading: ReadingOptions = {},
): Promise<readonly ColumnCell[]> {
  const file = basename(path);
  const problems = new ProblemList();
  const { lines } = await readRowText(path, reading.encoding);
  const format = reading.format ?? formatOf(path, lines);
  const isTable = format === 'csv' || format === 'tsv';
  const { records, columns } = isTable
    ? tableRecords(lines, file, problems, reading.delimiter ?? (format === 'tsv' ? '\t' : undefined))
    : jsonRecords(lines, file, problems);
  if (problems.total > 0 && !reading.skipInvalid) throw problems.toError();
  if (!columns.includes(column)) {
    const listed = someOf(columns.map((name) => quoted(name)));
    throw invalid(['groupColumn'], `${file} has no column ${quoted(column)}; it has ${listed}`);
  }
  return records.map(({ line, value }) => {
    const cell = (isObject(value) ? own(value, column) : undefined) ?? '';
    return { line, value: typeof cell === 'string' ? cell : JSON.stringify(cell) };
  });
}
