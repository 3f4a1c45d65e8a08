import type { Dropout, Encoder, EncoderInputs, ParameterSpec } from '../../encoder/index.js';
import type { Graph, Tensor } from '../../graph/index.js';

/** The encoder's parameters and those of transformers' token classifier. */
export function tokenParameters(encoder: Encoder, tags: number): readonly ParameterSpec[] {
  return [...encoder.parameters(encoder.prefix), ...encoder.tokenHead.parameters(tags)];
}

/** Encoder and transformers' token classifier over every hidden state. @returns logits [tokens, batch, tags]. */
export function tokenLogits(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  tags: number,
  dropout?: Dropout,
): Tensor {
  const states = encoder.states(graph, inputs, { prefix: encoder.prefix, ...(dropout && { dropout }) });
  return graph.reshape(encoder.tokenHead.logits(graph, states, tags, dropout), ['tokens', 'batch', tags]);
}

/** Cross-entropy; `targets` [tokens, batch, tags] is the share of each token and tag, 1 in all. */
export function tokenLoss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const terms = graph.multiply(graph.logSoftmax(logits), targets);
  return graph.scale(graph.reduceSum(terms, [0, 1, 2]), -1);
}
