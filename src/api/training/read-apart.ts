import { basename, join } from 'node:path';
import {
  type CheckedRows,
  type ColumnCell,
  columnOf,
  type DatasetWarning,
  type ReadingOptions,
  type RowsOrPath,
  type RowTable,
  readRows,
  readTexts,
  type TextLimits,
} from '../../datasets/index.js';
import {
  type Dataset,
  inRowsThread,
  isSmallFile,
  packRows,
  type RowSets,
  type RowsThreadLimits,
  unpackedRows,
  withFewRows,
  writeDataset,
} from '../../families/index.js';
import { isPauseDue, pause } from '../../system/index.js';
import type { DatasetSource } from '../../training/index.js';
import { checkedRows, type FoundType, readTypedRows } from './prepare-dataset.js';
import type { TrainSettings } from './train-options.js';

/** Reads and checks rows that this thread needs: few in it, many in one of their own, from which they come in small pieces. */

interface ReadingTask {
  readonly rows: RowsOrPath;
  readonly reading: ReadingOptions;
  readonly signal?: AbortSignal | undefined;
}

interface TableOptions extends ReadingTask {
  /** The option that they were given as, for messages. */
  readonly option: string;
  readonly isMultilabel?: boolean | undefined;
  /** Whether blank texts and labels and repeated labels are refused. Default: as `skipInvalid` of the reading. */
  readonly isStrict?: boolean | undefined;
}

type TypedOptions = ReadingTask & Pick<TrainSettings, 'labels' | 'passages' | 'type' | 'effort'>;

/** Rows of which the type is known, and what is noticed when all of them are checked as one dataset. */
interface TypedTable {
  readonly table: RowTable;
  readonly type: FoundType;
  readonly leftOut: readonly DatasetWarning[];
  readonly warnings: readonly DatasetWarning[];
}

export type TableTask =
  | { readonly kind: 'table'; readonly options: TableOptions }
  | { readonly kind: 'typed-table'; readonly options: TypedOptions }
  | { readonly kind: 'column'; readonly options: ColumnOptions }
  | { readonly kind: 'texts'; readonly options: TextsOptions };

interface TextsOptions extends TextLimits {
  /** The path of a file. */
  readonly rows: string;
}

interface ColumnOptions extends ReadingTask {
  readonly rows: string;
  readonly column: string;
}

/** Some of the rows of a table. */
interface FoldOptions extends Pick<RowSets, 'devFraction' | 'seed' | 'passages'> {
  readonly checked: CheckedRows;
  readonly origin: string;
  readonly type: FoundType;
  readonly signal?: AbortSignal | undefined;
}

export interface FoldTask {
  readonly kind: 'fold';
  /** The rows of `checked` are handed over as `rows`. */
  readonly options: FoldOptions & { readonly rows: readonly unknown[] };
  readonly file: string;
}

/** @throws as `readRows` of the room of datasets; AbortedError as soon as the signal fires */
export async function readTable(given: TableOptions): Promise<RowTable> {
  const { signal } = given;
  return withFewRows(given, { doing: doingOf(given), signal }, async ({ options, areFew }) => {
    if (areFew) return readRows(options.rows, options);
    return unpacked(await readInThread<PackedTable>({ kind: 'table', options }, given), signal);
  });
}

/** @throws as {@link readTypedRows} and {@link checkedRows}; AbortedError as soon as the signal fires */
export async function readTypedTable(given: TypedOptions): Promise<TypedTable> {
  const { signal } = given;
  return withFewRows(given, { doing: doingOf(given), signal }, async ({ options, areFew }) => {
    if (areFew) return typedTable(options);
    const { packed, ...typed } = await readInThread<PackedTyped>({ kind: 'typed-table', options }, given);
    return { ...typed, table: await unpacked(packed, signal) };
  });
}

/** A dataset of some rows of a table. @param work a folder for it. @throws as {@link checkedRows} */
export async function datasetOfFold(given: FoldOptions, work: string): Promise<DatasetSource> {
  const { checked, signal, origin } = given;
  const doing = 'the cross-validation';
  return withFewRows({ ...given, rows: checked.rows }, { doing, signal }, async ({ options, areFew }) => {
    if (areFew) return { rows: await foldDataset(given) };
    const file = join(work, 'rows');
    const task = { kind: 'fold', options: { ...options, checked: { ...checked, rows: [] } }, file } as const;
    await inRowsThread<FoldTask, undefined>(task, { doing, origin, signal });
    return { file };
  });
}

