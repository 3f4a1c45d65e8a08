import { type Graph, resolveShape, type Shape, type Tensor, type TensorData } from '../graph/index.js';
import { Random } from '../system/index.js';
import type { MaskState } from './engine.js';
import { quantizeDropoutRate } from './kernels/kernels.js';

/** What distinguishes the streams that are drawn from; any numbers. */
const OF_RUN = 1;
const OF_AXIS = 2;
const OF_SITE = 3;

/** 2^16: dropout rates are multiples of 1 / this, and the upper half of a draw is its lower half's multiple. */
const HALF_WORD = 65_536;
const LOWEST = -(2 ** 31);

/**
 * Dropout whose masks are made in the graph, so that none has to be brought to a device. Every element of a mask has a
 * draw of its own, a whole number of 32 bits that follows from the seed, the number of the run, the element's place
 * along each axis, and the site (which layer, and where in it): a counter-based generator in the sense of Salmon et al.
 * 2011, in int32 arithmetic modulo 2^32, which executors compute alike.
 *
 * A run is fed a vector of random keys for each symbolic dimension; fixed dimensions have theirs in the graph. The
 * keys of an element's places are added and mixed, once for all sites of one shape. Each site then adds a number of
 * its own and squares, as in the generators of Widynski 2020 ("Squares"), and compares the draw with the rate.
 */
export class GeneratedDropout {
  readonly #graph: Graph;
  /** Inputs for the keys of a run, by dimension. */
  readonly #keys = new Map<string, Tensor>();
  /** Mixed keys by shape. They are even. */
  readonly #mixed = new Map<string, Tensor>();
  #sites = 0;

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  readonly apply = (x: Tensor, probability: number): Tensor => {
    const { threshold, kept } = quantizeDropoutRate(probability);
    if (threshold === 0) return x;
    const graph = this.#graph;
    // An odd number, so that its square's upper bits are as evenly spread as its own.
    const number = graph.add(this.#mixedKeys(x.shape), this.#integer(1 | word(Random.fromSeed(OF_SITE, this.#sites))));
    this.#sites += 1;
    const draw = graph.multiply(number, number);
    const lowestKept = LOWEST + threshold * HALF_WORD;
    const mask = graph.scale(graph.greater(draw, this.#integer(lowestKept - 1)), kept);
    return graph.multiply(x, mask);
  };

  feeds({ seed, position }: MaskState, sizes: Readonly<Record<string, number>>): Record<string, TensorData> {
    const keys = [...this.#keys].map(([dimension, { name }], at) => {
      const [length = 0] = resolveShape([dimension], sizes);
      const random = Random.fromSeed(OF_RUN, seed, position % 2 ** 32, Math.floor(position / 2 ** 32), at);
      const data = Int32Array.from({ length }, () => word(random));
      return [name, { type: 'int32', dims: [length], data }] as const;
    });
    return Object.fromEntries(keys);
  }

  /** Keys of all elements of this shape, mixed so that those of two rows have nothing in common. */
  #mixedKeys(shape: Shape): Tensor {
    const known = this.#mixed.get(shape.join());
    if (known !== undefined) return known;
    const graph = this.#graph;
    const [first = this.#integer(0), ...others] = shape.flatMap((dimension, axis) =>
      dimension === 1 ? [] : [this.#axisKeys(dimension, axis, shape.length)],
    );
    let keys = others.reduce((sum, each) => graph.add(sum, each), first);
    for (let round = 0; round < ROUNDS; round += 1) keys = this.#mix(keys);
    const even = graph.add(keys, keys);
    this.#mixed.set(shape.join(), even);
    return even;
  }

  /** x·(2x + 1), a permutation modulo 2^32 (RC6: Rivest et al. 1998), with its upper half added to its lower. */
  #mix(x: Tensor): Tensor {
    const graph = this.#graph;
    const product = graph.multiply(x, graph.add(graph.add(x, x), this.#integer(1)));
    return graph.add(product, graph.divide(product, this.#integer(HALF_WORD)));
  }

  /** The keys of an axis, shaped to be added to those of the axes before it. */
  #axisKeys(dimension: Shape[number], axis: number, rank: number): Tensor {
    const graph = this.#graph;
    const shape = [dimension, ...Array.from({ length: rank - axis - 1 }, () => 1)];
    const random = Random.fromSeed(OF_AXIS, axis);
    if (typeof dimension === 'number') {
      const values = Array.from({ length: dimension }, () => word(random));
      return graph.constant(values, shape, 'int32');
    }
    // Two axes may have one dimension, and so the same keys; an odd factor keeps them apart.
    const factor = this.#integer(1 | word(random));
    return graph.reshape(graph.multiply(this.#runKeys(dimension), factor), shape);
  }

  #runKeys(dimension: string): Tensor {
    const known = this.#keys.get(dimension);
    if (known !== undefined) return known;
    const keys = this.#graph.input(`dropout keys of ${dimension}`, 'int32', [dimension]);
    this.#keys.set(dimension, keys);
    return keys;
  }

  #integer(value: number): Tensor {
    return this.#graph.constant([value], [], 'int32');
  }
}

/** One round leaves traces in a test over all pairs of rows; two leave none. */
const ROUNDS = 2;

/** A random whole number of 32 bits, as an int32. */
function word(random: Random): number {
  return Math.floor(random.uniform() * 2 ** 32) | 0;
}
