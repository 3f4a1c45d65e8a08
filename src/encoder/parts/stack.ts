import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import { inPart, type ParameterSpec } from '../parameter.js';
import {
  type LayerNames,
  type LayerWidths,
  type PostNormLayer,
  postNormLayer,
  postNormLayerParameters,
} from './post-norm-layer.js';

/** Layers of the same kind, one after the other, none sharing weights. */
export interface Stack {
  readonly layers: number;
  /** What is before each layer's number, as `encoder.layer`. */
  readonly stem: string;
  readonly names: LayerNames;
}

/** The parameters of {@link stack}. */
export function stackParameters({ layers, stem, names }: Stack, widths: LayerWidths): ParameterSpec[] {
  return Array.from({ length: layers }, (_, layer) =>
    inPart(layer, postNormLayerParameters(`${stem}.${layer}`, names, widths)),
  ).flat();
}

/**
 * A Transformer's layers. Shapes: hidden [tokens*batch, width] → the same, or [batch, width] for `first`, where the last
 * layer computes no other states.
 */
export function stack(
  builder: EncoderBuilder,
  hidden: Tensor,
  { layers, stem, names }: Stack,
  { states, ...options }: PostNormLayer,
): Tensor {
  let computed = hidden;
  for (let layer = 0; layer < layers; layer += 1) {
    const asked = layer === layers - 1 ? states : 'all';
    computed = postNormLayer(builder, computed, `${stem}.${layer}`, names, { ...options, states: asked });
  }
  return computed;
}
