import type { TensorData } from '../executor.js';
import { floats, given, type OperationCase, type OperationCases } from './operation-case.js';

/** All sizes differ, so that mixed-up axes are noticed. */
const [BATCH, M, K, N] = [2, 3, 4, 5];

type Element = (batch: number, row: number, column: number) => number;

const left: Element = (batch, row, column) => batch + 2 * row - column;
const right: Element = (batch, row, column) => 1 + row * column - 3 * batch;
const product: Element = (batch, row, column) => {
  let sum = 0;
  for (let k = 0; k < K; k += 1) sum += left(batch, row, k) * right(batch, k, column);
  return sum;
};

const upTo = (count: number): number[] => [...Array(count).keys()];

function filled(x: number, y: number, z: number, valueAt: Element): TensorData {
  return floats(
    [x, y, z],
    upTo(x).flatMap((i) => upTo(y).flatMap((j) => upTo(z).map((k) => valueAt(i, j, k)))),
  );
}

interface Layout {
  readonly transpose: boolean;
  readonly rowsFirst: boolean;
}

/** A batch of matrices [BATCH, rows, columns] in a layout that an operand may be stored in. */
function stored(
  rows: number,
  columns: number,
  valueAt: Element,
  { transpose, rowsFirst }: Layout,
): TensorData {
  if (transpose && rowsFirst) return filled(columns, BATCH, rows, (k, b, m) => valueAt(b, m, k));
  if (transpose) return filled(BATCH, columns, rows, (b, k, m) => valueAt(b, m, k));
  if (rowsFirst) return filled(rows, BATCH, columns, (m, b, k) => valueAt(b, m, k));
  return filled(BATCH, rows, columns, valueAt);
}

const plain: Layout = { transpose: false, rowsFirst: false };
const layouts: readonly Layout[] = [
  plain,
  { transpose: true, rowsFirst: false },
  { transpose: false, rowsFirst: true },
  { transpose: true, rowsFirst: true },
];

function described({ transpose, rowsFirst }: Layout): string {
  const words = [...(rowsFirst ? ['rows first'] : []), ...(transpose ? ['transposed'] : [])];
  return words.length === 0 ? 'plain' : words.join(' and ');
}

function batchMatMulOf(a: Layout, b: Layout): OperationCase {
  const attributes = {
    transposeA: a.transpose,
    rowsFirstA: a.rowsFirst,
    transposeB: b.transpose,
    rowsFirstB: b.rowsFirst,
  };
  return {
    variant: `a ${described(a)}, b ${described(b)}`,
    feeds: { a: stored(M, K, left, a), b: stored(K, N, right, b) },
    build: (graph, [a, b]) => graph.batchMatMul(given(a), given(b), attributes),
    expected: filled(BATCH, M, N, product),
  };
}

/** 2 × 3 times 3 × 2, by hand. */
const A = [1, 2, 3, 4, 5, 6];
const B = [1, -1, 2, 0, 0.5, 3];
const AB = [6.5, 8, 17, 14];
const A_TRANSPOSED = [1, 4, 2, 5, 3, 6];
const B_TRANSPOSED = [1, 2, 0.5, -1, 0, 3];

function gemmOf(transposeA: boolean, transposeB: boolean): OperationCase {
  const a = transposeA ? floats([3, 2], A_TRANSPOSED) : floats([2, 3], A);
  const b = transposeB ? floats([2, 3], B_TRANSPOSED) : floats([3, 2], B);
  return {
    variant: `a ${transposeA ? 'transposed' : 'plain'}, b ${transposeB ? 'transposed' : 'plain'}`,
    feeds: { a, b },
    build: (graph, [a, b]) => graph.gemm(given(a), given(b), { transposeA, transposeB }),
    expected: floats([2, 2], AB),
  };
}

/** 2·A·B − c, where c has the values given for each element of A·B. */
function gemmWithAddend(variant: string, c: TensorData, cOf: (index: number) => number): OperationCase {
  return {
    variant,
    feeds: { a: floats([2, 3], A), b: floats([3, 2], B), c },
    build: (graph, [a, b, c]) => graph.gemm(given(a), given(b), { alpha: 2, beta: -1 }, given(c)),
    expected: floats(
      [2, 2],
      AB.map((each, index) => 2 * each - cOf(index)),
    ),
  };
}

export const matrixCases = {
  gemm: [
    gemmOf(false, false),
    gemmOf(false, true),
    gemmOf(true, false),
    gemmOf(true, true),
    gemmWithAddend('factors and a row added', floats([2], [1, 10]), (index) => (index % 2 === 0 ? 1 : 10)),
    gemmWithAddend('factors and a matrix added', floats([2, 2], [0, 1, 2, 3]), (index) => index),
    {
      variant: 'a single row',
      feeds: { a: floats([1, 2], [3, 4]), b: floats([2, 1], [5, 6]) },
      build: (graph, [a, b]) => graph.gemm(given(a), given(b)),
      expected: floats([1, 1], [39]),
    },
  ],
  batchMatMul: [
    {
      variant: 'scaled',
      feeds: { a: stored(M, K, left, plain), b: stored(K, N, right, plain) },
      build: (graph, [a, b]) => graph.batchMatMul(given(a), given(b), { alpha: 2 }),
      expected: filled(BATCH, M, N, (...at) => 2 * product(...at)),
    },
    ...layouts.flatMap((a) => layouts.map((b) => batchMatMulOf(a, b))),
  ],
} satisfies Partial<OperationCases>;
