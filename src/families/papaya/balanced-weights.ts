import type { ClassWeights } from '../../lexical/index.js';

/** Rows of a rare label count at most this many times. */
const MAX_WEIGHT = 10;

/**
 * Weights that raise rare labels: √(mean rows per label / rows of this label). Without the root all labels
 * would count the same, but rare ones would be predicted wrongly far too often. Rows without the label keep
 * weight 1.
 * @param active for each row, the outputs that are on.
 */
export function balancedWeights(active: readonly (readonly number[])[], outputs: number): ClassWeights[] {
  const rows = new Float64Array(outputs);
  for (const ids of active) for (const id of ids) rows[id] = (rows[id] ?? 0) + 1;
  const mean = rows.reduce((sum, each) => sum + each, 0) / outputs;
  return Array.from(rows, (count) => ({
    active: Math.min(MAX_WEIGHT, Math.sqrt(mean / Math.max(1, count))),
    inactive: 1,
  }));
}
