import { basename } from 'node:path';
import {
  type DatasetWarning,
  type ReadingOptions,
  type RowsOrPath,
  type RowTable,
  readRows,
} from '../../datasets/index.js';
import { fewRowsOf, inRowsThread, packRows, unpackedRows } from '../../families/index.js';
import { isPauseDue, pause } from '../../system/index.js';
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
  /** Whether blank texts and labels are refused. Default: as `skipInvalid` of the reading. */
  readonly refusesBlank?: boolean | undefined;
}

type TypedOptions = ReadingTask & Pick<TrainSettings, 'labels' | 'passages' | 'type'>;

/** Rows of which the type is known, and what is noticed when all of them are checked as one dataset. */
interface TypedTable {
  readonly table: RowTable;
  readonly type: FoundType;
  readonly leftOut: readonly DatasetWarning[];
  readonly warnings: readonly DatasetWarning[];
}

export type TableTask =
  | { readonly kind: 'table'; readonly options: TableOptions }
  | { readonly kind: 'typed-table'; readonly options: TypedOptions };

/** @throws as `readRows` of the room of datasets; AbortedError as soon as the signal fires */
export async function readTable(given: TableOptions): Promise<RowTable> {
  const { options, areFew } = await fewRowsOf(given);
  if (areFew) return readRows(options.rows, options);
  const packed = await readInThread<PackedTable>({ kind: 'table', options }, given);
  return unpacked(packed, given.signal);
}

/** @throws as {@link readTypedRows} and {@link checkedRows}; AbortedError as soon as the signal fires */
export async function readTypedTable(given: TypedOptions): Promise<TypedTable> {
  const { options, areFew } = await fewRowsOf(given);
  if (areFew) return typedTable(options);
  const { packed, ...typed } = await readInThread<PackedTyped>({ kind: 'typed-table', options }, given);
  return { ...typed, table: await unpacked(packed, given.signal) };
}

function readInThread<Result>(task: TableTask, { rows, signal }: ReadingTask): Promise<Result> {
  const origin = typeof rows === 'string' ? basename(rows) : 'rows';
  return inRowsThread<TableTask, Result>(task, { doing: `reading ${origin}`, origin, signal });
}

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
export async function packTable(task: TableTask): Promise<PackedTable | PackedTyped> {
  if (task.kind === 'table') return packedTable(await readRows(task.options.rows, task.options));
  const { table, ...typed } = await typedTable(task.options);
  return { ...typed, packed: packedTable(table) };
}

function packedTable({ checked, places, ...table }: RowTable): PackedTable {
  const { lines = [], wordLines, columns } = places ?? {};
  return {
    table: { ...table, checked: { ...checked, rows: [] }, ...(columns && { places: { lines: [], columns } }) },
    rows: packRows(checked.rows),
    lines: packRows(lines),
    ...(wordLines && { wordLines: packRows(wordLines) }),
  };
}

async function unpacked(packed: PackedTable, signal: AbortSignal | undefined): Promise<RowTable> {
  const { table } = packed;
  const all = async (some: readonly Uint8Array[]) => {
    const values: unknown[] = [];
    for (const value of unpackedRows(some)) {
      values.push(value);
      if (isPauseDue()) await pause(signal);
    }
    return values;
  };
  Reflect.set(table.checked, 'rows', await all(packed.rows));
  if (table.places === undefined) return table;
  Reflect.set(table.places, 'lines', await all(packed.lines));
  if (packed.wordLines) Reflect.set(table.places, 'wordLines', await all(packed.wordLines));
  return table;
}
