import type { Graph, Tensor } from '../graph/index.js';

/** One place in a graph where values are dropped: the mask that it is multiplied by is fed at every run. */
export interface DropoutSite {
  readonly mask: Tensor;
  readonly probability: number;
}

/**
 * Dropout by masks made outside the graph: they come from a seeded stream, so a training is repeatable and
 * resumable, which ONNX Runtime's own Dropout is not.
 */
export class DropoutSites {
  readonly sites: DropoutSite[] = [];

  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** To be given to whatever builds the model; a probability of 0 adds nothing. */
  readonly apply = (x: Tensor, probability: number): Tensor => {
    if (probability === 0) return x;
    const mask = this.#graph.input(`dropout.${this.sites.length}`, 'float32', x.shape);
    this.sites.push({ mask, probability });
    return this.#graph.multiply(x, mask);
  };
}
