import {
  type Columns,
  invalid,
  type RowsOrPath,
  type RowTable,
  readRowFile,
  readRowsInMemory,
} from '../../datasets/index.js';

/** How rows are read. */
interface ReadOptions {
  /** The option that they were given as, for messages. */
  readonly option: string;
  readonly columns?: Columns | undefined;
  /** Whether labels in a table's cell are separated by commas. */
  readonly isMultilabel?: boolean | undefined;
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
