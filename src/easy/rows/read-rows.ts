import { basename } from 'node:path';
import { quoted, singleProblem } from '../../datasets/index.js';
import { AbortedError, ValidationError } from '../../errors.js';
import { isPauseDue, pause } from '../../pauses.js';
import { type Columns, type FileRows, readRowFile } from './row-file.js';
import {
  type CheckedRows,
  checkRows,
  KNOWN_SHAPES,
  type RowIssue,
  type RowShape,
  type RowsOrPath,
  shapeOf,
  shapes,
} from './training-row.js';

/** Rows that were read, and where they came from. */
export interface RowTable {
  readonly checked: CheckedRows;
  /** What the source is called in messages: an option, or a file's name. */
  readonly origin: string;
  /** The file, where its rows are also found by the makers of archives, whose problems name its lines. */
  readonly file?: FileRows['source'];
}

/** How rows are read. */
export interface ReadOptions {
  /** The option that they were given as, for messages. */
  readonly option: string;
  readonly columns?: Columns | undefined;
  /** Whether labels in a table's cell are separated by commas. */
  readonly isMultilabel?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads and checks all rows. @throws ValidationError, DatasetError, AbortedError; whatever the rows' own iterator throws */
export async function readRows(source: RowsOrPath, options: ReadOptions): Promise<RowTable> {
  if (typeof source === 'string') return tableOfFile(source, options);
  const { option, columns, signal } = options;
  if (columns !== undefined) {
    throw invalid(['columns'], 'columns are for files; rows in memory name their own fields');
  }
  const rows = await collect(source, option, signal);
  const shape = shapeOfFirst(rows[0], option);
  const { checked, issues } = checkRows(shape, rows);
  if (issues.length === 0) return { checked, origin: option };
  throw new ValidationError(
    issues.map(({ row, path, message }) => ({ loc: [option, row, ...path], msg: message, type: 'row' })),
  );
}

async function tableOfFile(path: string, { columns, isMultilabel, option }: ReadOptions): Promise<RowTable> {
  const origin = basename(path);
  const { shape, rows, lines, source } = await readRowFile(path, { columns, isMultilabel, option });
  const { checked, issues } = checkRows(shape, rows);
  const [issue] = issues;
  if (issue === undefined) return { checked, origin, ...(source && { file: source }) };
  throw singleProblem(problemOf(issue, origin, lines));
}

function problemOf({ row, path, message }: RowIssue, file: string, lines: readonly number[]) {
  const line = lines[row];
  const column = path.join('.');
  const place = { file, ...(line !== undefined && { line }), ...(column !== '' && { column }) };
  return { ...place, found: 'found a row that does not fit', expected: message };
}

async function collect(
  source: Exclude<RowsOrPath, string>,
  option: string,
  signal: AbortSignal | undefined,
): Promise<unknown[]> {
  const isIterable =
    typeof source === 'object' &&
    source !== null &&
    (Symbol.iterator in source || Symbol.asyncIterator in source);
  if (!isIterable) throw invalid([option], 'give an array, an iterable of rows, or the path of a file');
  const rows: unknown[] = [];
  for await (const row of source) {
    rows.push(row);
    if (signal?.aborted) throw new AbortedError(`reading ${option}`, { cause: signal.reason });
    if (isPauseDue()) await pause(signal);
  }
  return rows;
}

/** @throws ValidationError */
function shapeOfFirst(first: unknown, option: string): RowShape {
  if (first === undefined) throw invalid([option], 'there are no rows');
  const fields = new Set(typeof first === 'object' && first !== null ? Object.keys(first) : []);
  const shape = shapeOf(fields);
  if (shape !== undefined) return shape;
  const found = fields.size > 0 ? `the fields ${[...fields].join(', ')}` : quoted(first);
  throw invalid([option, 0], `found ${found}; give rows of one of ${KNOWN_SHAPES}`);
}

/** The fields that rows of a shape have, in words. */
export function fieldsOf(shape: RowShape): string {
  return shapes[shape].fields.join(' and ');
}

export function invalid(loc: readonly (string | number)[], msg: string): ValidationError {
  return new ValidationError([{ loc, msg, type: 'invalid_option' }]);
}
