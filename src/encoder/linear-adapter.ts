import type { Graph, Tensor } from '../graph/index.js';
import type { Dropout } from './encoder-builder.js';

/** A linear layer of an encoder, y = factor·x·Wᵀ + b, as a graph has it. */
export interface LinearLayer {
  /** W, a parameter of the graph; an encoder may use one several times. */
  readonly weight: Tensor;
  /** [rows, inputs] */
  readonly x: Tensor;
  /** [rows, outputs] */
  readonly y: Tensor;
  /** What x·Wᵀ is multiplied by. */
  readonly factor: number;
}

/**
 * Adds to a graph what takes the place of a linear layer's output, such as the sum of it and an adapter's.
 * @returns [rows, outputs]; y itself where the layer stays as it is.
 */
export type LinearAdapter = (graph: Graph, layer: LinearLayer, dropout: Dropout) => Tensor;
