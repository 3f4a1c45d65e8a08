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
import type { TextOutputs } from '../../text-reader/index.js';

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

/** The mean of the first `tokens` rows of [at least tokens, width]. */
export function meanOfRows(states: Float32Array, tokens: number, width: number): Float32Array {
  const mean = new Float32Array(width);
  for (let at = 0; at < tokens * width; at += 1) {
    mean[at % width] = (mean[at % width] ?? 0) + (states[at] ?? 0) / tokens;
  }
  return mean;
}

/** A vector divided by its Euclidean norm; zeros stay zeros. */
export function unitVector(vector: Float32Array): Float32Array {
  const norm = Math.hypot(...vector);
  return norm === 0 ? vector : vector.map((value) => value / norm);
}

/** Unit vectors of texts that the encoder has pooled already. [texts, width] */
export function unitVectors(texts: readonly TextOutputs[]): Float32Array {
  const width = texts[0]?.[0]?.outputs.length ?? 0;
  const vectors = new Float32Array(texts.length * width);
  for (const [row, [window]] of texts.entries()) {
    if (window) vectors.set(unitVector(window.outputs), row * width);
  }
  return vectors;
}
