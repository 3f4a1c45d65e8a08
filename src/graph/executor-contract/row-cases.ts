import type { Graph } from '../graph.js';
import type { Tensor } from '../tensor.js';
import {
  counting,
  first,
  floats,
  furtherOutput,
  given,
  type OperationCase,
  type OperationCases,
} from './operation-case.js';

const rows: readonly (readonly number[])[] = [
  [-2, -0.5, 0],
  [0.25, 1, 3],
];
const x = floats([2, 3], rows.flat());

function softmaxRow(row: readonly number[]): number[] {
  const sum = row.reduce((total, each) => total + Math.exp(each), 0);
  return row.map((each) => Math.exp(each) / sum);
}

const EPSILON = 1e-5;
const gamma = [1, 2, 3];
const beta = [0, 0.5, -1];

const meanOf = (row: readonly number[]): number => row.reduce((sum, each) => sum + each, 0) / row.length;

/** 1/√(variance + ε). */
function inverseDeviationOf(row: readonly number[]): number {
  const mean = meanOf(row);
  return 1 / Math.sqrt(meanOf(row.map((each) => (each - mean) ** 2)) + EPSILON);
}

const normalized = rows.flatMap((row) =>
  row.map((each, at) => {
    const standard = (each - meanOf(row)) * inverseDeviationOf(row);
    return standard * (gamma[at] ?? 0) + (beta[at] ?? 0);
  }),
);

function layerNorm(
  variant: string,
  pick: (y: Tensor) => Tensor,
  expected: OperationCase['expected'],
): OperationCase {
  return {
    variant,
    feeds: { x, gamma: floats([3], gamma), beta: floats([3], beta) },
    build: (graph: Graph, [x, gamma, beta]) =>
      pick(graph.layerNorm(given(x), given(gamma), given(beta), EPSILON)),
    expected,
  };
}

/** Operations that work on whole rows, and sums. */
export const rowCases = {
  softmax: [
    {
      feeds: { x },
      build: (graph, inputs) => graph.softmax(first(inputs)),
      expected: floats([2, 3], rows.flatMap(softmaxRow)),
    },
  ],
  logSoftmax: [
    {
      variant: 'also of huge numbers',
      feeds: { x: floats([2, 2], [1, 2, 1000, 1000]) },
      build: (graph, inputs) => graph.logSoftmax(first(inputs)),
      expected: floats([2, 2], [...softmaxRow([1, 2]).map(Math.log), -Math.LN2, -Math.LN2]),
    },
  ],
  layerNorm: [
    layerNorm('its rows', (y) => y, floats([2, 3], normalized)),
    layerNorm('its means', (y) => furtherOutput(y, 1), floats([2, 1], rows.map(meanOf))),
    layerNorm(
      'its inverse deviations',
      (y) => furtherOutput(y, 2),
      floats([2, 1], rows.map(inverseDeviationOf)),
    ),
  ],
  reduceSum: [
    {
      variant: 'over some axes',
      feeds: { x: floats([2, 3, 2], counting(12)) },
      build: (graph, inputs) => graph.reduceSum(first(inputs), [0, -1]),
      expected: floats([3], [18, 26, 34]),
    },
    {
      variant: 'keeping dimensions',
      feeds: { x: floats([2, 3], counting(6)) },
      build: (graph, inputs) => graph.reduceSum(first(inputs), [1], true),
      expected: floats([2, 1], [6, 15]),
    },
  ],
  columnSum: [
    {
      feeds: { x: floats([3, 2], counting(6)) },
      build: (graph, inputs) => graph.columnSum(first(inputs)),
      expected: floats([2], [9, 12]),
    },
  ],
} satisfies Partial<OperationCases>;
