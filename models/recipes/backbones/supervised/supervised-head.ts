import {
  type BertConfig,
  bertParameters,
  linearParameters,
  type ParameterSpec,
  pooledStates,
} from '../../../../src/encoder/index.js';
import type { LossHead } from '../../../../src/families/index.js';
import type { TensorData } from '../../../../src/graph/index.js';
import { ENCODER_PREFIX } from '../student/objective.js';

const CLASSIFIER = 'classifier';
/** Takes the labels of other sets out of the softmax. */
const CLOSED = -1e9;

/** The encoder's parameters, and those of the layer over the labels of all sets. */
export function supervisedParameters(config: BertConfig, labels: number): readonly ParameterSpec[] {
  const { hidden_size, initializer_range } = config;
  return [
    ...bertParameters(config, ENCODER_PREFIX),
    ...linearParameters(CLASSIFIER, hidden_size, labels, initializer_range),
  ];
}

/**
 * Labels of several sets under one encoder (Liu et al. 2019, MT-DNN): the mean of a text's states, one linear layer over all
 * labels, and cross-entropy over those of the text's own set. `closed` [batch, labels] excludes the others', `targets`
 * [batch, labels] has each text's weight at its label.
 */
export function supervisedHead(labels: number): LossHead {
  return {
    outputs: () => labels,
    logits(graph, config, inputs, dropout) {
      const options = { prefix: ENCODER_PREFIX, dropout, pooling: 'mean', differentiable: true } as const;
      const means = pooledStates(graph, config, inputs, options);
      const weight = graph.parameter(`${CLASSIFIER}.weight`, [labels, config.hidden_size]);
      const bias = graph.parameter(`${CLASSIFIER}.bias`, [labels]);
      return graph.gemm(means, weight, { transposeB: true }, bias);
    },
    loss(graph, logits) {
      const closed = graph.input('closed', 'float32', logits.shape);
      const targets = graph.input('targets', 'float32', logits.shape);
      const terms = graph.multiply(graph.logSoftmax(graph.add(logits, closed)), targets);
      return graph.scale(graph.reduceSum(terms, [0, 1]), -1);
    },
  };
}

/** A text's label, and the labels of its set: those from `first` to before `end`, among those of all sets. */
export interface SetLabel {
  readonly first: number;
  readonly end: number;
  readonly label: number;
}

/** What the loss of {@link supervisedHead} is fed for these texts. */
export function supervisedFeeds(
  texts: readonly SetLabel[],
  labels: number,
): Readonly<Record<string, TensorData>> {
  const closed = new Float32Array(texts.length * labels).fill(CLOSED);
  const targets = new Float32Array(texts.length * labels);
  for (const [row, { first, end, label }] of texts.entries()) {
    closed.fill(0, row * labels + first, row * labels + end);
    targets[row * labels + label] = 1 / texts.length;
  }
  const dims = [texts.length, labels];
  return {
    closed: { type: 'float32', dims, data: closed },
    targets: { type: 'float32', dims, data: targets },
  };
}
