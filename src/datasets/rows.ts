import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import * as z from 'zod';
import { AbortedError, type DatasetProblem, ValidationError } from '../contract/index.js';
import { isPauseDue, pause } from '../system/index.js';
import { readTable, type SourceFormat, type SourceRecord, type Table } from './csv.js';
import { counted, ProblemList, quoted, singleProblem, someOf } from './problems.js';
import { readLines, type TextLine } from './text-lines.js';

/** The rows that a model is trained and judged on. */

/** A text with its one label. Two different labels in all make a binary classifier, more a multiclass one. */
export interface LabelledRow {
  readonly text: string;
  readonly label: string;
}

/** A text with any number of labels: a multilabel classifier. */
export interface MultilabelRow {
  readonly text: string;
  readonly labels: readonly string[];
}

/** A sentence in words, with a BIO tag for each: `O`, `B-…` or `I-…`. */
export interface TaggedRow {
  readonly tokens: readonly string[];
  readonly tags: readonly string[];
}

/** An entity of a text. `text.slice(start, end)` is what it says. */
export interface EntityRange {
  /** UTF-16 code units into the text. */
  readonly start: number;
  /** After its last UTF-16 code unit. */
  readonly end: number;
  readonly type: string;
}

/** A text with the places of its entities. */
export interface EntityRow {
  readonly text: string;
  readonly entities: readonly EntityRange[];
}

/** A question and the passage that answers it. */
export interface QuestionPassageRow {
  readonly question: string;
  readonly passage: string;
}

/** A question and the passages, each of which answers it. */
export interface QuestionPassagesRow {
  readonly question: string;
  readonly passages: readonly string[];
}

/** One example; all rows of a dataset have the same fields. */
export type TrainingRow =
  | LabelledRow
  | MultilabelRow
  | TaggedRow
  | EntityRow
  | QuestionPassageRow
  | QuestionPassagesRow;

/** Examples in memory, or as they come. */
export type Rows<Row extends TrainingRow = TrainingRow> = Iterable<Row> | AsyncIterable<Row>;

/** Examples, or the path of a CSV, TSV, JSON Lines or CoNLL file that has them. */
export type RowsOrPath<Row extends TrainingRow = TrainingRow> = Rows<Row> | string;

const text = z.string('give a string');
const texts = z.array(z.string('give a string'), 'give an array of strings');

const labelSchema = z.object({ text, label: text });
const labelsSchema = z.object({ text, labels: texts });
const taggedSchema = z
  .object({ tokens: texts, tags: texts })
  .refine(({ tokens, tags }) => tokens.length === tags.length, 'give as many tags as tokens');
/** Other tools call the type of an entity its label. */
const typeNamed = (range: unknown): unknown =>
  typeof range === 'object' && range !== null && 'label' in range && !('type' in range)
    ? { ...range, type: range.label }
    : range;
const rangeSchema = z.preprocess(
  typeNamed,
  z.object({ start: z.int().min(0), end: z.int(), type: text.min(1, 'give a type') }),
);
const entitySchema = z.object({ text, entities: z.array(rangeSchema) }).superRefine((row, context) => {
  for (const [at, { start, end }] of row.entities.entries()) {
    const others = row.entities.slice(0, at);
    const path = ['entities', at];
    if (end <= start || end > row.text.length) {
      const message = `${start} to ${end} is no part of a text of ${row.text.length} UTF-16 code units`;
      context.addIssue({ code: 'custom', path, message });
    } else if (others.some((other) => other.start < end && start < other.end)) {
      context.addIssue({ code: 'custom', path, message: 'it overlaps an earlier entity; keep one of the two' });
    }
  }
});
const passageSchema = z.object({ question: text, passage: text });
const passagesSchema = z.object({
  question: text,
  passages: texts.min(1, 'give at least one passage that answers the question'),
});

const shapes = {
  label: { fields: ['text', 'label'], schema: labelSchema },
  labels: { fields: ['text', 'labels'], schema: labelsSchema },
  tags: { fields: ['tokens', 'tags'], schema: taggedSchema },
  entities: { fields: ['text', 'entities'], schema: entitySchema },
  passage: { fields: ['question', 'passage'], schema: passageSchema },
  passages: { fields: ['question', 'passages'], schema: passagesSchema },
} as const;

