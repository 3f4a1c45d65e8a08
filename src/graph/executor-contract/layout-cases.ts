import type { TensorData } from '../executor.js';
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

function castOf(variant: string, x: TensorData, expected: TensorData): OperationCase {
  return {
    variant,
    feeds: { x },
    build: (graph, inputs) => graph.cast(first(inputs), expected.type),
    expected,
  };
}

const fractions = floats([4], [-1.5, -1, 0, 2.75]);

/** Operations that move, repeat or convert numbers. */
export const layoutCases = {
  gather: [
    {
      variant: 'a row more than once',
      feeds: { table: floats([3, 2], counting(6)), ids: ints([2, 2], [2, 0, 2, 1]) },
      build: (graph, [table, ids]) => graph.gather(given(table), given(ids)),
      expected: floats([2, 2, 2], [5, 6, 1, 2, 5, 6, 3, 4]),
    },
    {
      variant: '64-bit ids',
      feeds: { table: floats([3, 2], counting(6)), ids: longs([2], [1, 2]) },
      build: (graph, [table, ids]) => graph.gather(given(table), given(ids)),
      expected: floats([2, 2], [3, 4, 5, 6]),
    },
  ],
  placeRows: [
    {
      feeds: { rows: floats([2, 2], counting(4)), ids: ints([2], [3, 0]) },
      build: (graph, [rows, ids]) => graph.placeRows(given(rows), given(ids), 4),
      expected: floats([4, 2], [3, 4, 0, 0, 0, 0, 1, 2]),
    },
  ],
  firstRows: [
    {
      feeds: { table: floats([4, 2], counting(8)), x: ints([3, 1], [9, 9, 9]) },
      build: (graph, [table, x]) => graph.firstRows(given(table), given(x)),
      expected: floats([3, 2], counting(6)),
    },
    {
      variant: 'from a later row',
      feeds: { table: floats([5, 2], counting(10)), x: ints([2, 1], [9, 9]) },
      build: (graph, [table, x]) => graph.firstRows(given(table), given(x), 2),
      expected: floats([2, 2], [5, 6, 7, 8]),
    },
  ],
  expand: [
    {
      feeds: { x: floats([2, 1], [1, 2]) },
      build: (graph, inputs) => graph.expand(first(inputs), [2, 2, 3]),
      expected: floats([2, 2, 3], [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]),
    },
  ],
  reshape: [
    {
      feeds: { x: floats([2, 3], counting(6)) },
      build: (graph, inputs) => graph.reshape(first(inputs), [3, 2]),
      expected: floats([3, 2], counting(6)),
    },
  ],
  transpose: [
    {
      feeds: { x: floats([2, 1, 3], counting(6)) },
      build: (graph, inputs) => graph.transpose(first(inputs), [2, 0, 1]),
      expected: floats([3, 2, 1], [1, 4, 2, 5, 3, 6]),
    },
  ],
  rowNumbers: [
    {
      feeds: { x: floats([3, 1], [9, 9, 9]) },
      build: (graph, inputs) => graph.rowNumbers(first(inputs)),
      expected: longs([3], [0, 1, 2]),
    },
  ],
  cast: [
    castOf('int32 to float32', ints([3], [-1, 0, 7]), floats([3], [-1, 0, 7])),
    castOf('int64 to float32', longs([3], [-1, 0, 7]), floats([3], [-1, 0, 7])),
    castOf('float32 to int32, towards 0', fractions, ints([4], [-1, -1, 0, 2])),
    castOf('float32 to int64, towards 0', fractions, longs([4], [-1, -1, 0, 2])),
    castOf('int32 to int64', ints([3], [-1, 0, 7]), longs([3], [-1, 0, 7])),
    castOf('int64 to int32', longs([3], [-1, 0, 7]), ints([3], [-1, 0, 7])),
  ],
} satisfies Partial<OperationCases>;
