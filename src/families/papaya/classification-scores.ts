import type { Scores } from '../family.js';

/** How often one label was predicted and true. */
export interface LabelCounts {
  truePositive: number;
  falsePositive: number;
  falseNegative: number;
}

/** F1 of one label: 2·TP / (2·TP + FP + FN); 0 where the label was neither predicted nor true. */
export function f1Of({ truePositive, falsePositive, falseNegative }: LabelCounts): number {
  const denominator = 2 * truePositive + falsePositive + falseNegative;
  return denominator === 0 ? 0 : (2 * truePositive) / denominator;
}

/**
 * Accuracy: the share of rows whose predicted labels are exactly the true ones. F1: the mean over `f1Labels`
 * of each label's F1 (macro-F1 for all labels; the positive label alone in binary classification).
 */
export function classificationScores(
  predicted: readonly (readonly number[])[],
  actual: readonly (readonly number[])[],
  f1Labels: readonly number[],
): Scores {
  const counts = new Map<number, LabelCounts>(
    f1Labels.map((label) => [label, { truePositive: 0, falsePositive: 0, falseNegative: 0 }]),
  );
  let exact = 0;
  for (const [row, truth] of actual.entries()) {
    const guess = predicted[row] ?? [];
    if (guess.length === truth.length && guess.every((label) => truth.includes(label))) exact += 1;
    for (const [label, count] of counts) tally(count, guess.includes(label), truth.includes(label));
  }
  const f1s = [...counts.values()].map(f1Of);
  const f1 = f1s.reduce((sum, value) => sum + value, 0) / Math.max(1, f1s.length);
  return { accuracy: exact / Math.max(1, actual.length), f1 };
}

function tally(count: LabelCounts, guessed: boolean, true_: boolean): void {
  if (guessed && true_) count.truePositive += 1;
  else if (guessed) count.falsePositive += 1;
  else if (true_) count.falseNegative += 1;
}