export type RowShape = keyof typeof shapes;

export type CheckedRows =
  | { readonly shape: 'label'; readonly rows: readonly LabelledRow[] }
  | { readonly shape: 'labels'; readonly rows: readonly MultilabelRow[] }
  | { readonly shape: 'tags'; readonly rows: readonly TaggedRow[] }
  | { readonly shape: 'entities'; readonly rows: readonly EntityRow[] }
  | { readonly shape: 'passage'; readonly rows: readonly QuestionPassageRow[] }
  | { readonly shape: 'passages'; readonly rows: readonly QuestionPassagesRow[] };

/** Some of the rows, in their order. @param positions from 0 */
export function rowsAt(checked: CheckedRows, positions: ReadonlySet<number>): CheckedRows {
  const of = <Row>(rows: readonly Row[]): readonly Row[] => rows.filter((_, at) => positions.has(at));
  switch (checked.shape) {
    case 'label':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'labels':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'tags':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'entities':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'passage':
      return { shape: checked.shape, rows: of(checked.rows) };
    case 'passages':
      return { shape: checked.shape, rows: of(checked.rows) };
  }
}

interface RowIssue {
  /** Position of the row, from 0. */
  readonly row: number;
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly input: unknown;
}

const MAX_ISSUES = 100;

/** In the order in which they are tried: the first whose fields are all there is the shape of the rows. */
export const rowShapes: readonly RowShape[] = ['tags', 'entities', 'labels', 'label', 'passages', 'passage'];

const KNOWN_SHAPES = Object.values(shapes)
  .map(({ fields }) => `{ ${fields.join(', ')} }`)
  .join(', ');

/** The fields that rows of a shape have, in words. */
export function fieldsOf(shape: RowShape): string {
  return shapes[shape].fields.join(' and ');
}

export interface RowTable {
  readonly checked: CheckedRows;
  readonly origin: string;
  /** Where the rows of a file are. Rows in memory count from 1, and their columns are their fields. */
  readonly places?: RowPlaces;
}

/** Where the rows of a file are. */
export interface RowPlaces {
  readonly lines: readonly number[];
  readonly columns: Readonly<Record<string, string>>;
  /** CoNLL: the line of each row's words. */
  readonly wordLines?: readonly (readonly number[])[];
}

type Place = Pick<DatasetProblem, 'file' | 'column'> & { readonly line: number };

/** Where a row is. @param row from 0 */
export function placeOfRow({ origin, places }: RowTable, row: number): Place {
  return { file: origin, line: places?.lines[row] ?? row + 1 };
}

/** Where a field of a row is. @param item of a list of words or tags */
export function placeOfField(table: RowTable, row: number, field: string, item?: number): Place {
  const { places } = table;
  const place = placeOfRow(table, row);
  if (places?.wordLines) return { ...place, line: places.wordLines[row]?.[item ?? 0] ?? place.line };
  const column = places?.columns[field] ?? field;
  return { ...place, column: item === undefined ? column : `${column}[${item}]` };
}

/** @throws ValidationError, AbortedError; what the iterator of the rows throws */
async function readRowsInMemory(source: Rows, option: string, signal?: AbortSignal): Promise<RowTable> {
  const isIterable =
    typeof source === 'object' && source !== null && (Symbol.iterator in source || Symbol.asyncIterator in source);
  if (!isIterable) throw invalid([option], 'give an array, an iterable of rows, or the path of a file');
  const rows: unknown[] = [];
  for await (const row of source) {
    rows.push(row);
    if (signal?.aborted) throw new AbortedError(`reading ${option}`, { cause: signal.reason });
    if (isPauseDue()) await pause(signal);
  }
  const { checked, issues } = checkRows(shapeOfFirst(rows[0], option), rows);
  if (issues.length === 0) return { checked, origin: option };
  throw new ValidationError(
    issues.map(({ row, path, message }) => ({ loc: [option, row, ...path], msg: message, type: 'row' })),
  );
}