async function foldDataset({ checked, origin, type, signal, ...sets }: FoldOptions): Promise<Dataset> {
  const { dataset } = await checkedRows({ ...sets, train: { checked, origin } }, type, signal);
  return dataset;
}

/** Does the task in a thread. */
export async function writeFold({ options: { rows, ...options }, file }: FoldTask): Promise<void> {
  Reflect.set(options.checked, 'rows', rows);
  await writeDataset(file, await foldDataset(options));
}

/** One column of a file. @throws as `columnOf` of the room of datasets */
export async function readColumn(options: ColumnOptions): Promise<readonly ColumnCell[]> {
  if (await isSmallFile(options.rows)) return columnOf(options.rows, options.column, options.reading);
  const packed = await readInThread<readonly Uint8Array[]>({ kind: 'column', options }, options);
  return allOf<ColumnCell>(packed, options.signal);
}

/**
 * The texts of a file without labels, as `readTexts` of the room of datasets reads them.
 * @throws DatasetError, also if a limit of the thread is exceeded; AbortedError as soon as the signal fires
 */
export async function readUnlabelled(options: TextsOptions, limits: RowsThreadLimits): Promise<readonly string[]> {
  if (await isSmallFile(options.rows)) return readTexts(options.rows, options);
  const origin = basename(options.rows);
  const thread = { ...limits, doing: `reading ${origin}`, origin };
  const packed = await inRowsThread<TableTask, readonly Uint8Array[]>({ kind: 'texts', options }, thread);
  return allOf<string>(packed, limits.signal);
}

function readInThread<Result>(task: TableTask, given: ReadingTask): Promise<Result> {
  const { signal } = given;
  return inRowsThread<TableTask, Result>(task, { doing: doingOf(given), origin: originOf(given), signal });
}

const originOf = ({ rows }: ReadingTask): string => (typeof rows === 'string' ? basename(rows) : 'rows');

const doingOf = (given: ReadingTask): string => `reading ${originOf(given)}`;

async function typedTable(options: TypedOptions): Promise<TypedTable> {
  const { table, type } = await readTypedRows(options.rows, options);
  const { skipInvalid } = options.reading;
  const { dataset, leftOut } = await checkedRows({ train: table, skipInvalid }, type, options.signal);
  return { table, type, leftOut, warnings: dataset.warnings };
}

/** A table whose lists are empty, and what is in them. */
interface PackedTable {
  readonly table: RowTable;
  readonly rows: readonly Uint8Array[];
  readonly lines: readonly Uint8Array[];
  readonly wordLines?: readonly Uint8Array[];
}

interface PackedTyped extends Omit<TypedTable, 'table'> {
  readonly packed: PackedTable;
}

/** Does a task in a thread. */
export async function packTable(task: TableTask): Promise<PackedTable | PackedTyped | readonly Uint8Array[]> {
  if (task.kind === 'column') {
    const { rows, column, reading } = task.options;
    return packRows(await columnOf(rows, column, reading));
  }
  if (task.kind === 'texts') return packRows(await readTexts(task.options.rows, task.options));
  if (task.kind === 'table') return packedTable(await readRows(task.options.rows, task.options));
  const { table, ...typed } = await typedTable(task.options);
  return { ...typed, packed: packedTable(table) };
}

function packedTable({ checked, places, ...table }: RowTable): PackedTable {
  const { lines = [], wordLines, ...others } = places ?? {};
  return {
    table: {
      ...table,
      checked: { ...checked, rows: [] },
      ...(places && { places: { ...others, columns: places.columns, lines: [] } }),
    },
    rows: packRows(checked.rows),
    lines: packRows(lines),
    ...(wordLines && { wordLines: packRows(wordLines) }),
  };
}

async function unpacked(packed: PackedTable, signal: AbortSignal | undefined): Promise<RowTable> {
  const { table, rows, lines, wordLines } = packed;
  Reflect.set(table.checked, 'rows', await allOf(rows, signal));
  if (table.places === undefined) return table;
  Reflect.set(table.places, 'lines', await allOf(lines, signal));
  if (wordLines) Reflect.set(table.places, 'wordLines', await allOf(wordLines, signal));
  return table;
}

async function allOf<Value>(packed: readonly Uint8Array[], signal: AbortSignal | undefined): Promise<Value[]> {
  const values: Value[] = [];
  for (const value of unpackedRows<Value>(packed)) {
    values.push(value);
    if (isPauseDue()) await pause(signal);
  }
  return values;
}
