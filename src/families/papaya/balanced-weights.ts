import type { ClassWeights } from '../../lexical/index.js';

/** A rare label's rows count at most so many times. */
const MAX_WEIGHT = 10;

/**
 * Weights that let every label count alike, tempered by a square root, since full balance pays for rare labels with
 * many false alarms: √(mean rows a label / rows of this label). Rows without the label keep weight 1.
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