function shapeOfFirst(first: unknown, option: string): RowShape {
  if (first === undefined) throw invalid([option], 'there are no rows');
  const fields = new Set(typeof first === 'object' && first !== null ? Object.keys(first) : []);
  const shape = rowShapes.find((each) => shapes[each].fields.every((field) => fields.has(field)));
  if (shape !== undefined) return shape;
  const found = fields.size > 0 ? `the fields ${[...fields].join(', ')}` : quoted(first);
  throw invalid([option, 0], `found ${found}; give rows of one of ${KNOWN_SHAPES}`);
}

export function invalid(loc: readonly (string | number)[], msg: string): ValidationError {
  return new ValidationError([{ loc, msg, type: 'invalid_option' }]);
}

/** The rows that have the fields of a shape, and what is wrong with the others. */
function checkRows(shape: RowShape, rows: readonly unknown[]): { checked: CheckedRows; issues: readonly RowIssue[] } {
  const issues: RowIssue[] = [];
  const parse = <Row>(schema: z.ZodType<Row>) => parsed(rows, schema, issues);
  switch (shape) {
    case 'label':
      return { checked: { shape, rows: parse(labelSchema) }, issues };
    case 'labels':
      return { checked: { shape, rows: parse(labelsSchema) }, issues };
    case 'tags':
      return { checked: { shape, rows: parse(taggedSchema) }, issues };
    case 'entities':
      return { checked: { shape, rows: parse(entitySchema) }, issues };
    case 'passage':
      return { checked: { shape, rows: parse(passageSchema) }, issues };
    case 'passages':
      return { checked: { shape, rows: parse(passagesSchema) }, issues };
  }
}

function parsed<Row>(rows: readonly unknown[], schema: z.ZodType<Row>, issues: RowIssue[]): Row[] {
  const checked: Row[] = [];
  for (const [row, value] of rows.entries()) {
    const result = schema.safeParse(value, { reportInput: true });
    if (result.success) checked.push(result.data);
    else
      for (const { path, message, input } of result.error.issues)
        issues.push({ row, path: path.map(segment), message, input });
    if (issues.length >= MAX_ISSUES) break;
  }
  return checked;
}

function segment(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}

/** What the columns of a file are called, where it isn't what the rows' fields are called. */
export interface Columns {
  /** Default: `text`, else `sentence`, `content`, `review` or `utterance`. */
  readonly text?: string | undefined;
  /** Default: `label`, else `category`, `class`, `intent` or `sentiment`. */
  readonly label?: string | undefined;
  /** Default: `question`, else `query`. */
  readonly question?: string | undefined;
  /** Default: `passage`, else `context` or `answer`. */
  readonly passage?: string | undefined;
}

const column = z.string().min(1, 'the name of the column is empty').optional();

export const columnsSchema: z.ZodType<Columns> = z.strictObject({
  text: column,
  label: column,
  question: column,
  passage: column,
});

interface RowFileOptions {
  readonly columns?: Columns | undefined;
  /** Default: by the ending of the file's name. */
  readonly format?: SourceFormat | 'conll' | undefined;
  /** Whether labels in a table's cell are separated by commas. Default: if the column is called `labels`. */
  readonly isMultilabel?: boolean | undefined;
  /** The shapes that its rows may have, in the order in which they are tried. Default: any. */
  readonly fitting?: readonly RowShape[] | undefined;
}

/** The names that columns go by; of several, the first in this order is read. */
const names = {
  text: ['text', 'sentence', 'content', 'review', 'utterance'],
  label: ['label', 'category', 'class', 'intent', 'sentiment'],
  labels: ['labels'],
  question: ['question', 'query'],
  passage: ['passage', 'context', 'answer'],
  passages: ['passages'],
  tokens: ['tokens', 'words'],
  tags: ['tags', 'ner_tags'],
  entities: ['entities', 'spans'],
} as const;
type Field = keyof typeof names;

const CONLL_ENDINGS = ['conll', 'bio', 'iob', 'iob2', 'txt'];
const TABLE_ENDINGS = ['csv', 'tsv', 'jsonl', 'ndjson', 'json'];

export function isRowFile(path: string): boolean {
  return [...CONLL_ENDINGS, ...TABLE_ENDINGS].includes(endingOf(path));
}

