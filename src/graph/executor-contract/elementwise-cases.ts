import type { Graph } from '../graph.js';
import type { Tensor } from '../tensor.js';
import {
  first,
  floats,
  furtherOutput,
  given,
  ints,
  type OperationCase,
  type OperationCases,
} from './operation-case.js';

const xs = [-2, -0.5, 0, 0.25, 1, 3];

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
): readonly [OperationCase, OperationCase] {
  const row = [2, -4, 0.5];
  const column = [3, -1];
  const buildOf: OperationCase['build'] = (graph, [a, b]) => build(graph, given(a), given(b));
  const byRow = xs.map((x, index) => compute(x, row[index % 3] ?? 0));
  const outer = column.flatMap((a) => row.map((b) => compute(a, b)));
  return [
    {
      variant: 'broadcasting a row',
      feeds: { a: floats([2, 3], xs), b: floats([3], row) },
      build: buildOf,
      expected: floats([2, 3], byRow),
    },
    {
      variant: 'broadcasting a column and a row',
      feeds: { a: floats([2, 1], column), b: floats([1, 3], row) },
      build: buildOf,
      expected: floats([2, 3], outer),
    },
  ];
}

// erf(½) = 0.5204998778, erf(1) = 0.8427007929 (Abramowitz & Stegun, table 7.1).
const zs = [0, 0.5, 1, -1];
const gates = [0.5, 0.7602499389, 0.92135039645, 0.07864960355];

export const elementwiseCases = {
  add: binary(
    (graph, a, b) => graph.add(a, b),
    (a, b) => a + b,
  ),
  subtract: binary(
    (graph, a, b) => graph.subtract(a, b),
    (a, b) => a - b,
  ),
  multiply: binary(
    (graph, a, b) => graph.multiply(a, b),
    (a, b) => a * b,
  ),
  divide: binary(
    (graph, a, b) => graph.divide(a, b),
    (a, b) => a / b,
  ),
  scale: [
    unary(
      (graph, x) => graph.scale(x, -3),
      (x) => -3 * x,
    ),
  ],
  exp: [unary((graph, x) => graph.exp(x), Math.exp)],
  sqrt: [
    unary(
      (graph, x) => graph.sqrt(graph.multiply(x, x)),
      (x) => Math.sqrt(x * x),
    ),
  ],
  tanh: [unary((graph, x) => graph.tanh(x), Math.tanh)],
  sigmoid: [
    unary(
      (graph, x) => graph.sigmoid(x),
      (x) => 1 / (1 + Math.exp(-x)),
    ),
  ],
  softplus: [
    {
      variant: 'also far from 0',
      ...unary(
        (graph, x) => graph.softplus(x),
        (x) => (x > 30 ? x : Math.log1p(Math.exp(x))),
        [-60, -1, 0, 60],
      ),
    },
  ],
  gaussianGate: [
    {
      variant: 'z·(½ + ½·erf z)',
      feeds: { z: floats([1, 4], zs) },
      build: (graph, inputs) => graph.gaussianGate(first(inputs)),
      expected: floats(
        [1, 4],
        zs.map((z, at) => z * (gates[at] ?? 0)),
      ),
    },
    {
      variant: 'its gate ½ + ½·erf z',
      feeds: { z: floats([1, 4], zs) },
      build: (graph, inputs) => furtherOutput(graph.gaussianGate(first(inputs)), 1),
      expected: floats([1, 4], gates),
    },
  ],
  gelu: [
    {
      feeds: { x: floats([1, 6], [-6, -3, -1, 0, 1, 2]) },
      build: (graph, inputs) => graph.gelu(first(inputs)),
      // x·Φ(x), with Φ from tables of the normal distribution.
      expected: floats(
        [1, 6],
        [-6 * 9.8658765e-10, -3 * 0.0013498980316, -0.158655253931, 0, 0.841344746069, 2 * 0.977249868052],
      ),
    },
  ],
  geluTanh: [
    unary(
      (graph, x) => graph.geluTanh(x),
      (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
    ),
  ],
  greater: binary(
    (graph, a, b) => graph.greater(a, b),
    (a, b) => Number(a > b),
  ),
  equal: [
    ...binary(
      (graph, a, b) => graph.equal(a, b),
      (a, b) => Number(a === b),
    ),
    {
      variant: 'of whole numbers, broadcasting a column and a row',
      feeds: { a: ints([2, 1], [3, -7]), b: ints([1, 3], [-7, 3, 3]) },
      build: (graph, [a, b]) => graph.equal(given(a), given(b)),
      expected: floats([2, 3], [0, 1, 1, 1, 0, 0]),
    },
  ],
} satisfies Partial<OperationCases>;
