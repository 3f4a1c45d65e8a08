import { figuresOf } from '../class-figures.js';
import type { ClassificationKind } from './classification-dataset.js';

/** How often one label was predicted, true, or both. */
export interface LabelCounts {
  truePositive: number;
  falsePositive: number;
  falseNegative: number;
}

export const figuresOfCounts = ({ truePositive, falsePositive, falseNegative }: LabelCounts) =>
  figuresOf(truePositive, falsePositive, falseNegative);

/** The metrics of a classifier, as jobs report them. */
export interface ClassificationScores {
  readonly accuracy: number;
  readonly f1: number;
}

/**
 * The metric that decides which epoch is kept. Not accuracy in multilabel: rows with all labels right are
 * rare.
 */
export function mainMetricOf(kind: ClassificationKind): keyof ClassificationScores {
  return kind === 'multilabel' ? 'f1' : 'accuracy';
}

/**
 * Accuracy: the share of rows whose predicted labels are exactly the true ones. F1: the mean over `f1Labels`
 * of each label's F1 (macro-F1 for all labels; the positive label alone in binary classification).
 */
export function classificationScores(
  predicted: readonly (readonly number[])[],
  actual: readonly (readonly number[])[],
  f1Labels: readonly number[],
): ClassificationScores {
  const exact = actual.filter((truth, row) => {
    const guess = predicted[row] ?? [];
    return guess.length === truth.length && guess.every((label) => truth.includes(label));
  }).length;
  const counts = countLabels(predicted, actual, f1Labels);
  const f1s = [...counts.values()].map((count) => figuresOfCounts(count).f1);
  const f1 = f1s.reduce((sum, value) => sum + value, 0) / Math.max(1, f1s.length);
  return { accuracy: exact / Math.max(1, actual.length), f1 };
}

/** Counts each of these labels over all rows. */
export function countLabels(
  predicted: readonly (readonly number[])[],
  actual: readonly (readonly number[])[],
  labels: readonly number[],
): Map<number, LabelCounts> {
  const counts = new Map<number, LabelCounts>(
    labels.map((label) => [label, { truePositive: 0, falsePositive: 0, falseNegative: 0 }]),
  );
  for (const [row, truth] of actual.entries()) {
    const guess = predicted[row] ?? [];
    for (const label of guess)
      add(counts.get(label), truth.includes(label) ? 'truePositive' : 'falsePositive');
    for (const label of truth) if (!guess.includes(label)) add(counts.get(label), 'falseNegative');
  }
  return counts;
}

/** @param counts undefined for a label that isn't counted. */
function add(counts: LabelCounts | undefined, what: keyof LabelCounts): void {
  if (counts !== undefined) counts[what] += 1;
}
