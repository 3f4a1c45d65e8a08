/** Reads records from files in common formats: CSV, TSV and JSON Lines. */
import { basename, extname } from 'node:path';
import { type CsvError, parse } from 'csv-parse/sync';
import { counted, ProblemList, quoted, readLines, readText, someOf } from '../datasets/index.js';

/**
 * csv: quoted as in RFC 4180, with a header row. tsv: tab-separated without quoting, with a header row.
 * jsonl: one JSON object per line.
 */
export type SourceFormat = 'csv' | 'tsv' | 'jsonl';

/** A UTF-8 file of records. */
export interface RecordFile {
  readonly path: string;
  /** Default: by the extension of the file's name; csv for unknown ones. */
  readonly format?: SourceFormat | undefined;
}

export interface SourceRecord {
  /** Where the record begins. */
  readonly line: number;
  /**
   * Values of the requested columns, in that order; undefined where missing. Always strings, except in JSON
   * Lines.
   */
  readonly values: readonly unknown[];
}

/** Reads all records of a file. What can't be read as a record becomes a problem; blank lines are skipped. */
export async function readRecords(
  { path, format }: RecordFile,
  columns: readonly string[],
  problems: ProblemList,
): Promise<SourceRecord[]> {
  return readers[format ?? formatOf(path)]({ path, file: basename(path), columns, problems });
}

/** The columns of a file: those of its header or, of JSON Lines, the fields of its first object. */
export async function recordColumns({ path, format }: RecordFile): Promise<readonly string[]> {
  const problems = new ProblemList();
  const reading = { path, file: basename(path), columns: [], problems };
  const kind = format ?? formatOf(path);
  if (kind === 'jsonl') {
    const lines = (await readLines(path, reading.file, problems)) ?? [];
    const first = lines.find(({ text }) => text.trim() !== '');
    return [...(parseObject(first?.text ?? '')?.keys() ?? [])];
  }
  const rows = kind === 'csv' ? await csvRows(reading) : await tsvRows(reading);
  return rows.find(({ cells }) => cells.length > 1 || cells[0] !== '')?.cells ?? [];
}

function formatOf(path: string): SourceFormat {
  const ending = extname(path).slice(1).toLowerCase();
  if (ending === 'json' || ending === 'ndjson') return 'jsonl';
  return ending === 'tsv' || ending === 'jsonl' ? ending : 'csv';
}

interface Reading {
  readonly path: string;
  readonly file: string;
  readonly columns: readonly string[];
  readonly problems: ProblemList;
}

const readers: Readonly<Record<SourceFormat, (reading: Reading) => Promise<SourceRecord[]>>> = {
  csv: async (reading) => readTable(reading, await csvRows(reading)),
  tsv: async (reading) => readTable(reading, await tsvRows(reading)),
  jsonl: readJsonLines,
};

interface TableRow {
  readonly line: number;
  readonly cells: readonly string[];
}

async function csvRows({ path, file, problems }: Reading): Promise<TableRow[]> {
  const text = await readText(path, file, problems);
  const rows: TableRow[] = [];
  let nextLine = 1;
  try {
    parse(text?.replaceAll('\r\n', '\n') ?? '', {
      relax_column_count: true,
      record_delimiter: '\n',
      on_record: (cells: string[], { lines }) => {
        rows.push({ line: nextLine, cells });
        nextLine = lines + 1;
        return undefined;
      },
    });
  } catch (thrown) {
    if (!isCsvError(thrown)) throw thrown;
    problems.add({ file, line: nextLine, found: thrown.message, expected: 'CSV, quoted as in RFC 4180' });
    return [];
  }
  return rows;
}

function isCsvError(thrown: unknown): thrown is CsvError {
  return thrown instanceof Error && 'code' in thrown && /^(CSV|INVALID)_/.test(String(thrown.code));
}

async function tsvRows({ path, file, problems }: Reading): Promise<TableRow[]> {
  const lines = (await readLines(path, file, problems)) ?? [];
  return lines.map(({ number, text }) => ({ line: number, cells: text.split('\t') }));
}

/** Rows under a header. */
function readTable({ file, columns, problems }: Reading, rows: readonly TableRow[]): SourceRecord[] {
  const [header, ...rest] = rows.filter(({ cells }) => cells.length > 1 || cells[0] !== '');
  if (header === undefined) return [];
  const places = columns.map((column) => header.cells.indexOf(column));
  if (places.includes(-1)) {
    const found = `found the columns ${someOf(header.cells.map((cell) => quoted(cell)))}`;
    const wanted = columns.map((column) => quoted(column)).join(' and ');
    const expected = `the columns ${wanted}, or other names for them as options`;
    problems.add({ file, line: header.line, found, expected });
    return [];
  }
  return rest.flatMap(({ line, cells }) => {
    if (cells.length === header.cells.length) return [{ line, values: places.map((at) => cells[at]) }];
    const expected = `${header.cells.length} columns as in the header`;
    problems.add({ file, line, found: `found ${counted(cells.length, 'column')}`, expected });
    return [];
  });
}

async function readJsonLines({ path, file, columns, problems }: Reading): Promise<SourceRecord[]> {
  const lines = (await readLines(path, file, problems)) ?? [];
  return lines.flatMap(({ number: line, text: json }) => {
    if (json.trim() === '') return [];
    const object = parseObject(json);
    if (object !== undefined) return [{ line, values: columns.map((column) => object.get(column)) }];
    problems.add({ file, line, found: `found ${quoted(json)}`, expected: 'a JSON object on each line' });
    return [];
  });
}

function parseObject(json: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}
