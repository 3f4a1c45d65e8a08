import {
  type BertConfig,
  bertEncoder,
  bertParameters,
  type Dropout,
  type EncoderInputs,
  linearParameters,
  type ParameterSpec,
} from '../../encoder/index.js';
import type { Graph, Tensor } from '../../graph/index.js';

/** The names of BertForTokenClassification. */
const ENCODER_PREFIX = 'bert.';
const CLASSIFIER = 'classifier';

export function tokenParameters(config: BertConfig, tags: number): readonly ParameterSpec[] {
  const { hidden_size, initializer_range } = config;
  return [
    ...bertParameters(config, ENCODER_PREFIX),
    ...linearParameters(CLASSIFIER, hidden_size, tags, initializer_range),
  ];
}

/** Encoder and a linear layer over every hidden state. @returns logits [tokens, batch, tags]. */
export function tokenLogits(
  graph: Graph,
  config: BertConfig,
  inputs: EncoderInputs,
  tags: number,
  dropout: Dropout = (x) => x,
): Tensor {
  const states = bertEncoder(graph, config, inputs, { prefix: ENCODER_PREFIX, dropout });
  const weight = graph.parameter(`${CLASSIFIER}.weight`, [tags, config.hidden_size]);
  const bias = graph.parameter(`${CLASSIFIER}.bias`, [tags]);
  const logits = graph.gemm(dropout(states, config.hidden_dropout_prob), weight, { transposeB: true }, bias);
  return graph.reshape(logits, ['tokens', 'batch', tags]);
}

/** Cross-entropy; `targets` [tokens, batch, tags] is the share of each token and tag, 1 in all. */
export function tokenLoss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const terms = graph.multiply(graph.logSoftmax(logits), targets);
  return graph.scale(graph.reduceSum(terms, [0, 1, 2]), -1);
}
