import type { Graph, Tensor } from '../../../../src/graph/index.js';

/**
 * Means of hidden states, text by text: a product for each text, since one matrix for a whole batch would be mostly zeros.
 * Shapes: averages [batch, rows, tokens], states [tokens*batch, hidden] → [batch, rows, hidden].
 */
export function textMeans(graph: Graph, averages: Tensor, states: Tensor): Tensor {
  const byToken = graph.reshape(states, ['tokens', 'batch', states.shape[1] ?? 1]);
  return graph.batchMatMul(averages, byToken, { rowsFirstB: true });
}
