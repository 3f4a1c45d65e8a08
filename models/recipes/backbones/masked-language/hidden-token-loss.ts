import * as z from 'zod';
import {
  type Encoder,
  layerNormParameters,
  linearParameters,
  type ParameterSpec,
} from '../../../../src/encoder/index.js';
import type { Graph, Tensor, TensorData } from '../../../../src/graph/index.js';
import type { HiddenToken } from './hidden-tokens.js';
import type { OneHotRows } from './one-hot-rows.js';

/** As Hugging Face's BertForMaskedLM names them. */
const TRANSFORM = 'cls.predictions.transform.dense';
const NORM = 'cls.predictions.transform.LayerNorm';
const BIAS = 'cls.predictions.bias';

/**
 * The parameters of BertForMaskedLM's head, except for the word embeddings, which it shares with the encoder.
 */
export function hiddenTokenParameters(encoder: Encoder): readonly ParameterSpec[] {
  const { width, vocabularySize, initializerRange } = encoder;
  return [
    ...linearParameters(TRANSFORM, width, width, initializerRange),
    ...layerNormParameters(NORM, width),
    { name: BIAS, shape: [vocabularySize], start: { value: 0 }, decay: false },
  ];
}

/**
 * Cross-entropy of the hidden tokens, predicted from their hidden states as BertForMaskedLM does. Input
 * `hidden` [hidden, tokens*batch] picks these states, so that no others are compared with every piece; input
 * `pieces` [hidden, vocabulary] has each token's weight in the column of its id.
 * @param states [tokens*batch, width].
 * @param embeddings the encoder's word embeddings, [vocabulary, width]; they are both looked up and
 *   multiplied by, and have a gradient from each.
 */
export function hiddenTokenLoss(
  graph: Graph,
  states: Tensor,
  embeddings: Tensor,
  { width, vocabularySize: vocabulary, config }: Encoder,
): Tensor {
  const [rows = 1] = states.shape;
  const hidden = graph.input('hidden', 'float32', ['hidden', rows]);
  const pieces = graph.input('pieces', 'float32', ['hidden', vocabulary]);
  const picked = graph.gemm(hidden, states);
  const inner = graph.gemm(
    picked,
    graph.parameter(`${TRANSFORM}.weight`, [width, width]),
    { transposeB: true, alpha: Math.SQRT1_2, beta: Math.SQRT1_2 },
    graph.parameter(`${TRANSFORM}.bias`, [width]),
  );
  const normalized = graph.layerNorm(
    graph.scale(graph.gaussianGate(inner), Math.SQRT2),
    graph.parameter(`${NORM}.weight`, [width]),
    graph.parameter(`${NORM}.bias`, [width]),
    z.number().parse(config.layer_norm_eps),
  );
  const scores = graph.gemm(
    normalized,
    embeddings,
    { transposeB: true },
    graph.parameter(BIAS, [vocabulary]),
  );
  return graph.scale(graph.reduceSum(graph.multiply(graph.logSoftmax(scores), pieces), [0, 1]), -1);
}

/**
 * Inputs of {@link hiddenTokenLoss}: the mean over the hidden tokens, times `weight`.
 * @param batch how many texts, and their tokens with padding.
 */
export function hiddenTokenFeeds(
  hidden: readonly HiddenToken[],
  batch: { readonly texts: number; readonly tokens: number },
  weight: number,
  pieces: OneHotRows,
): Readonly<Record<string, TensorData>> {
  const columns = batch.texts * batch.tokens;
  const picks = new Float32Array(hidden.length * columns);
  for (const [row, { text, token }] of hidden.entries()) {
    picks[row * columns + token * batch.texts + text] = 1;
  }
  return {
    hidden: { type: 'float32', dims: [hidden.length, columns], data: picks },
    pieces: pieces.of(
      hidden.map(({ id }) => id),
      weight / hidden.length,
    ),
  };
}
