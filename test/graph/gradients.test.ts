import { describe, expect, it } from 'vitest';
import {
  addGradients,
  Graph,
  type GraphExecutor,
  onnxExecutor,
  type Shape,
  ShapeError,
  type Tensor,
  type TensorData,
} from '../../src/graph/index.js';
import { gradientError, someNumbers } from '../support/finite-differences.js';
import { describeWebGpu } from '../support/software-vulkan.js';

type Dims = readonly number[];
const volume = (dims: Dims) => dims.reduce((product, dimension) => product * dimension, 1);

/** Turns a tensor into a scalar that weighs every element differently, so that no gradient cancels out. */
function weigh(graph: Graph, y: Tensor, dims: Dims): Tensor {
  const weights = graph.constant([...someNumbers(volume(dims), 1, 77)], dims);
  return graph.reduceSum(
    graph.multiply(y, weights),
    dims.map((_, axis) => axis),
  );
}

interface Case {
  readonly inputs: readonly Dims[];
  readonly output: Dims;
  readonly apply: (graph: Graph, tensors: readonly Tensor[]) => Tensor;
  readonly offset?: number;
}

const one =
  (apply: (graph: Graph, x: Tensor) => Tensor) =>
  (graph: Graph, [x]: readonly Tensor[]): Tensor =>
    apply(graph, x ?? graph.constant([0], []));
const two =
  (apply: (graph: Graph, a: Tensor, b: Tensor) => Tensor) =>
  (graph: Graph, [a, b]: readonly Tensor[]): Tensor =>
    apply(graph, a ?? graph.constant([0], []), b ?? graph.constant([0], []));

