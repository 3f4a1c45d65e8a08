/** Every operation on a few numbers, with results worked out by plain loops over the definition. */
import type { TensorData } from './executor.js';
import type { Graph } from './graph.js';
import type { Tensor } from './tensor.js';

export interface OperationCase {
  readonly feeds: Readonly<Record<string, TensorData>>;
  readonly build: (graph: Graph, inputs: readonly Tensor[]) => Tensor;
  readonly expected: TensorData;
}

type Dims = readonly number[];

const floats = (dims: Dims, values: Iterable<number>): TensorData => ({
  type: 'float32',
  dims,
  data: Float32Array.from(values),
});
const ints = (dims: Dims, values: Iterable<number>): TensorData => ({
  type: 'int32',
  dims,
  data: Int32Array.from(values),
});
const longs = (dims: Dims, values: readonly number[]): TensorData => ({
  type: 'int64',
  dims,
  data: BigInt64Array.from(values, BigInt),
});

const xs = [-2, -0.5, 0, 0.25, 1, 3];
/** 1, 2, … */
const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

function unary(
  build: (graph: Graph, x: Tensor) => Tensor,
  compute: (x: number) => number,
  values: readonly number[] = xs,
): OperationCase {
  return {
    feeds: { x: floats([2, values.length / 2], values) },
    build: (graph, inputs) => build(graph, first(inputs)),
    expected: floats([2, values.length / 2], values.map(compute)),
  };
}

function binary(
  build: (graph: Graph, a: Tensor, b: Tensor) => Tensor,
  compute: (a: number, b: number) => number,
): OperationCase {
  const row = [2, -4, 0.5];
  return {
    feeds: { a: floats([2, 3], xs), b: floats([3], row) },
    build: (graph, [a, b]) => build(graph, given(a), given(b)),
    expected: floats(
      [2, 3],
      xs.map((x, index) => compute(x, row[index % 3] ?? 0)),
    ),
  };
}

const rowsOf = (values: readonly number[], width: number): number[][] =>
  Array.from({ length: values.length / width }, (_, row) => values.slice(row * width, (row + 1) * width));

function softmaxRow(row: readonly number[]): number[] {
  const sum = row.reduce((total, x) => total + Math.exp(x), 0);
  return row.map((x) => Math.exp(x) / sum);
}

function normalizeRow(row: readonly number[], epsilon: number): number[] {
  const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
  const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length;
  return row.map((x) => (x - mean) / Math.sqrt(variance + epsilon));
}

/** 2 × 3 times 3 × 2, by hand. */
const A = [1, 2, 3, 4, 5, 6];
const B = [1, -1, 2, 0, 0.5, 3];
const AB = [6.5, 8, 17, 14];
const A_TRANSPOSED = [1, 4, 2, 5, 3, 6];
const B_TRANSPOSED = [1, 2, 0.5, -1, 0, 3];

const matrices = (a: TensorData, b: TensorData) => ({ feeds: { a, b }, expected: floats([2, 2], AB) });

/** Two products of 1 × 2 and 2 × 1 matrices: 1·5 + 2·6 and 3·7 + 4·8. */
const batches = {
  a: floats([2, 1, 2], [1, 2, 3, 4]),
  b: floats([2, 2, 1], [5, 6, 7, 8]),
  bTransposed: floats([2, 1, 2], [5, 6, 7, 8]),
  /** b as [rows, batch, columns]. */
  bRowsFirst: floats([2, 2, 1], [5, 7, 6, 8]),
  product: floats([2, 1, 1], [17, 53]),
};

