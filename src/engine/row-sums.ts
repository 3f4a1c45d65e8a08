import {
  type Graph,
  mergeDimensions,
  type ParameterGradient,
  type RowGradient,
  ShapeError,
  type Tensor,
  type TensorData,
} from '../graph/index.js';
import type { PaddedBatch } from './padded-batch.js';

/** Tables with at most so many rows are compared with the indices row by row. */
const FEW_ROWS = 64;

/**
 * Sums sparse gradients in the graph. The rows of one table entry are picked by a matrix of zeros and ones and added in
 * a matrix product, always in the same order: a scatter with additions would add them in whatever order a device's
 * threads come, and the same seed would give another training each time.
 */
export class RowSums {
  readonly #graph: Graph;
  /** Inputs for the entries that a batch reads, by the name of the indices. */
  readonly #entries = new Map<string, Tensor>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** The gradient of a parameter as one tensor of its shape. */
  total({ parameter, dense, rows }: ParameterGradient): Tensor {
    const graph = this.#graph;
    const parts = rows.map((each) => this.#sumOf(each, parameter));
    const [first, ...others] = dense === undefined ? parts : [dense, ...parts];
    if (first === undefined) throw new ShapeError(`${parameter.name} has no gradient`);
    return others.reduce((sum, part) => graph.add(sum, part), first);
  }

  /** What to feed a run: the entries that its batch reads, each once. */
  feeds({ feeds }: PaddedBatch): Record<string, TensorData> {
    const fed = Object.entries(feeds).flatMap(([name, feed]) => {
      const input = this.#entries.get(name);
      if (input === undefined || feed.type !== 'int32') return [];
      const data = Int32Array.from(new Set(feed.data)).sort();
      return [[input.name, { type: 'int32', dims: [data.length], data }] as const];
    });
    return Object.fromEntries(fed);
  }

  #sumOf({ rows, indices }: RowGradient, { name, shape }: Tensor): Tensor {
    const graph = this.#graph;
    const [count, width, ...rest] = shape;
    if (
      typeof count !== 'number' ||
      width === undefined ||
      rest.length > 0 ||
      indices.source.kind !== 'input'
    ) {
      throw new ShapeError(`${name}: only the rows of a matrix, read by indices that are fed, can be summed`);
    }
    const read = graph.reshape(indices, [1, mergeDimensions(indices.shape)]);
    const each = graph.flattenRows(rows);
    if (count <= FEW_ROWS) {
      const all = Array.from({ length: count }, (_, row) => row);
      return graph.gemm(graph.equal(graph.constant(all, [count, 1], 'int32'), read), each);
    }
    const entries = this.#entriesOf(indices.name);
    const column = graph.reshape(entries, [...entries.shape, 1]);
    return graph.placeRows(graph.gemm(graph.equal(column, read), each), entries, count);
  }

  #entriesOf(indices: string): Tensor {
    const known = this.#entries.get(indices);
    if (known !== undefined) return known;
    const entries = this.#graph.input(`entries of ${indices}`, 'int32', [`distinct ${indices}`]);
    this.#entries.set(indices, entries);
    return entries;
  }
}