const cases: Readonly<Record<string, Case>> = {
  add: {
    inputs: [
      [3, 4],
      [3, 4],
    ],
    output: [3, 4],
    apply: two((g, a, b) => g.add(a, b)),
  },
  'add, broadcasting a row': { inputs: [[3, 4], [4]], output: [3, 4], apply: two((g, a, b) => g.add(a, b)) },
  'add, broadcasting a middle axis': {
    inputs: [
      [2, 3, 4],
      [2, 1, 4],
    ],
    output: [2, 3, 4],
    apply: two((g, a, b) => g.add(a, b)),
  },
  subtract: {
    inputs: [
      [3, 4],
      [3, 1],
    ],
    output: [3, 4],
    apply: two((g, a, b) => g.subtract(a, b)),
  },
  multiply: { inputs: [[3, 4], [4]], output: [3, 4], apply: two((g, a, b) => g.multiply(a, b)) },
  'multiply by itself': { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.multiply(x, x)) },
  divide: {
    inputs: [
      [3, 4],
      [3, 4],
    ],
    output: [3, 4],
    apply: two((g, a, b) => g.divide(a, b)),
    offset: 2,
  },
  scale: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.scale(x, -1.7)) },
  exp: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.exp(x)) },
  sqrt: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.sqrt(g.exp(x))) },
  tanh: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.tanh(x)) },
  sigmoid: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.sigmoid(x)) },
  softplus: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.softplus(x)) },
  gaussianGate: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.gaussianGate(g.scale(x, 2))) },
  gelu: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.gelu(g.scale(x, 2))) },
  geluTanh: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.geluTanh(g.scale(x, 2))) },
  'greater, which has none, beside an operand that has one': {
    inputs: [[3, 4]],
    output: [3, 4],
    apply: one((g, x) => g.multiply(x, g.greater(g.constant([...someNumbers(12, 1, 9)], [3, 4]), g.constant([0], [])))),
  },
  placeRows: {
    inputs: [[2, 3]],
    output: [5, 3],
    apply: one((g, x) => g.placeRows(g.multiply(x, x), g.constant([4, 1], [2], 'int32'), 5)),
  },
  softmax: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.softmax(g.scale(x, 3))) },
  logSoftmax: { inputs: [[3, 4]], output: [3, 4], apply: one((g, x) => g.logSoftmax(g.scale(x, 3))) },
  'reduceSum over an inner axis': {
    inputs: [[2, 3, 4]],
    output: [2, 4],
    apply: one((g, x) => g.reduceSum(g.multiply(x, x), [1])),
  },
  columnSum: { inputs: [[5, 4]], output: [4], apply: one((g, x) => g.columnSum(g.multiply(x, x))) },
  expand: { inputs: [[1, 4]], output: [3, 4], apply: one((g, x) => g.expand(g.multiply(x, x), [3, 4])) },
  reshape: { inputs: [[3, 4]], output: [2, 6], apply: one((g, x) => g.reshape(g.multiply(x, x), [2, 6])) },
  transpose: {
    inputs: [[2, 3, 4]],
    output: [4, 2, 3],
    apply: one((g, x) => g.transpose(g.multiply(x, x), [2, 0, 1])),
  },
  'slice, with nothing read beside it': {
    inputs: [[3, 7]],
    output: [3, 2],
    apply: one((g, x) => g.slice(g.multiply(x, x), 1, 2, 4)),
  },
  'slice of parts that fill the axis, of one that overlaps them, and of another axis': {
    inputs: [[3, 6]],
    output: [3, 6],
    apply: one((g, x) => {
      const squares = g.multiply(x, x);
      const parts = [0, 3].map((from) => g.slice(squares, 1, from, from + 3));
      const [left = x, right = x] = parts;
      const swapped = g.concat([g.tanh(right), g.scale(left, 2)], 1);
      const overlap = g.multiply(swapped, g.slice(squares, 1, 2, 3));
      return g.add(overlap, g.multiply(g.slice(squares, 0, 1, 2), squares));
    }),
  },
  'slice of a parameter that is also used whole': {
    inputs: [[3, 4]],
    output: [3, 4],
    apply: one((g, x) => g.multiply(x, g.slice(x, 1, 1, 2))),
  },
  concat: {
    inputs: [
      [2, 3],
      [4, 3],
    ],
    output: [6, 3],
    apply: two((g, a, b) => g.concat([g.multiply(a, a), b], 0)),
  },
  relativeToAbsolute: {
    inputs: [[2, 3, 6]],
    output: [2, 3, 3],
    apply: one((g, x) => g.relativeToAbsolute(g.multiply(x, x))),
  },
  absoluteToRelative: {
    inputs: [[2, 3, 3]],
    output: [2, 3, 6],
    apply: one((g, x) => g.absoluteToRelative(g.multiply(x, x))),
  },
  layerNorm: {
    inputs: [[5, 8], [8], [8]],
    output: [5, 8],
    apply: (g, [x, gamma, beta]) => {
      if (x === undefined || gamma === undefined || beta === undefined) throw new Error('three inputs');
      return g.layerNorm(x, gamma, beta, 1e-12);
    },
  },
};

const gemmCases: [string, Case][] = [false, true].flatMap((transposeA) =>
  [false, true].map((transposeB): [string, Case] => [
    `gemm of ${transposeA ? 'aᵀ' : 'a'} and ${transposeB ? 'bᵀ' : 'b'} plus a row`,
    {
      inputs: [transposeA ? [4, 3] : [3, 4], transposeB ? [5, 4] : [4, 5], [5]],
      output: [3, 5],
      apply: (g, [a, b, c]) => {
        if (a === undefined || b === undefined) throw new Error('three inputs');
        return g.gemm(a, b, { transposeA, transposeB, alpha: 0.7, beta: 1.3 }, c);
      },
    },
  ]),
);

const flags = [false, true];
const batchCases: [string, Case][] = flags.flatMap((transposeA) =>
  flags.flatMap((transposeB) =>
    flags.flatMap((rowsFirstA) =>
      flags.map((rowsFirstB): [string, Case] => {
        const [m, k, n] = [3, 4, 5];
        const left = transposeA ? [k, m] : [m, k];
        const right = transposeB ? [n, k] : [k, n];
        const stored = ([rows = 0, columns = 0]: Dims, rowsFirst: boolean) =>
          rowsFirst ? [rows, 2, 2, columns] : [2, 2, rows, columns];
        return [
          `batchMatMul, transposes ${transposeA} ${transposeB}, rows first ${rowsFirstA} ${rowsFirstB}`,
          {
            inputs: [stored(left, rowsFirstA), stored(right, rowsFirstB)],
            output: [2, 2, m, n],
            apply: two((g, a, b) =>
              g.batchMatMul(a, b, { transposeA, transposeB, rowsFirstA, rowsFirstB, alpha: 0.6 }),
            ),
          },
        ];
      }),
    ),
  ),
);