function endingOf(path: string): string {
  return extname(path).slice(1).toLowerCase();
}

interface FileRows {
  readonly shape: RowShape;
  readonly rows: readonly unknown[];
  readonly places: RowPlaces;
}

/** Reads and checks the rows of a file. @throws DatasetError with every problem, each with its line */
export async function readRowFile(path: string, options: RowFileOptions = {}): Promise<RowTable> {
  const found = await stat(path).catch(() => undefined);
  const origin = basename(path);
  if (!found?.isFile()) throw notAFile(origin, found === undefined ? 'found no such file' : 'found no file');
  const problems = new ProblemList();
  const isConll = options.format === 'conll' || (!options.format && CONLL_ENDINGS.includes(endingOf(path)));
  const { shape, rows, places } = isConll
    ? conllRows(await readLines(path, origin, problems), origin, problems)
    : await tableRows(path, options, problems);
  if (problems.total > 0) throw problems.toError();
  if (rows.length === 0) {
    throw singleProblem({ file: origin, found: 'found no rows', expected: 'at least one row' });
  }
  const { checked, issues } = checkRows(shape, rows);
  for (const { row, path, message, input } of issues) {
    const [field = '', ...rest] = path;
    const column = [places.columns[field] ?? field, ...rest].join('.');
    const place = { file: origin, line: places.lines[row] ?? 0, ...(column !== '' && { column }) };
    const [, wanted] = /^give (.*)/.exec(message) ?? [];
    const found = wanted === undefined ? message : `found ${quoted(input)}`;
    problems.add({ ...place, found, expected: wanted ?? `a row of ${fieldsOf(shape)}` });
  }
  if (problems.total > 0) throw problems.toError();
  return { checked, origin, places };
}

interface ReadOptions extends Pick<RowFileOptions, 'columns' | 'isMultilabel'> {
  /** The option that they were given as, for messages. */
  readonly option: string;
  readonly signal?: AbortSignal | undefined;
}

/** Reads and checks all rows. @throws ValidationError, DatasetError, AbortedError; what the iterator of the rows throws */
export async function readRows(
  source: RowsOrPath,
  { option, columns, isMultilabel, signal }: ReadOptions,
): Promise<RowTable> {
  if (typeof source === 'string') return readRowFile(source, { columns, isMultilabel });
  if (columns === undefined) return readRowsInMemory(source, option, signal);
  throw invalid(['columns'], 'columns are for files; rows in memory name their own fields');
}

function notAFile(file: string, found: string) {
  const endings = [...TABLE_ENDINGS, ...CONLL_ENDINGS].map((ending) => `.${ending}`).join(', ');
  return singleProblem({ file, found, expected: `a file of rows: ${endings}` });
}

interface WordLine {
  readonly line: number;
  readonly word: string;
  readonly tag: string;
}

/**
 * One word per line, in the first of two or more columns, and its tag in the last. Columns are separated by tabs, or by
 * spaces if a line has no tab; a blank line ends a sentence, and so does -DOCSTART-.
 */
function conllRows(lines: readonly TextLine[], file: string, problems: ProblemList): FileRows {
  const sentences: WordLine[][] = [];
  let open: WordLine[] = [];
  for (const line of lines) {
    if (line.text.trim() === '' || line.text.startsWith('-DOCSTART-')) open = [];
    else {
      const wordLine = readWordLine(line, file, problems);
      if (wordLine === undefined) continue;
      if (open.length === 0) sentences.push(open);
      open.push(wordLine);
    }
  }
  return {
    shape: 'tags',
    rows: sentences.map((words) => ({ tokens: words.map(({ word }) => word), tags: words.map(({ tag }) => tag) })),
    places: {
      lines: sentences.map(([first]) => first?.line ?? 0),
      columns: {},
      wordLines: sentences.map((words) => words.map(({ line }) => line)),
    },
  };
}

function readWordLine({ number: line, text }: TextLine, file: string, problems: ProblemList): WordLine | undefined {
  const columns = text.includes('\t') ? text.split('\t') : text.trim().split(/ +/);
  const [word] = columns;
  const tag = columns.at(-1)?.trim();
  if (columns.length > 1 && word !== undefined && tag !== undefined) return { line, word, tag };
  const found = `found ${counted(columns.length, 'column')}`;
  problems.add({ file, line, found, expected: 'a word and its tag, separated by a tab or a space' });
  return undefined;
}

