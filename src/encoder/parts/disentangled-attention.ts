import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import type { EncoderInputs } from '../encoder-inputs.js';
import { type RelativePositions, rowOfDistance, spanOf } from './relative-positions.js';

/** Content-to-position and position-to-content: which parts the scores have beside content-to-content. */
export type PositionTerm = 'c2p' | 'p2c';

/** The rows of the distances between the tokens of a batch, for one of the terms. */
export type DistanceRows = (x: Tensor) => Tensor;

/**
 * What reads a table's rows by the distance of two tokens: [rows, width] → [2*tokens, width]. The distance is that of a
 * query from a key: of column c, n − c for c2p, c − n for p2c, n being the number of tokens.
 * @param longest most tokens of a sequence.
 */
export function distanceRows(
  { graph, form }: EncoderBuilder,
  inputs: EncoderInputs,
  positions: RelativePositions,
  { longest, term }: { readonly longest: number; readonly term: PositionTerm },
): DistanceRows {
  const sign = term === 'c2p' ? -1 : 1;
  const all = Array.from({ length: 2 * longest }, (_, at) => rowOfDistance(positions, sign * (at - longest)));
  const distances = inputs.distances();
  const places = graph.add(distances, graph.constant([longest], [], distances.type));
  if (form === 'inference') {
    const rows = graph.gather(graph.constant(all, [all.length], 'int32'), places);
    return (x) => graph.gather(x, rows);
  }
  // As a product, since the gradient of a gather needs indices that are fed, and the table is small.
  const rows = graph.reshape(graph.gather(graph.constant(all, [all.length]), places), ['2*tokens', 1]);
  const count = 2 * spanOf(positions);
  const numbers = graph.constant([...Array(count).keys()], [1, count]);
  const away = graph.subtract(rows, numbers);
  const chosen = graph.greater(graph.constant([0.25], []), graph.multiply(away, away));
  return (x) => graph.gemm(chosen, x);
}

/** One of the terms in one layer. */
export interface PositionScores {
  readonly term: PositionTerm;
  /** Projections of the positions by distance, [2*tokens, width]: keys for c2p, queries for p2c. */
  readonly projected: Tensor;
}

export interface DisentangledAttention {
  /** Names of the three linear layers. */
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly heads: number;
  /** Of a hidden state, all heads together. */
  readonly width: number;
  /** Probability of dropout of attention weights. */
  readonly dropout: number;
  /** What the scores are divided by. */
  readonly divisor: number;
  readonly positions: readonly PositionScores[];
}

/**
 * Attention whose scores are sums of products of contents and of positions (He et al. 2021, equation 4). Scores by
 * distance are brought to their places by `relativeToAbsolute`; as all texts share the positions, one product per head
 * serves the whole batch. Shapes: hidden [tokens*batch, width] → the same.
 */
export function disentangledAttention(
  builder: EncoderBuilder,
  inputs: EncoderInputs,
  hidden: Tensor,
  { query, key, value, heads, width, dropout, divisor, positions }: DisentangledAttention,
): Tensor {
  const { graph } = builder;
  const alpha = 1 / divisor;
  const headWidth = width / heads;
  const split = (name: string): Tensor => {
    const byToken = graph.reshape(builder.linear(hidden, name), ['tokens', 'batch', heads, headWidth]);
    return graph.transpose(byToken, [2, 1, 0, 3]);
  };
  const [queries, keys, values] = [split(query), split(key), split(value)];
  let scores = graph.batchMatMul(queries, keys, { transposeB: true, alpha });
  for (const { term, projected } of positions) {
    const rows = graph.reshape(term === 'c2p' ? queries : keys, [heads, 'batch*tokens', headWidth]);
    const distances = graph.reshape(projected, ['2*tokens', heads, headWidth]);
    const products = graph.batchMatMul(rows, distances, { transposeB: true, rowsFirstB: true, alpha });
    const byDistance = graph.reshape(products, [heads, 'batch', 'tokens', '2*tokens']);
    const byPosition = graph.relativeToAbsolute(byDistance);
    scores = graph.add(scores, term === 'c2p' ? byPosition : graph.transpose(byPosition, [0, 1, 3, 2]));
  }
  const bias = graph.reshape(inputs.attentionBias, [1, 'batch', 1, 'tokens']);
  const weights = builder.dropout(graph.softmax(graph.add(scores, bias)), dropout);
  const context = graph.batchMatMul(weights, values);
  return graph.reshape(graph.transpose(context, [2, 1, 0, 3]), ['tokens*batch', width]);
}
