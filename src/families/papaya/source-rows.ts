/** Reads labelled texts from memory, or from a CSV, TSV or JSON Lines file. */
import { basename } from 'node:path';
import * as z from 'zod';
import { type ProblemList, quoted } from '../../datasets/index.js';
import { type RecordFile, readRecords } from '../source-records.js';
import type { WrittenRow } from './check-row.js';
import type { ColumnRoles } from './classification-config.js';
import type { ClassificationKind } from './classification-dataset.js';

/** A text with the name of its label, or with any number of names (multilabel). */
export type SourceRow =
  | { readonly text: string; readonly label: string }
  | { readonly text: string; readonly labels: readonly string[] };

/** A UTF-8 file of labelled texts. */
export interface SourceFile extends RecordFile {
  /** Default "text". */
  readonly textColumn?: string | undefined;
  /** Several labels of a row are separated by commas, or are an array in JSON Lines. Default "label". */
  readonly labelColumn?: string | undefined;
}

/** Where rows come from. */
export type RowSource = SourceFile | Iterable<SourceRow>;

/** The rows of a source, and what its columns are called. */
export interface SourceTable {
  /** The source's name in problems. */
  readonly file: string;
  readonly columns: ColumnRoles;
  readonly rows: readonly WrittenRow[];
}

/**
 * Reads all rows of a source; a record that isn't a row becomes a problem. Lines count from 1, and so do rows
 * in memory.
 * @param name of rows in memory, in problems.
 */
export async function readSource(
  source: RowSource,
  name: string,
  kind: ClassificationKind,
  problems: ProblemList,
): Promise<SourceTable> {
  if (Symbol.iterator in source) {
    return { file: name, columns: { text: 'text', label: 'label' }, rows: rowsInMemory(source, name) };
  }
  const { textColumn: text = 'text', labelColumn: label = 'label' } = source;
  const columns = { text, label };
  const file = basename(source.path);
  return { file, columns, rows: await rowsOfFile(source, columns, kind, problems) };
}

function rowsInMemory(rows: Iterable<SourceRow>, file: string): WrittenRow[] {
  return Array.from(rows, (row, index) => ({
    file,
    line: index + 1,
    text: row.text,
    labels: 'labels' in row ? row.labels : [row.label],
  }));
}

async function rowsOfFile(
  source: SourceFile,
  columns: ColumnRoles,
  kind: ClassificationKind,
  problems: ProblemList,
): Promise<WrittenRow[]> {
  const file = basename(source.path);
  const records = await readRecords(source, [columns.text, columns.label], problems);
  return records.flatMap(({ line, values: [text, label] }) => {
    const labels = labelNames(label, kind);
    if (typeof text === 'string' && labels !== undefined) return [{ file, line, text, labels }];
    const [column, value, expected] =
      typeof text === 'string'
        ? [columns.label, label, 'a label or an array of labels']
        : [columns.text, text, 'a string'];
    problems.add({ file, line, column, found: `found ${quoted(value)}`, expected });
    return [];
  });
}

function splitNames(written: string, kind: ClassificationKind): readonly string[] {
  if (kind !== 'multilabel') return [written];
  return written.trim() === '' ? [] : written.split(',').map((name) => name.trim());
}

const scalarSchema = z.union([z.string(), z.number(), z.boolean()]);
const labelsSchema = z.union([z.array(scalarSchema), scalarSchema.transform((one) => [one])]);

/** A label may be a string, a number or a boolean; the last two are named as JSON writes them. */
function labelNames(value: unknown, kind: ClassificationKind): readonly string[] | undefined {
  if (typeof value === 'string') return splitNames(value, kind);
  return labelsSchema.safeParse(value).data?.map(String);
}
