import {
  type AverageFigures,
  type Evaluation,
  evaluationFigures,
  type LabelEvaluation,
} from '../../easy/index.js';
import { alignedLines, grouped } from './table.js';

/** An evaluation as people read it: a table of classes and averages, the figures with their intervals, confusions. */
export function evaluationLines(evaluation: Evaluation): readonly string[] {
  const rows = grouped(evaluation.rows);
  if (evaluation.kind === 'passages') return [`${rows} questions`, ...figureLines(evaluation)];
  const { classes, micro, macro, weighted } = evaluation;
  const table = alignedRight([
    ['', 'precision', 'recall', 'f1', 'support'],
    ...classes.map((each) => [each.label, ...figuresOf(each)]),
    ['micro average', ...figuresOf(micro)],
    ['macro average', ...figuresOf(macro)],
    ['weighted average', ...figuresOf(weighted)],
  ]);
  const confusions = evaluation.kind === 'labels' ? confusionLines(evaluation) : [];
  return [...table, '', `${rows} rows`, ...figureLines(evaluation), ...confusions];
}

function figureLines(evaluation: Evaluation): readonly string[] {
  return alignedLines(
    evaluationFigures(evaluation).map(({ name, value, interval }) => {
      const range = interval && `${interval[0].toFixed(4)} to ${interval[1].toFixed(4)} at 95 %`;
      return [name, value.toFixed(4), range ?? ''];
    }),
  );
}

function figuresOf({ precision, recall, f1, support }: AverageFigures): readonly string[] {
  return [precision, recall, f1].map((figure) => figure.toFixed(4)).concat(grouped(support));
}

/** The first column at its left, figures at their right. */
function alignedRight(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const cellOf = (cell: string, at: number) =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
  return rows.map((row) => row.map(cellOf).join('  '));
}

/** Most pairs of labels that are listed. */
const LISTED_CONFUSIONS = 10;

/** Which label was taken for which, the most frequent first. */
function confusionLines({ confusion }: LabelEvaluation): readonly string[] {
  if (confusion === undefined) return [];
  const { labels, counts } = confusion;
  const pairs = counts.flatMap((row, actual) =>
    row.map((count, predicted) => ({ count, actual, predicted })),
  );
  const wrong = pairs.filter(({ count, actual, predicted }) => count > 0 && actual !== predicted);
  if (wrong.length === 0) return [];
  const listed = wrong.toSorted((a, b) => b.count - a.count).slice(0, LISTED_CONFUSIONS);
  const lines = listed.map(({ count, actual, predicted }) => [
    `${grouped(count)} ×`,
    `${labels[actual]}`,
    `answered ${labels[predicted]}`,
  ]);
  return ['', 'taken for another:', ...alignedLines(lines)];
}
