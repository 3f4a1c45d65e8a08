import type { Dropout, Encoder, EncoderInputs, ParameterSpec } from '../../encoder/index.js';
import type { LinearEnd } from '../../engine/index.js';
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

/** What {@link tokenLogits} ends with, unless layers that start at random come before it. */
export function tokenEnd(
  encoder: Encoder,
  tags: number,
  labelledTokens: NonNullable<LinearEnd['labelledTokens']>,
): LinearEnd | undefined {
  const { prefix, width, tokenHead } = encoder;
  const [weight, bias] = tokenHead.parameters(tags);
  if (tokenHead.inner.length > 0 || weight === undefined || bias === undefined) return undefined;
  return {
    weight: weight.name,
    bias: bias.name,
    lossesPerRow: 1,
    states: (graph, _, inputs) =>
      graph.reshape(encoder.states(graph, inputs, { prefix }), ['tokens', 'batch', width]),
    labelledTokens,
  };
}

/** Cross-entropy of logits [tokens, batch, tags] or [tokens, tags]; `targets`, as many, are the shares, 1 in all. */
export function tokenLoss(graph: Graph, logits: Tensor): Tensor {
  const targets = graph.input('targets', 'float32', logits.shape);
  const terms = graph.multiply(graph.logSoftmax(logits), targets);
  return graph.scale(graph.reduceSum(terms, [...logits.shape.keys()]), -1);
}
