import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import * as z from 'zod';
import { counted, ProblemList, quoted, singleProblem, someOf } from './problems.js';
import {
  checkRows,
  fieldsOf,
  invalid,
  type RowPlaces,
  type RowShape,
  type RowsOrPath,
  type RowTable,
  readRowsInMemory,
  rowShapes,
  shapes,
} from './rows.js';
import { readTable, type SourceFormat, type SourceRecord, type Table } from './tables.js';
import { readLines, type TextLine } from './text-lines.js';

/** Files of rows: which columns hold what, and what the rows are. */

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

/** How a file of rows is read. */
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

/** Whether a file's name says that it has rows. */
export function isRowFile(path: string): boolean {
  return [...CONLL_ENDINGS, ...TABLE_ENDINGS].includes(endingOf(path));
}

function endingOf(path: string): string {
  return extname(path).slice(1).toLowerCase();
}

/** Rows as a file has them: not checked. */
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

/** How rows are read that may be in a file or in memory. */
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

/** A line of a CoNLL file with a word. */
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
    rows: sentences.map((words) => ({
      tokens: words.map(({ word }) => word),
      tags: words.map(({ tag }) => tag),
    })),
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
      places: {
        lines,
        columns: { text: asked[first] ?? '', label: asked[second] ?? '', labels: asked[second] ?? '' },
      },
    };
  }
  const rows = records.map(({ values }) => ({ [first]: values[0], [second]: values[1] }));
  return { shape, rows, places: { lines, columns: asked } };
}

/** @throws DatasetError where the columns are those of no shape. */
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
const labelsSchema = z.union([z.array(scalarSchema), scalarSchema.transform((one) => [one])]);

/** A label may be a string, a number or a boolean; the last two are named as JSON writes them. */
function labelNames(value: unknown, isMultilabel: boolean): readonly string[] | undefined {
  if (typeof value !== 'string') return labelsSchema.safeParse(value).data?.map(String);
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
