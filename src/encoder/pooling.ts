import type { Graph, Tensor } from '../graph/index.js';
import type { BertConfig } from './bert-config.js';
import { bertEncoder, type EncoderOptions } from './bert-encoder.js';
import type { EncoderInputs } from './encoder-inputs.js';

/**
 * How hidden states become one vector per text: that of the [CLS] token, the first, or the mean over all
 * tokens.
 */
export type Pooling = 'first' | 'mean';

/**
 * One vector per text from the encoder: [batch, hidden].
 * @param differentiable false on export: the last layer then computes only what pooling reads.
 */
export function pooledStates(
  graph: Graph,
  config: BertConfig,
  inputs: EncoderInputs,
  { pooling, differentiable, ...options }: EncoderOptions & { pooling: Pooling; differentiable: boolean },
): Tensor {
  if (pooling === 'first' && !differentiable) {
    return bertEncoder(graph, config, inputs, { ...options, states: 'first' });
  }
  const states = bertEncoder(graph, config, inputs, options);
  const byToken = graph.reshape(states, ['tokens', 'batch', config.hidden_size]);
  const weights = pooling === 'first' ? inputs.firstToken() : inputs.tokenShare();
  return graph.reduceSum(graph.multiply(byToken, weights), [0]);
}
