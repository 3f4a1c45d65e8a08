/**
 * Cost of starting a run, as the number of tokens that take as long. Measured on two cores: 18 (2 layers of
 * width 128) to 25 (6 layers of width 384); within that range the groups hardly change.
 */
const RUN_COST_TOKENS = 22;

/**
 * Splits texts into runs so that padding and starting the runs together cost least. Texts are sorted by
 * length, and the best cuts are found by dynamic programming, in O(texts × most texts in a run).
 * @param lengths tokens of each text.
 * @param maxTokens the most tokens, padding included, that a run may hold; a longer text runs alone.
 * @returns positions in `lengths`, run by run.
 */
export function lengthGroups(lengths: readonly number[], maxTokens: number): number[][] {
  const order = [...lengths.keys()].sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0));
  const cost = new Float64Array(order.length + 1).fill(Number.POSITIVE_INFINITY);
  const start = new Int32Array(order.length + 1);
  cost[0] = 0;
  for (let end = 1; end <= order.length; end += 1) {
    const longest = lengths[order[end - 1] ?? 0] ?? 0;
    for (let from = end - 1; from >= 0; from -= 1) {
      const padded = (end - from) * longest;
      if (padded > maxTokens && from < end - 1) break;
      const total = (cost[from] ?? 0) + RUN_COST_TOKENS + padded;
      if (total < (cost[end] ?? 0)) {
        cost[end] = total;
        start[end] = from;
      }
    }
  }
  const groups: number[][] = [];
  for (let end = order.length; end > 0; end = start[end] ?? 0) groups.push(order.slice(start[end], end));
  return groups.reverse();
}
