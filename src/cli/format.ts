import type { AverageFigures, Evaluation, LabelEvaluation } from '../api/index.js';
import { counted, type DatasetWarning, grouped } from '../datasets/index.js';

/** Tabs and line breaks as spaces, so that a text stays in its line and column. */
export function onOneLine(text: string): string {
  return text.replace(/[\t\n\r\u2028\u2029]+/g, ' ');
}

/** Both texts of a pair on one line, or a single text. */
export function shownTexts({ text, text2 }: { readonly text: string; readonly text2?: string | undefined }): string {
  return text2 === undefined ? onOneLine(text) : `${onOneLine(text)} | ${onOneLine(text2)}`;
}

/**
 * Rows of cells as lines with aligned columns: one line per row, whatever its texts and labels contain.
 * @param numbers 'right' aligns all columns but the first on the right
 */
export function alignedLines(
  cells: readonly (readonly string[])[],
  numbers: 'left' | 'right' = 'left',
): readonly string[] {
  const rows = cells.map((row) => row.map(onOneLine));
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const aligned = (cell: string, at: number) =>
    at > 0 && numbers === 'right' ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return rows.map((row) => row.map(aligned).join('  ').trimEnd());
}

export async function evaluationLines(evaluation: Evaluation): Promise<readonly string[]> {
  const { evaluationFigures } = await import('../api/index.js');
  const metrics = alignedLines(
    evaluationFigures(evaluation).map(({ name, value, interval }) => {
      const range = interval && `${interval[0].toFixed(4)} to ${interval[1].toFixed(4)} at 95 %`;
      return [name, value.toFixed(4), range ?? ''];
    }),
  );
  if (evaluation.kind === 'passages') return [counted(evaluation.rows, 'question'), ...metrics];
  const { classes, micro, macro, weighted } = evaluation;
  const averages = [
    { label: 'micro average', ...micro },
    { label: 'macro average', ...macro },
    { label: 'weighted average', ...weighted },
  ];
  const table = classLines([...classes, ...averages]);
  const confusions = evaluation.kind === 'labels' ? confusionLines(evaluation) : [];
  const { unknownLabels: unknown = [], modelLabels = [] } = evaluation;
  const strange = unknown.map(({ label, rows, similarTo }) => {
    const hint = similarTo === undefined ? '' : `; the model has ${JSON.stringify(similarTo)}`;
    return `${JSON.stringify(label)} (${counted(rows, 'row')})${hint}`;
  });
  const more = modelLabels.length > MAX_CONFUSIONS ? ', …' : '';
  const listed = modelLabels.slice(0, MAX_CONFUSIONS).map((label) => JSON.stringify(label));
  const has = `${listed.join(', ')}${more}`;
  const note =
    strange.length > 0
      ? ['', 'labels unknown to the model, counted as wrong:', ...strange, `the model has ${has}`]
      : [];
  return [...table, '', counted(evaluation.rows, 'row'), ...metrics, ...confusions, ...note];
}

/** Precision, recall, F1 and support of each class. */
export function classLines(classes: readonly (AverageFigures & { readonly label: string })[]): readonly string[] {
  return alignedLines([['', 'precision', 'recall', 'f1', 'support'], ...classes.map(cellsOf)], 'right');
}

function cellsOf({ label, precision, recall, f1, support }: AverageFigures & { readonly label: string }) {
  return [label, ...[precision, recall, f1].map((figure) => figure.toFixed(4)), grouped(support)];
}

const MAX_CONFUSIONS = 10;

/** Which label was predicted for which, the most frequent first. */
function confusionLines({ confusion }: LabelEvaluation): readonly string[] {
  if (confusion === undefined) return [];
  const { labels, counts } = confusion;
  const wrong = counts
    .flatMap((row, actual) => row.map((count, predicted) => ({ count, actual, predicted })))
    .filter(({ count, actual, predicted }) => count > 0 && actual !== predicted)
    .toSorted((a, b) => b.count - a.count);
  if (wrong.length === 0) return [];
  const lines = wrong
    .slice(0, MAX_CONFUSIONS)
    .map(({ count, actual, predicted }) => [
      `${grouped(count)} ×`,
      `${labels[actual]}`,
      `predicted as ${labels[predicted]}`,
    ]);
  return ['', 'confusions:', ...alignedLines(lines)];
}

/** A warning with the places of its first rows: `2 repeated rows left out (rows.csv line 7, line 12)`. */
export function warningLine({ message, count, examples }: DatasetWarning): string {
  const placed = examples.filter(({ line }) => line !== undefined).slice(0, MAX_PLACES);
  if (placed.length === 0) return `warning: ${message}`;
  const places = placed.map(({ file, line = 0 }, at) =>
    file === placed[at - 1]?.file ? `line ${grouped(line)}` : `${file} line ${grouped(line)}`,
  );
  return `warning: ${message} (${places.join(', ')}${count > placed.length ? ', …' : ''})`;
}

const MAX_PLACES = 5;
