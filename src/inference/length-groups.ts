import { RunCost, type RunSize } from './run-cost.js';

/** What decides how texts are grouped. */
export interface GroupingOptions {
  /** The most tokens, padding included, that a run may hold; a longer text runs alone. */
  readonly maxTokens: number;
  /** What a run costs. Default: as runs of small encoders do. */
  readonly cost?: (size: RunSize) => number;
}

const usual = new RunCost();

/**
 * Splits texts into runs so that all runs together cost least. Texts are sorted by length, and the best cuts are
 * found by dynamic programming, in O(texts × most texts in a run).
 * @param lengths tokens of each text.
 * @returns positions in `lengths`, run by run.
 */
export function lengthGroups(
  lengths: readonly number[],
  { maxTokens, cost = (size) => usual.cost(size) }: GroupingOptions,
): number[][] {
  const order = [...lengths.keys()].sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0));
  const least = new Float64Array(order.length + 1).fill(Number.POSITIVE_INFINITY);
  const start = new Int32Array(order.length + 1);
  least[0] = 0;
  for (let end = 1; end <= order.length; end += 1) {
    const tokens = lengths[order[end - 1] ?? 0] ?? 0;
    for (let from = end - 1; from >= 0; from -= 1) {
      const rows = end - from;
      if (rows * tokens > maxTokens && rows > 1) break;
      const total = (least[from] ?? 0) + cost({ rows, tokens });
      if (total < (least[end] ?? 0)) {
        least[end] = total;
        start[end] = from;
      }
    }
  }
  const groups: number[][] = [];
  for (let end = order.length; end > 0; end = start[end] ?? 0) groups.push(order.slice(start[end], end));
  return groups.reverse();
}
