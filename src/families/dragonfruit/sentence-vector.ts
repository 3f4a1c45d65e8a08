import {
  type BertConfig,
  bertEncoder,
  bertParameters,
  type Dropout,
  type EncoderInputs,
  type ParameterSpec,
  pooledStates,
} from '../../encoder/index.js';
import type { Graph, Tensor } from '../../graph/index.js';

/** None: a bare BertModel, as sentence-transformers stores it. */
const ENCODER_PREFIX = '';

export const vectorParameters = (config: BertConfig): readonly ParameterSpec[] =>
  bertParameters(config, ENCODER_PREFIX);

/** The mean of a text's hidden states. @returns [batch, hidden], not yet of unit length. */
export function pooledVectors(
  graph: Graph,
  config: BertConfig,
  inputs: EncoderInputs,
  dropout: Dropout,
): Tensor {
  return pooledStates(graph, config, inputs, {
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
export function tokenStates(graph: Graph, config: BertConfig, inputs: EncoderInputs): Tensor {
  const states = bertEncoder(graph, config, inputs, { prefix: ENCODER_PREFIX });
  const byToken = graph.reshape(states, ['tokens', 'batch', config.hidden_size]);
  return graph.transpose(byToken, [1, 0, 2]);
}
