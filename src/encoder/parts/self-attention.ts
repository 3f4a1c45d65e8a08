import type { Dimension, Shape, Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';

export interface SelfAttention {
  /** Names of the three linear layers. */
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly heads: number;
  /** Of a hidden state, all heads together. */
  readonly width: number;
  /** Probability of dropout of attention weights. */
  readonly dropout: number;
  /** Added to the scores, each broadcast to [batch, heads, asked tokens, tokens]. */
  readonly biases: readonly Tensor[];
}

/**
 * Scaled dot-product attention with several heads (Vaswani et al. 2017): the tokens `asked`, all or the first of each
 * sequence, attend to all tokens. Operands stay tokens first ([tokens, batch, heads, width of a head]).
 * Shapes: hidden [tokens*batch, width], asked the same or [batch, width] → that of asked.
 */
export function selfAttention(
  builder: EncoderBuilder,
  asked: Tensor,
  hidden: Tensor,
  { query, key, value, heads, width, dropout, biases }: SelfAttention,
): Tensor {
  const { graph } = builder;
  const headWidth = width / heads;
  const askedTokens: Dimension = asked === hidden ? 'tokens' : 1;
  const split = (x: Tensor, tokens: Dimension): Tensor =>
    graph.reshape(x, [tokens, 'batch', heads, headWidth]);
  const queries = split(builder.linear(asked, query), askedTokens);
  const keys = split(builder.linear(hidden, key), 'tokens');
  const values = split(builder.linear(hidden, value), 'tokens');
  const products = graph.batchMatMul(queries, keys, {
    rowsFirstA: true,
    rowsFirstB: true,
    transposeB: true,
    alpha: 1 / Math.sqrt(headWidth),
  });
  const scores = biases.reduce((sum, bias) => graph.add(sum, bias), products);
  const weights = builder.dropout(graph.softmax(scores), dropout);
  const context = graph.batchMatMul(weights, values, { rowsFirstB: true });
  const rows: Shape = [askedTokens === 1 ? 'batch' : 'tokens*batch', width];
  return graph.reshape(graph.transpose(context, [2, 0, 1, 3]), rows);
}
