import type { Graph, Tensor } from '../graph/index.js';

/** One place in a graph that has dropout: its values are multiplied by a mask, which is fed at every run. */
export interface DropoutSite {
  readonly mask: Tensor;
  readonly probability: number;
}

/**
 * Dropout with masks that are made outside the graph, from a seeded stream. This makes a training repeatable
 * and resumable, which ONNX Runtime's own Dropout operator does not.
 */
export class DropoutSites {
  readonly sites: DropoutSite[] = [];

  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** The dropout function to build a model with; a probability of 0 adds nothing. */
  readonly apply = (x: Tensor, probability: number): Tensor => {
    if (probability === 0) return x;
    const mask = this.#graph.input(`dropout.${this.sites.length}`, 'float32', x.shape);
    this.sites.push({ mask, probability });
    return this.#graph.multiply(x, mask);
  };
}
