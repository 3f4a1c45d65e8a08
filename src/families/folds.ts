import { Random } from '../system/index.js';
import type { FewRowsSplit } from './family.js';

/** Eight folds leave more rows to learn from than four, and take twice as long. */
const FOLDS = 8;
const FOLDS_OF_MANY_ROWS = 4;
const MANY_ROWS = 200;

/**
 * Stratified folds: each label's rows are spread evenly over them. A label's only row is trained on in each of them, as
 * nothing else says what the label means.
 * @param labels one of each row
 * @param count default: eight, or four of many rows.
 */
export function foldsOf(
  labels: readonly (number | undefined)[],
  seed: number,
  count?: number,
): readonly FewRowsSplit[] {
  const byLabel = new Map<number | undefined, number[]>();
  const rows = [...labels.keys()];
  for (const row of Random.fromSeed(seed).shuffle(rows)) {
    const label = labels[row];
    const group = byLabel.get(label);
    if (group) group.push(row);
    else byLabel.set(label, [row]);
  }
  const judged = [...byLabel.values()].filter(({ length }) => length > 1).flat();
  const usual = judged.length < MANY_ROWS ? FOLDS : FOLDS_OF_MANY_ROWS;
  const folds = Math.min(judged.length, count ?? usual);
  const foldOf = new Map(judged.map((row, at) => [row, at % folds]));
  return Array.from({ length: folds }, (_, fold) => ({
    train: rows.filter((row) => foldOf.get(row) !== fold),
    judged: rows.filter((row) => foldOf.get(row) === fold),
  }));
}