export const operationCases: Readonly<Record<string, OperationCase>> = {
  'add, broadcasting a row': binary(
    (graph, a, b) => graph.add(a, b),
    (a, b) => a + b,
  ),
  'subtract, broadcasting a row': binary(
    (graph, a, b) => graph.subtract(a, b),
    (a, b) => a - b,
  ),
  'multiply, broadcasting a row': binary(
    (graph, a, b) => graph.multiply(a, b),
    (a, b) => a * b,
  ),
  'divide, broadcasting a row': binary(
    (graph, a, b) => graph.divide(a, b),
    (a, b) => a / b,
  ),
  scale: unary(
    (graph, x) => graph.scale(x, -3),
    (x) => -3 * x,
  ),
  exp: unary((graph, x) => graph.exp(x), Math.exp),
  tanh: unary((graph, x) => graph.tanh(x), Math.tanh),
  sigmoid: unary(
    (graph, x) => graph.sigmoid(x),
    (x) => 1 / (1 + Math.exp(-x)),
  ),
  'softplus, also far from 0': unary(
    (graph, x) => graph.softplus(x),
    (x) => (x > 30 ? x : Math.log1p(Math.exp(x))),
    [-60, -1, 0, 60],
  ),
  // erf(½) = 0.5204998778, erf(1) = 0.8427007929 (Abramowitz & Stegun, table 7.1).
  'gaussianGate, z·(½ + ½·erf z)': {
    feeds: { x: floats([1, 4], [0, 0.5, 1, -1]) },
    build: (graph, inputs) => graph.gaussianGate(first(inputs)),
    expected: floats([1, 4], [0, 0.5 * 0.7602499389, 0.92135039645, -0.07864960355]),
  },
  softmax: {
    feeds: { x: floats([2, 3], xs) },
    build: (graph, inputs) => graph.softmax(first(inputs)),
    expected: floats([2, 3], rowsOf(xs, 3).flatMap(softmaxRow)),
  },
  'logSoftmax, also of huge numbers': {
    feeds: { x: floats([2, 2], [1, 2, 1000, 1000]) },
    build: (graph, inputs) => graph.logSoftmax(first(inputs)),
    expected: floats([2, 2], [...softmaxRow([1, 2]).map(Math.log), -Math.LN2, -Math.LN2]),
  },
  layerNorm: {
    feeds: { x: floats([2, 3], xs), gamma: floats([3], [1, 2, 3]), beta: floats([3], [0, 0.5, -1]) },
    build: (graph, [x, gamma, beta]) => graph.layerNorm(given(x), given(gamma), given(beta), 1e-5),
    expected: floats(
      [2, 3],
      rowsOf(xs, 3).flatMap((row) =>
        normalizeRow(row, 1e-5).map((x, column) => x * (column + 1) + ([0, 0.5, -1][column] ?? 0)),
      ),
    ),
  },
  gemm: {
    ...matrices(floats([2, 3], A), floats([3, 2], B)),
    build: (graph, [a, b]) => graph.gemm(given(a), given(b)),
  },
  'gemm of transposed matrices': {
    ...matrices(floats([3, 2], A_TRANSPOSED), floats([2, 3], B_TRANSPOSED)),
    build: (graph, [a, b]) => graph.gemm(given(a), given(b), { transposeA: true, transposeB: true }),
  },
  'gemm with factors and an addend': {
    feeds: { a: floats([2, 3], A), b: floats([3, 2], B), c: floats([2], [1, 10]) },
    build: (graph, [a, b, c]) => graph.gemm(given(a), given(b), { alpha: 2, beta: -1 }, given(c)),
    expected: floats(
      [2, 2],
      AB.map((product, index) => 2 * product - (index % 2 === 0 ? 1 : 10)),
    ),
  },
  'gemm of a single row': {
    feeds: { a: floats([1, 2], [3, 4]), b: floats([2, 1], [5, 6]) },
    build: (graph, [a, b]) => graph.gemm(given(a), given(b)),
    expected: floats([1, 1], [39]),
  },
  batchMatMul: {
    feeds: { a: batches.a, b: batches.b },
    build: (graph, [a, b]) => graph.batchMatMul(given(a), given(b)),
    expected: batches.product,
  },
  'batchMatMul, transposed and scaled': {
    feeds: { a: batches.a, b: batches.bTransposed },
    build: (graph, [a, b]) => graph.batchMatMul(given(a), given(b), { transposeB: true, alpha: 2 }),
    expected: floats([2, 1, 1], [34, 106]),
  },
  'batchMatMul of an operand stored rows first': {
    feeds: { a: batches.a, b: batches.bRowsFirst },
    build: (graph, [a, b]) => graph.batchMatMul(given(a), given(b), { rowsFirstB: true }),
    expected: batches.product,
  },
  'gather, a row more than once': {
    feeds: { table: floats([3, 2], counting(6)), ids: ints([2, 2], [2, 0, 2, 1]) },
    build: (graph, [table, ids]) => graph.gather(given(table), given(ids)),
    expected: floats([2, 2, 2], [5, 6, 1, 2, 5, 6, 3, 4]),
  },
  'gather by 64-bit ids': {
    feeds: { table: floats([3, 2], counting(6)), ids: longs([2], [1, 2]) },
    build: (graph, [table, ids]) => graph.gather(given(table), given(ids)),
    expected: floats([2, 2], [3, 4, 5, 6]),
  },
  'reduceSum over some axes': {
    feeds: { x: floats([2, 3, 2], counting(12)) },
    build: (graph, inputs) => graph.reduceSum(first(inputs), [0, -1]),
    expected: floats([3], [18, 26, 34]),
  },
  'reduceSum, keeping dimensions': {
    feeds: { x: floats([2, 3], counting(6)) },
    build: (graph, inputs) => graph.reduceSum(first(inputs), [1], true),
    expected: floats([2, 1], [6, 15]),
  },
  columnSum: {
    feeds: { x: floats([3, 2], counting(6)) },
    build: (graph, inputs) => graph.columnSum(first(inputs)),
    expected: floats([2], [9, 12]),
  },
  expand: {
    feeds: { x: floats([2, 1], [1, 2]) },
    build: (graph, inputs) => graph.expand(first(inputs), [2, 2, 3]),
    expected: floats([2, 2, 3], [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]),
  },
  reshape: {
    feeds: { x: floats([2, 3], counting(6)) },
    build: (graph, inputs) => graph.reshape(first(inputs), [3, 2]),
    expected: floats([3, 2], counting(6)),
  },
  transpose: {
    feeds: { x: floats([2, 1, 3], counting(6)) },
    build: (graph, inputs) => graph.transpose(first(inputs), [2, 0, 1]),
    expected: floats([3, 2, 1], A_TRANSPOSED),
  },
  rowNumbers: {
    feeds: { x: floats([3, 1], [9, 9, 9]) },
    build: (graph, inputs) => graph.rowNumbers(first(inputs)),
    expected: longs([3], [0, 1, 2]),
  },
  'cast to float32': {
    feeds: { x: ints([3], [-1, 0, 7]) },
    build: (graph, inputs) => graph.cast(first(inputs), 'float32'),
    expected: floats([3], [-1, 0, 7]),
  },
};

function first(inputs: readonly Tensor[]): Tensor {
  return given(inputs[0]);
}

function given(input: Tensor | undefined): Tensor {
  if (input === undefined) throw new RangeError('the case has fewer feeds than it builds with');
  return input;
}
