import type { TensorData } from '../executor.js';
import type { Graph } from '../graph.js';
import { outputAt } from '../node.js';
import type { OperationName } from '../operations/index.js';
import type { Tensor } from '../tensor.js';

/** One operation on a few numbers, and what it must give. */
export interface OperationCase {
  /** What distinguishes this case from the operation's others. */
  readonly variant?: string;
  /** The graph's inputs, in the order in which `build` takes them. */
  readonly feeds: Readonly<Record<string, TensorData>>;
  readonly build: (graph: Graph, inputs: readonly Tensor[]) => Tensor;
  readonly expected: TensorData;
}

/** At least one case of every operation. */
export type OperationCases = {
  readonly [Name in OperationName]: readonly [OperationCase, ...OperationCase[]];
};

type Dims = readonly number[];

export const floats = (dims: Dims, values: Iterable<number>): TensorData => ({
  type: 'float32',
  dims,
  data: Float32Array.from(values),
});
export const ints = (dims: Dims, values: Iterable<number>): TensorData => ({
  type: 'int32',
  dims,
  data: Int32Array.from(values),
});
export const longs = (dims: Dims, values: readonly number[]): TensorData => ({
  type: 'int64',
  dims,
  data: BigInt64Array.from(values, BigInt),
});

/** 1, 2, … */
export const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

export function first(inputs: readonly Tensor[]): Tensor {
  return given(inputs[0]);
}

export function given(input: Tensor | undefined): Tensor {
  if (input === undefined) throw new RangeError('the case has fewer feeds than its graph needs');
  return input;
}

/** Another output of the node whose first output this tensor is. */
export function furtherOutput({ name, source }: Tensor, position: number): Tensor {
  if (source.kind !== 'node') throw new RangeError(`${name} is not the output of a node`);
  return outputAt(source.node.outputs, position);
}
