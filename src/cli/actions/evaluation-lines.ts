import type { Evaluation, LabelEvaluation, PassageEvaluation } from '../../easy/index.js';
import { alignedLines, grouped } from './table.js';

/** An evaluation as people read it: a table of classes and averages, the figures with their intervals, confusions. */
export function evaluationLines(evaluation: Evaluation): readonly string[] {
  if (evaluation.kind === 'passages') return passageLines(evaluation);
  const { classes, micro, macro, weighted, rows } = evaluation;
  const table = alignedRight([
    ['', 'precision', 'recall', 'f1', 'support'],
    ...classes.map((each) => [each.label, ...figures(each)]),
    ['micro average', ...figures(micro)],
    ['macro average', ...figures(macro)],
    ['weighted average', ...figures(weighted)],
  ]);
  const confusions = evaluation.kind === 'labels' ? confusionLines(evaluation) : [];
  return [...table, '', `${grouped(rows)} rows`, ...figureLines(evaluation), ...confusions];
}

interface Figures {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly support: number;
}

function figures({ precision, recall, f1, support }: Figures): readonly string[] {
  return [precision, recall, f1].map((figure) => figure.toFixed(4)).concat(grouped(support));
}

/** The first column at its left, figures at their right. */
function alignedRight(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
}

/** Each figure that has an interval. */
function figureLines({ intervals, ...evaluation }: Evaluation): readonly string[] {
  const figuresByName: Readonly<Record<string, unknown>> = { ...evaluation };
  return alignedLines(
    Object.entries(intervals).map(([name, interval]) => {
      const figure = figuresByName[name];
      const told = typeof figure === 'number' ? figure.toFixed(4) : '';
      const [low, high] = interval;
      return [name, told, `${low.toFixed(4)} to ${high.toFixed(4)} at 95 %`];
    }),
  );
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

function passageLines(evaluation: PassageEvaluation): readonly string[] {
  return [`${grouped(evaluation.rows)} questions`, ...figureLines(evaluation)];
}
