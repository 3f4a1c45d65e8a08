import * as z from 'zod';
import { type ProblemList, quoted } from './problems.js';
import { isObject } from './records.js';
import type { FoundRows } from './shapes.js';

/** The labels of rows, however a cell has them. */

const scalarSchema = z.union([z.string(), z.number(), z.boolean()]);
const labelCellSchema = z.union([z.array(scalarSchema), scalarSchema.transform((one) => [one])]);

/**
 * Labels of rows as lists of names, and whether each has exactly one. Several labels in one cell are a list of JSON or Python,
 * or are separated by |, ; or commas.
 */
export function settledLabels(
  { shape, rows, lines, columns, mayBeSingle = false }: FoundRows,
  file: string,
  isMultilabel: boolean | undefined,
  problems: ProblemList,
): Pick<FoundRows, 'shape' | 'rows' | 'lines' | 'notes'> {
  const saidOf = (row: unknown): unknown => (isObject(row) ? (row.labels ?? row.label) : undefined);
  if (rows.length > 0 && rows.every((row) => isObject(saidOf(row)) || sharesIn(saidOf(row)) !== undefined)) {
    const soft = rows.map((row) => (isObject(row) ? { ...row, labels: sharesIn(saidOf(row)) ?? saidOf(row) } : row));
    return { shape: 'soft', rows: soft, lines, notes: ['labels have probabilities'] };
  }
  const cells: string[] = [];
  for (const row of rows) {
    const said = saidOf(row);
    if (typeof said === 'string') cells.push(said.trim());
  }
  const split = splitterOf(cells, isMultilabel ?? (shape === 'labels' && !mayBeSingle));
  const read: { readonly line: number; readonly labels: readonly string[]; readonly rest: object }[] = [];
  for (const [at, row] of rows.entries()) {
    const line = lines[at] ?? 1;
    const [text, said] = [isObject(row) ? row.text : undefined, saidOf(row)];
    const names =
      typeof said === 'string' ? split.labels(said.trim()) : labelCellSchema.safeParse(said).data?.map(String);
    if (typeof text === 'string' && names) {
      const { text2, weight } = isObject(row) ? row : {};
      const rest = { text, ...(text2 !== undefined && { text2 }), ...(weight !== undefined && { weight }) };
      read.push({ line, labels: names.map((name) => name.trim()), rest });
      continue;
    }
    const [column, value, expected] =
      typeof text === 'string'
        ? [columns.labels ?? columns.label ?? 'label', said, 'a label or an array of labels']
        : [columns.text ?? 'text', text, 'a string'];
    problems.add({ file, line, column, found: `found ${quoted(value)}`, expected });
  }
  const isOne = read.every(({ labels }) => labels.length === 1);
  const isSingle = isOne && (isMultilabel === undefined ? shape === 'label' || mayBeSingle : !isMultilabel);
  return {
    shape: isSingle ? 'label' : 'labels',
    rows: read.map(({ labels, rest }) => (isSingle ? { ...rest, label: labels[0] } : { ...rest, labels })),
    lines: read.map(({ line }) => line),
    notes: split.note === undefined ? [] : [split.note],
  };
}

/** The probabilities of labels in a cell of a table, an object in JSON; undefined for anything else. */
function sharesIn(said: unknown): unknown {
  if (typeof said !== 'string' || !said.trim().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(said);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

interface LabelSplit {
  readonly labels: (cell: string) => readonly string[];
  /** How several labels of a cell were told apart. */
  readonly note?: string;
}

/** @param isMany whether a cell may have any number of labels */
function splitterOf(cells: readonly string[], isMany: boolean): LabelSplit {
  const filled = cells.filter((cell) => cell !== '');
  if (filled.length > 0 && filled.every((cell) => listOf(cell) !== undefined)) {
    return { labels: (cell) => listOf(cell) ?? [], note: 'labels are lists' };
  }
  const by = ['|', ';', ','].find((mark) =>
    isMany ? filled.some((cell) => cell.includes(mark)) : isSeparator(mark, filled),
  );
  const parts = (cell: string) => (by === undefined ? [cell] : cell.split(by).map((part) => part.trim()));
  if (isMany) return { labels: (cell) => (cell === '' ? [] : parts(cell).filter((part) => part !== '')) };
  return by === undefined ? { labels: parts } : { labels: parts, note: `labels are separated by ${by}` };
}

/** A list as JSON or Python writes it: `["a", "b"]`, `['a', 'b']`. */
function listOf(cell: string): readonly string[] | undefined {
  if (!cell.startsWith('[') || !cell.endsWith(']')) return undefined;
  const items = [...cell.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/gu)].map(
    ([, double, single]) => double ?? single ?? '',
  );
  const rest = cell.slice(1, -1).replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/gu, '');
  return /^[\s,]*$/u.test(rest) ? items : undefined;
}

/** Whether a mark separates labels: its parts also occur in other cells, alone or with others. A comma depends on the type. */
function isSeparator(mark: string, cells: readonly string[]): boolean {
  if (mark === ',' || !cells.some((cell) => cell.includes(mark))) return false;
  const counts = new Map<string, Set<string>>();
  for (const cell of cells) {
    for (const part of cell.split(mark)) counts.set(part.trim(), (counts.get(part.trim()) ?? new Set()).add(cell));
  }
  const several = cells
    .filter((cell) => cell.includes(mark))
    .flatMap((cell) => cell.split(mark).map((part) => part.trim()));
  return several.every((part) => part !== '' && (counts.get(part)?.size ?? 0) > 1);
}
