import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  linearParameters,
  NO_DROPOUT,
  type ParameterSpec,
  type Pooling,
  pooledStates,
} from '../../encoder/index.js';
import type { LinearEnd } from '../../engine/index.js';
import type { Graph, Tensor } from '../../graph/index.js';

/** The linear layer over the mean of the states. */
const CLASSIFIER = 'classifier';

/** How a classifier is built on the encoder. */
export interface ClassifierShape {
  readonly outputs: number;
  /** `first`: the first token through the encoder's own head, as transformers has it. `mean`: a linear layer alone. */
  readonly pooling: Pooling;
}

/** The encoder's parameters and the head's, by transformers' names. */
export function classifierParameters(
  encoder: Encoder,
  { outputs, pooling }: ClassifierShape,
): readonly ParameterSpec[] {
  const { width, initializerRange, prefix } = encoder;
  const head =
    pooling === 'first'
      ? encoder.textHead.parameters(outputs)
      : linearParameters(CLASSIFIER, width, outputs, initializerRange);
  return [...encoder.parameters(prefix), ...head];
}

/** What {@link classifierLogits} ends with where it pools by the mean. */
export function classifierEnd(lossesPerRow: number): LinearEnd {
  return {
    weight: `${CLASSIFIER}.weight`,
    bias: `${CLASSIFIER}.bias`,
    lossesPerRow,
    states: (graph, encoder, inputs) => pooled(graph, encoder, inputs, 'mean'),
  };
}

/** Encoder, pooling and head. @returns logits [batch, outputs]. */
export function classifierLogits(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  { outputs, pooling }: ClassifierShape,
  dropout?: Dropout,
): Tensor {
  const drop = dropout ?? NO_DROPOUT;
  const read = pooled(graph, encoder, inputs, pooling, dropout);
  if (pooling === 'first') return encoder.textHead.logits(graph, read, outputs, drop);
  const weight = graph.parameter(`${CLASSIFIER}.weight`, [outputs, encoder.width]);
  const bias = graph.parameter(`${CLASSIFIER}.bias`, [outputs]);
  return graph.gemm(drop(read, encoder.headDropout), weight, { transposeB: true }, bias);
}

/** The states of each text as one: [batch, width]. */
function pooled(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  pooling: Pooling,
  dropout?: Dropout,
): Tensor {
  return pooledStates(graph, encoder, inputs, {
    prefix: encoder.prefix,
    dropout: dropout ?? NO_DROPOUT,
    pooling,
    differentiable: dropout !== undefined,
  });
}
