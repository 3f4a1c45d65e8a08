import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';

export interface GatedFeedForward {
  /** Names of the two linear layers; the inner one gives two halves of `innerWidth` numbers each. */
  readonly inner: string;
  readonly outer: string;
  readonly innerWidth: number;
  /** Probability of dropout before the outer layer. */
  readonly dropout: number;
}

/**
 * W₂·(GELU(a) ⊙ b) with a and b the halves of W₁x (Shazeer 2020, GEGLU); where gradients are needed, with the factors
 * of {@link Graph.gaussianGate} folded into the two layers. Shapes: x [rows, width] → [rows, width].
 */
export function gatedFeedForward(
  builder: EncoderBuilder,
  x: Tensor,
  { inner, outer, innerWidth, dropout }: GatedFeedForward,
): Tensor {
  const { graph } = builder;
  const isDifferentiable = builder.form === 'differentiable';
  const both = builder.linear(x, inner, isDifferentiable ? { factor: Math.SQRT1_2 } : {});
  const first = graph.slice(both, 1, 0, innerWidth);
  const gate = graph.slice(both, 1, innerWidth, 2 * innerWidth);
  // gaussianGate(a/√2) is GELU(a)/√2, and its factor here is b/√2.
  const gated = graph.multiply(isDifferentiable ? graph.gaussianGate(first) : graph.gelu(first), gate);
  return builder.linear(builder.dropout(gated, dropout), outer, isDifferentiable ? { inputFactor: 2 } : {});
}
