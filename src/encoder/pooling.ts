import type { Graph, Tensor } from '../graph/index.js';
import type { Encoder, StatesOptions } from './encoder.js';
import type { EncoderInputs } from './encoder-inputs.js';

/**
 * How hidden states become one vector per text: that of the [CLS] token, the first, or the mean over all
 * tokens.
 */
export type Pooling = 'first' | 'mean';

/**
 * One vector per text from the encoder: [batch, width].
 * @param differentiable false on export: the last layer then computes only what pooling reads.
 */
export function pooledStates(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  { pooling, differentiable, ...options }: StatesOptions & { pooling: Pooling; differentiable: boolean },
): Tensor {
  if (pooling === 'first' && !differentiable) {
    return encoder.states(graph, inputs, { ...options, states: 'first' });
  }
  const states = encoder.states(graph, inputs, options);
  const byToken = graph.reshape(states, ['tokens', 'batch', encoder.width]);
  const weights = pooling === 'first' ? inputs.firstToken() : inputs.tokenShare();
  return graph.reduceSum(graph.multiply(byToken, weights), [0]);
}