const STEP = 0.02;

/** @param perParameter entries of each parameter that are tried. */
function gradientTests(executor: GraphExecutor, perParameter: number): void {
  it.each([...Object.entries(cases), ...gemmCases, ...batchCases])(
    '%s',
    async (_, { inputs, output, apply, offset = 0 }) => {
      const parameters = new Map(
        inputs.map((dims, index) => {
          const values = someNumbers(volume(dims), 1, index + 3).map((value) => value + offset);
          return [`p${index}`, { dims, values }];
        }),
      );
      const loss = (graph: Graph) => {
        const tensors = [...parameters].map(([name, { dims }]) => graph.parameter(name, dims));
        return weigh(graph, apply(graph, tensors), output);
      };
      expect(await gradientError({ parameters, loss, executor }, STEP, perParameter)).toBeLessThan(1e-3);
    },
  );

  it('gather, with a row read twice and a table that also has a dense gradient', async () => {
    const parameters = new Map([['table', { dims: [5, 3], values: someNumbers(15) }]]);
    const feeds: Record<string, TensorData> = {
      ids: { type: 'int32', dims: [4], data: Int32Array.of(1, 4, 1, 0) },
    };
    const loss = (graph: Graph) => {
      const table = graph.parameter('table', [5, 3]);
      const rows = graph.gather(table, graph.input('ids', 'int32', ['n']));
      const squares = graph.reduceSum(graph.multiply(rows, rows), [0, 1]);
      return graph.add(squares, weigh(graph, graph.multiply(table, table), [5, 3]));
    };
    expect(await gradientError({ parameters, feeds, loss, executor }, STEP, perParameter)).toBeLessThan(1e-3);
  });
}

describe('the gradient rule of each operation agrees with finite differences', () => {
  gradientTests(onnxExecutor(), 40);
});

// In software, a run takes a hundred times as long.
describeWebGpu('the gradient rules agree with finite differences on WebGPU', () => {
  gradientTests(onnxExecutor({ provider: 'webgpu' }), 4);
});

it('refuses the gradient of firstRows, and names what has one', () => {
  const graph = new Graph();
  const rows = graph.firstRows(graph.parameter('table', [5, 3]), graph.constant([0, 0], [2]));
  expect(() => addGradients(graph, weigh(graph, rows, [2, 3]))).toThrow(/gather/);
});

describe('building a graph', () => {
  it.each<[string, (graph: Graph, x: Tensor) => Tensor, RegExp]>([
    ['a reshape that does not fill', (g, x) => g.reshape(x, [5]), /does not fill/],
    ['a Gemm of unequal inner dimensions', (g, x) => g.gemm(x, x), /inner dimensions 4 and 3/],
    ['a sum of shapes that do not broadcast', (g, x) => g.add(x, g.constant([1, 2], [2])), /do not broadcast/],
    ['a slice past the end', (g, x) => g.slice(x, 1, 2, 5), /\[3, 4\] has no 2 to 5 along axis 1/],
    ['a concatenation of unequal rows', (g, x) => g.concat([x, g.constant([1, 2], [1, 2])], 0), /do not fit/],
    ['distances that are not twice the positions', (g, x) => g.relativeToAbsolute(x), /\[3, 4\]/],
  ])('refuses %s, naming the shapes', (_, apply, message) => {
    const graph = new Graph();
    const x = graph.parameter('x', [3, 4] satisfies Shape);
    expect(() => apply(graph, x)).toThrow(ShapeError);
    expect(() => apply(graph, x)).toThrow(message);
  });
});
