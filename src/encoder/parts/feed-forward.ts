import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import { type Activation, activate } from './activation.js';

/** Names of the two linear layers, and what lies between them. */
export interface FeedForward {
  readonly inner: string;
  readonly outer: string;
  readonly activation: Activation;
}

/**
 * W₂·a(W₁x + b₁) + b₂; where gradients of GELU are needed, with the factors of {@link Graph.gaussianGate} folded into
 * the two layers. Shapes: x [rows, width] → [rows, width].
 */
export function feedForward(
  builder: EncoderBuilder,
  x: Tensor,
  { inner, outer, activation }: FeedForward,
): Tensor {
  const { graph } = builder;
  if (activation === 'gelu' && builder.form === 'differentiable') {
    const z = builder.linear(x, inner, { factor: Math.SQRT1_2 });
    return builder.linear(graph.gaussianGate(z), outer, { inputFactor: Math.SQRT2 });
  }
  return builder.linear(activate(graph, activation, builder.linear(x, inner)), outer);
}
