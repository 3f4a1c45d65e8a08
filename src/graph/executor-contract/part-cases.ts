import {
  counting,
  first,
  floats,
  given,
  ints,
  longs,
  type OperationCase,
  type OperationCases,
} from './operation-case.js';

/** Two matrices of 3 rows, for the operations between distances and positions; n = 3. */
const N = 3;
const upTo = (count: number): number[] => [...Array(count).keys()];
const byDistance = counting(2 * N * 2 * N);
/** By the definition: y[m, i, j] = x[m, i, n + j − i]. */
const byPosition = upTo(2).flatMap((m) =>
  upTo(N).flatMap((i) => upTo(N).map((j) => byDistance[(m * N + i) * 2 * N + N + j - i] ?? 0)),
);
/** By the definition of the transpose: y[m, i, n + j − i] = x[m, i, j]. */
const spread = upTo(2).flatMap((m) =>
  upTo(N).flatMap((i) =>
    upTo(2 * N).map((c) => {
      const j = c - N + i;
      return j >= 0 && j < N ? (byPosition[(m * N + i) * N + j] ?? 0) : 0;
    }),
  ),
);

function sliceOf(variant: string, axis: number, expected: OperationCase['expected']): OperationCase {
  return {
    variant,
    feeds: { x: floats([2, 3, 2], counting(12)) },
    build: (graph, inputs) => graph.slice(first(inputs), axis, 1, axis === 1 ? 3 : 2),
    expected,
  };
}

/** Operations that cut tensors, join them, and go from distances to positions. */
export const partCases = {
  slice: [
    sliceOf('along the first axis', 0, floats([1, 3, 2], [7, 8, 9, 10, 11, 12])),
    sliceOf('along a middle axis', 1, floats([2, 2, 2], [3, 4, 5, 6, 9, 10, 11, 12])),
    sliceOf('along the last axis', 2, floats([2, 3, 1], [2, 4, 6, 8, 10, 12])),
  ],
  concat: [
    {
      variant: 'of three along the last axis',
      feeds: { a: floats([2, 1], [1, 2]), b: floats([2, 2], [3, 4, 5, 6]), c: floats([2, 1], [7, 8]) },
      build: (graph, [a, b, c]) => graph.concat([given(a), given(b), given(c)], 1),
      expected: floats([2, 4], [1, 3, 4, 7, 2, 5, 6, 8]),
    },
    {
      variant: 'of two along the first axis',
      feeds: { a: floats([1, 2], [1, 2]), b: floats([2, 2], [3, 4, 5, 6]) },
      build: (graph, [a, b]) => graph.concat([given(a), given(b)], 0),
      expected: floats([3, 2], counting(6)),
    },
  ],
  relativeToAbsolute: [
    {
      feeds: { x: floats([2, N, 2 * N], byDistance) },
      build: (graph, inputs) => graph.relativeToAbsolute(first(inputs)),
      expected: floats([2, N, N], byPosition),
    },
    {
      variant: 'of a single position',
      feeds: { x: floats([2, 1, 1, 2], [1, 2, 3, 4]) },
      build: (graph, inputs) => graph.relativeToAbsolute(first(inputs)),
      expected: floats([2, 1, 1, 1], [2, 4]),
    },
  ],
  absoluteToRelative: [
    {
      feeds: { x: floats([2, N, N], byPosition) },
      build: (graph, inputs) => graph.absoluteToRelative(first(inputs)),
      expected: floats([2, N, 2 * N], spread),
    },
    {
      variant: 'of a single position',
      feeds: { x: floats([2, 1, 1, 1], [2, 4]) },
      build: (graph, inputs) => graph.absoluteToRelative(first(inputs)),
      expected: floats([2, 1, 1, 2], [0, 2, 0, 4]),
    },
  ],
  rowDistances: [
    {
      feeds: { x: ints([3, 1], [9, 9, 9]) },
      build: (graph, inputs) => graph.rowDistances(first(inputs)),
      expected: longs([6], [-3, -2, -1, 0, 1, 2]),
    },
  ],
} satisfies Partial<OperationCases>;
