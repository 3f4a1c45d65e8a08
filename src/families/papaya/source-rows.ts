/** Labelled texts as people have them: in memory, or in a CSV, TSV or JSON Lines file. */
import { basename, extname } from 'node:path';
import { type CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { counted, type ProblemList, quoted, readLines, readText, someOf } from '../../datasets/index.js';
import type { WrittenRow } from './check-row.js';
import type { ColumnRoles } from './classification-config.js';
import type { ClassificationKind } from './classification-dataset.js';

/** A text with the name of its label, or with any number of names (multilabel). */
export type SourceRow =
  | { readonly text: string; readonly label: string }
  | { readonly text: string; readonly labels: readonly string[] };

export const sourceFormats = ['csv', 'tsv', 'jsonl'] as const;
/**
 * csv: quoted as in RFC 4180, with a header row. tsv: tab-separated without quoting, with a header row.
 * jsonl: one JSON object a line.
 */
export type SourceFormat = (typeof sourceFormats)[number];

/** A UTF-8 file of labelled texts. */
export interface SourceFile {
  readonly path: string;
  /** Default: by the ending of the name. */
  readonly format?: SourceFormat | undefined;
  /** Default "text". */
  readonly textColumn?: string | undefined;
  /** Where a row may have several labels, they are separated by commas, or an array in JSON Lines. Default "label". */
  readonly labelColumn?: string | undefined;
}

/** Where rows come from. */
export type RowSource = SourceFile | Iterable<SourceRow>;

/** The rows of a source, and what its columns are called. */
export interface SourceTable {
  /** How problems call the source. */
  readonly file: string;
  readonly columns: ColumnRoles;
  readonly rows: readonly WrittenRow[];
}

/**
 * Reads all rows of a source. Each that isn't a row at all becomes a problem; the lines count from 1, those of
 * rows in memory too.
 * @param name how problems call rows in memory.
 */
export function readSource(
  source: RowSource,
  name: string,
  kind: ClassificationKind,
  problems: ProblemList,
): SourceTable {
  if (Symbol.iterator in source) {
    return { file: name, columns: { text: 'text', label: 'label' }, rows: rowsInMemory(source, name) };
  }
  const { path, textColumn: text = 'text', labelColumn: label = 'label' } = source;
  const columns = { text, label };
  const read = readers[source.format ?? formatOf(path)];
  const file = basename(path);
  return { file, columns, rows: read({ path, file, columns, kind, problems }) };
}

function formatOf(path: string): SourceFormat {
  const ending = extname(path).slice(1).toLowerCase();
  if (ending === 'json' || ending === 'ndjson') return 'jsonl';
  return sourceFormats.find((format) => format === ending) ?? 'csv';
}

function rowsInMemory(rows: Iterable<SourceRow>, file: string): WrittenRow[] {
  return Array.from(rows, (row, index) => ({
    file,
    line: index + 1,
    text: row.text,
    labels: 'labels' in row ? row.labels : [row.label],
  }));
}

const objectSchema = z.record(z.string(), z.unknown());
const scalarSchema = z.union([z.string(), z.number(), z.boolean()]);
const labelsSchema = z.union([z.array(scalarSchema), scalarSchema.transform((one) => [one])]);

interface Reading {
  readonly path: string;
  readonly file: string;
  readonly columns: ColumnRoles;
  readonly kind: ClassificationKind;
  readonly problems: ProblemList;
}

const readers: Readonly<Record<SourceFormat, (reading: Reading) => WrittenRow[]>> = {
  csv: (reading) => readTable(reading, csvRecords(reading)),
  tsv: (reading) => readTable(reading, tsvRecords(reading)),
  jsonl: readJsonLines,
};

interface TableRecord {
  /** Where the record begins. */
  readonly line: number;
  readonly cells: readonly string[];
}

function csvRecords({ path, file, problems }: Reading): TableRecord[] {
  const text = readText(path, file, problems);
  const records: TableRecord[] = [];
  let nextLine = 1;
  try {
    parse(text?.replaceAll('\r\n', '\n') ?? '', {
      relax_column_count: true,
      record_delimiter: '\n',
      on_record: (cells: string[], { lines }) => {
        records.push({ line: nextLine, cells });
        nextLine = lines + 1;
        return undefined;
      },
    });
  } catch (thrown) {
    if (!isCsvError(thrown)) throw thrown;
    problems.add({ file, line: nextLine, found: thrown.message, expected: 'CSV, quoted as in RFC 4180' });
    return [];
  }
  return records;
}

function isCsvError(thrown: unknown): thrown is CsvError {
  return thrown instanceof Error && 'code' in thrown && /^(CSV|INVALID)_/.test(String(thrown.code));
}

function tsvRecords({ path, file, problems }: Reading): TableRecord[] {
  const lines = readLines(path, file, problems) ?? [];
  return lines.map(({ number, text }) => ({ line: number, cells: text.split('\t') }));
}

/** Rows under a header; blank lines are passed over. */
function readTable(
  { file, columns, kind, problems }: Reading,
  records: readonly TableRecord[],
): WrittenRow[] {
  const [header, ...rest] = records.filter(({ cells }) => cells.length > 1 || cells[0] !== '');
  if (header === undefined) return [];
  const textAt = header.cells.indexOf(columns.text);
  const labelAt = header.cells.indexOf(columns.label);
  if (textAt === -1 || labelAt === -1) {
    const found = `found the columns ${someOf(header.cells.map((cell) => quoted(cell)))}`;
    const expected = `the columns "${columns.text}" and "${columns.label}", or other names for them as options`;
    problems.add({ file, line: header.line, found, expected });
    return [];
  }
  const rows: WrittenRow[] = [];
  for (const { line, cells } of rest) {
    const text = cells[textAt];
    const label = cells[labelAt];
    if (cells.length === header.cells.length && text !== undefined && label !== undefined) {
      rows.push({ file, line, text, labels: splitNames(label, kind) });
      continue;
    }
    const expected = `${header.cells.length} columns as in the header`;
    problems.add({ file, line, found: `found ${counted(cells.length, 'column')}`, expected });
  }
  return rows;
}

function splitNames(written: string, kind: ClassificationKind): readonly string[] {
  if (kind !== 'multilabel') return [written];
  return written.trim() === '' ? [] : written.split(',').map((name) => name.trim());
}

function readJsonLines({ path, file, columns, kind, problems }: Reading): WrittenRow[] {
  const rows: WrittenRow[] = [];
  for (const { number: line, text: json } of readLines(path, file, problems) ?? []) {
    if (json.trim() === '') continue;
    const object = parseObject(json);
    if (object === undefined) {
      problems.add({ file, line, found: `found ${quoted(json)}`, expected: 'a JSON object on each line' });
      continue;
    }
    const text = object[columns.text];
    const labels = labelNames(object[columns.label], kind);
    if (typeof text === 'string' && labels !== undefined) {
      rows.push({ file, line, text, labels });
      continue;
    }
    const [column, expected] =
      typeof text === 'string'
        ? [columns.label, 'a label or an array of labels']
        : [columns.text, 'a string'];
    problems.add({ file, line, column, found: `found ${quoted(object[column])}`, expected });
  }
  return rows;
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    return objectSchema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

/** A label may be a string, a number or a boolean; the last two are called as JSON writes them. */
function labelNames(value: unknown, kind: ClassificationKind): readonly string[] | undefined {
  if (typeof value === 'string') return splitNames(value, kind);
  return labelsSchema.safeParse(value).data?.map(String);
}
