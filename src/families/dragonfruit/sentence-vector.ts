import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  type ParameterSpec,
  pooledStates,
} from '../../encoder/index.js';
import type { Graph, Tensor } from '../../graph/index.js';

/** None: a bare encoder, as sentence-transformers stores it. */
const ENCODER_PREFIX = '';

export const vectorParameters = (encoder: Encoder): readonly ParameterSpec[] =>
  encoder.parameters(ENCODER_PREFIX);

/** The mean of a text's hidden states. @returns [batch, hidden], not yet of unit length. */
export function pooledVectors(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  dropout: Dropout,
): Tensor {
  return pooledStates(graph, encoder, inputs, {
    prefix: ENCODER_PREFIX,
    dropout,
    pooling: 'mean',
    differentiable: true,
  });
}

/**
 * All hidden states, which sentence-transformers and transformers.js pool themselves.
 * @returns [batch, tokens, hidden].
 */
export function tokenStates(graph: Graph, encoder: Encoder, inputs: EncoderInputs): Tensor {
  const states = encoder.states(graph, inputs, { prefix: ENCODER_PREFIX });
  const byToken = graph.reshape(states, ['tokens', 'batch', encoder.width]);
  return graph.transpose(byToken, [1, 0, 2]);
}