async function tableRows(
  path: string,
  { columns, format, isMultilabel, fitting }: RowFileOptions,
  problems: ProblemList,
): Promise<FileRows> {
  const file = basename(path);
  const table = await readTable({ path, ...(format !== 'conll' && { format }) }, problems);
  if (table.columns.length === 0 && problems.total > 0) throw problems.toError();
  const find = (field: Field) => {
    const given = field === 'text' || field === 'label' || field === 'question' || field === 'passage';
    const asked = given ? columns?.[field] : undefined;
    return asked ?? names[field].find((name) => table.columns.includes(name));
  };
  const shape = shapeIn(file, table, find, columns, fitting);
  const [first, second] = shapes[shape].fields;
  const asked = { [first]: find(first) ?? first, [second]: find(second) ?? second };
  const records = table.select(Object.values(asked));
  const lines = records.map(({ line }) => line);
  if (shape === 'label' || shape === 'labels') {
    const labelled = labelledRows(records, isMultilabel ?? shape === 'labels', file, asked, problems);
    return {
      ...labelled,
      places: { lines, columns: { text: asked[first] ?? '', label: asked[second] ?? '', labels: asked[second] ?? '' } },
    };
  }
  const rows = records.map(({ values }) => ({ [first]: values[0], [second]: values[1] }));
  return { shape, rows, places: { lines, columns: asked } };
}

function shapeIn(
  file: string,
  { columns: present }: Table,
  find: (field: Field) => string | undefined,
  columns: Columns | undefined,
  fitting: readonly RowShape[] = rowShapes,
): RowShape {
  const order =
    columns?.question !== undefined || columns?.passage !== undefined
      ? (['passage'] as const)
      : columns?.label !== undefined
        ? (['label'] as const)
        : fitting;
  const shape = order.find((each) => shapes[each].fields.every((field) => present.includes(find(field) ?? '')));
  if (shape !== undefined) return shape;
  const listed = someOf(present.map((name) => quoted(name)));
  const found = present.length === 0 ? 'found no columns' : `found ${counted(present.length, 'column')}: ${listed}`;
  const known = fitting.map((each) => shapes[each].fields.join(' and ')).join(', or ');
  const expected = `the columns ${known}; or name yours with the option columns, such as { text: 'review', label: 'stars' }`;
  throw singleProblem({ file, found, expected });
}

const scalarSchema = z.union([z.string(), z.number(), z.boolean()]);
const labelCellSchema = z.union([z.array(scalarSchema), scalarSchema.transform((one) => [one])]);

/** A label may be a string, a number or a boolean; the last two are named as JSON writes them. */
function labelNames(value: unknown, isMultilabel: boolean): readonly string[] | undefined {
  if (typeof value !== 'string') return labelCellSchema.safeParse(value).data?.map(String);
  if (!isMultilabel) return [value];
  return value.trim() === '' ? [] : value.split(',').map((name) => name.trim());
}

function labelledRows(
  records: readonly SourceRecord[],
  isMultilabel: boolean,
  file: string,
  columns: Readonly<Record<string, string>>,
  problems: ProblemList,
): Pick<FileRows, 'shape' | 'rows'> {
  const [textColumn = '', labelColumn = ''] = Object.values(columns);
  const rows = records.flatMap(({ line, values: [text, label] }) => {
    const labels = labelNames(label, isMultilabel);
    if (typeof text === 'string' && labels !== undefined) return [{ text, labels }];
    const [column, value, expected] =
      typeof text === 'string' ? [labelColumn, label, 'a label or an array of labels'] : [textColumn, text, 'a string'];
    problems.add({ file, line, column, found: `found ${quoted(value)}`, expected });
    return [];
  });
  const isSingle = !isMultilabel && rows.every(({ labels }) => labels.length === 1);
  return isSingle
    ? { shape: 'label', rows: rows.map(({ text, labels: [label] }) => ({ text, label })) }
    : { shape: 'labels', rows };
}
