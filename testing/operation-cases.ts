import { type Graph, type OperationName, outputAt, type Tensor, type TensorData } from '../src/graph/index.js';

/**
 * Every operation on a few numbers, with results worked out by hand or by plain loops over the definition.
 */

/** One operation on a few numbers, and what it must give. */
export interface OperationCase {
  /** What distinguishes this case from the operation's others. */
  readonly variant: string | undefined;
  /** The graph's inputs, in the order in which `build` takes them. */
  readonly feeds: Readonly<Record<string, TensorData>>;
  readonly build: (graph: Graph, inputs: readonly Tensor[]) => Tensor;
  readonly expected: TensorData;
}

/** At least one case of every operation. */
type OperationCases = {
  readonly [Name in OperationName]: readonly [OperationCase, ...OperationCase[]];
};

type Feeds = OperationCase['feeds'];
type Build = (graph: Graph, a: Tensor, b: Tensor, c: Tensor) => Tensor;

/** In the place of an input that a case doesn't have. */
const NONE: Tensor = { name: 'none', type: 'float32', shape: [], source: { kind: 'input' } };

/** @param build gets one input for each feed. */
function given(feeds: Feeds, build: Build, expected: TensorData, variant?: string): OperationCase {
  return {
    variant,
    feeds,
    build: (graph, [a = NONE, b = NONE, c = NONE]) => build(graph, a, b, c),
    expected,
  };
}

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
const longs = (dims: Dims, values: readonly number[]): TensorData => ({
  type: 'int64',
  dims,
  data: BigInt64Array.from(values, BigInt),
});

/** 0, 1, … count − 1. */
const upTo = (count: number): number[] => [...Array(count).keys()];
/** 1, 2, … count. */
const counting = (count: number): number[] => upTo(count).map((index) => index + 1);

/** Another output of the node whose first output this tensor is. */
function furtherOutput({ name, source }: Tensor, position: number): Tensor {
  if (source.kind !== 'node') throw new RangeError(`${name} is not the output of a node`);
  return outputAt(source.node.outputs, position);
}

const xs = [-2, -0.5, 0, 0.25, 1, 3];

function unary(build: Build, compute: (x: number) => number, values = xs): readonly [OperationCase] {
  const dims = [2, values.length / 2];
  return [given({ x: floats(dims, values) }, build, floats(dims, values.map(compute)))];
}

function binary(build: Build, compute: (a: number, b: number) => number): readonly [OperationCase, OperationCase] {
  const [row, column] = [
    [2, -4, 0.5],
    [3, -1],
  ];
  const byRow = xs.map((x, index) => compute(x, row[index % 3] ?? 0));
  const outer = column.flatMap((a) => row.map((b) => compute(a, b)));
  const [byRows, both] = [
    { a: floats([2, 3], xs), b: floats([3], row) },
    { a: floats([2, 1], column), b: floats([1, 3], row) },
  ];
  return [
    given(byRows, build, floats([2, 3], byRow), 'broadcasting a row'),
    given(both, build, floats([2, 3], outer), 'broadcasting a column and a row'),
  ];
}

// erf(½) = 0.5204998778, erf(1) = 0.8427007929 (Abramowitz & Stegun, table 7.1).
const zs = [0, 0.5, 1, -1];
const gates = [0.5, 0.7602499389, 0.92135039645, 0.07864960355];
/** x·Φ(x), with Φ from tables of the normal distribution. */
const geluXs = [-6, -3, -1, 0, 1, 2];
const geluYs = [-6 * 9.8658765e-10, -3 * 0.0013498980316, -0.158655253931, 0, 0.841344746069, 2 * 0.977249868052];

const elementwiseCases = {
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
  scale: unary(
    (graph, x) => graph.scale(x, -3),
    (x) => -3 * x,
  ),
  exp: unary((graph, x) => graph.exp(x), Math.exp),
  sqrt: unary((graph, x) => graph.sqrt(graph.multiply(x, x)), Math.abs),
  tanh: unary((graph, x) => graph.tanh(x), Math.tanh),
  sigmoid: unary(
    (graph, x) => graph.sigmoid(x),
    (x) => 1 / (1 + Math.exp(-x)),
  ),
  softplus: unary(
    (graph, x) => graph.softplus(x),
    (x) => (x > 30 ? x : Math.log1p(Math.exp(x))),
    [-60, -1, 0, 60],
  ),
  gaussianGate: [
    given(
      { z: floats([1, 4], zs) },
      (graph, z) => graph.gaussianGate(z),
      floats(
        [1, 4],
        zs.map((z, at) => z * (gates[at] ?? 0)),
      ),
      'z·(½ + ½·erf z)',
    ),
    given(
      { z: floats([1, 4], zs) },
      (graph, z) => furtherOutput(graph.gaussianGate(z), 1),
      floats([1, 4], gates),
      'its gate ½ + ½·erf z',
    ),
  ],
  gelu: [given({ x: floats([1, 6], geluXs) }, (graph, x) => graph.gelu(x), floats([1, 6], geluYs))],
  geluTanh: unary(
    (graph, x) => graph.geluTanh(x),
    (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  ),
  greater: binary(
    (graph, a, b) => graph.greater(a, b),
    (a, b) => Number(a > b),
  ),
  equal: [
    ...binary(
      (graph, a, b) => graph.equal(a, b),
      (a, b) => Number(a === b),
    ),
    given(
      { a: ints([2, 1], [3, -7]), b: ints([1, 3], [-7, 3, 3]) },
      (graph, a, b) => graph.equal(a, b),
      floats([2, 3], [0, 1, 1, 1, 0, 0]),
      'of whole numbers, broadcasting a column and a row',
    ),
  ],
} satisfies Partial<OperationCases>;

/** All sizes differ, so that mixed-up axes are noticed. */
const [BATCH, M, K, N] = [2, 3, 4, 5];

type Element = (batch: number, row: number, column: number) => number;

const left: Element = (batch, row, column) => batch + 2 * row - column;
const right: Element = (batch, row, column) => 1 + row * column - 3 * batch;
const product: Element = (batch, row, column) =>
  upTo(K).reduce((sum, k) => sum + left(batch, row, k) * right(batch, k, column), 0);

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
function stored(rows: number, columns: number, valueAt: Element, { transpose, rowsFirst }: Layout): TensorData {
  if (transpose && rowsFirst) return filled(columns, BATCH, rows, (k, b, m) => valueAt(b, m, k));
  if (transpose) return filled(BATCH, columns, rows, (b, k, m) => valueAt(b, m, k));
  if (rowsFirst) return filled(rows, BATCH, columns, (m, b, k) => valueAt(b, m, k));
  return filled(BATCH, rows, columns, valueAt);
}

const plain: Layout = { transpose: false, rowsFirst: false };
const layouts = [false, true].flatMap((rowsFirst) =>
  [false, true].map((transpose): Layout => ({ transpose, rowsFirst })),
);

const described = ({ transpose, rowsFirst }: Layout): string =>
  [rowsFirst ? 'rows first' : 'plain', ...(transpose ? ['transposed'] : [])].join(' and ');

function batchMatMulOf(a: Layout, b: Layout): OperationCase {
  const attributes = {
    transposeA: a.transpose,
    rowsFirstA: a.rowsFirst,
    transposeB: b.transpose,
    rowsFirstB: b.rowsFirst,
  };
  return given(
    { a: stored(M, K, left, a), b: stored(K, N, right, b) },
    (graph, a, b) => graph.batchMatMul(a, b, attributes),
    filled(BATCH, M, N, product),
    `a ${described(a)}, b ${described(b)}`,
  );
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
  return given(
    { a, b },
    (graph, a, b) => graph.gemm(a, b, { transposeA, transposeB }),
    floats([2, 2], AB),
    `a ${transposeA ? 'transposed' : 'plain'}, b ${transposeB ? 'transposed' : 'plain'}`,
  );
}

/** 2·A·B − c, where c has the values given for each element of A·B. */
function gemmWithAddend(variant: string, c: TensorData, cOf: (index: number) => number): OperationCase {
  return given(
    { a: floats([2, 3], A), b: floats([3, 2], B), c },
    (graph, a, b, c) => graph.gemm(a, b, { alpha: 2, beta: -1 }, c),
    floats(
      [2, 2],
      AB.map((each, index) => 2 * each - cOf(index)),
    ),
    variant,
  );
}

const matrixCases = {
  gemm: [
    gemmOf(false, false),
    gemmOf(false, true),
    gemmOf(true, false),
    gemmOf(true, true),
    gemmWithAddend('factors and a row added', floats([2], [1, 10]), (index) => (index % 2 === 0 ? 1 : 10)),
    gemmWithAddend('factors and a matrix added', floats([2, 2], [0, 1, 2, 3]), (index) => index),
    given(
      { a: floats([1, 2], [3, 4]), b: floats([2, 1], [5, 6]) },
      (graph, a, b) => graph.gemm(a, b),
      floats([1, 1], [39]),
      'a single row',
    ),
  ],
  batchMatMul: [
    given(
      { a: stored(M, K, left, plain), b: stored(K, N, right, plain) },
      (graph, a, b) => graph.batchMatMul(a, b, { alpha: 2 }),
      filled(BATCH, M, N, (...at) => 2 * product(...at)),
      'scaled',
    ),
    ...layouts.flatMap((a) => layouts.map((b) => batchMatMulOf(a, b))),
  ],
} satisfies Partial<OperationCases>;

const rows: readonly (readonly number[])[] = [
  [-2, -0.5, 0],
  [0.25, 1, 3],
];
const matrix = floats([2, 3], rows.flat());

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

function layerNorm(variant: string, pick: (y: Tensor) => Tensor, expected: TensorData): OperationCase {
  return given(
    { x: matrix, gamma: floats([3], gamma), beta: floats([3], beta) },
    (graph, x, gamma, beta) => pick(graph.layerNorm(x, gamma, beta, EPSILON)),
    expected,
    variant,
  );
}

/** Operations on whole rows, and sums. */
const rowCases = {
  softmax: [given({ x: matrix }, (graph, x) => graph.softmax(x), floats([2, 3], rows.flatMap(softmaxRow)))],
  logSoftmax: [
    given(
      { x: floats([2, 2], [1, 2, 1000, 1000]) },
      (graph, x) => graph.logSoftmax(x),
      floats([2, 2], [...softmaxRow([1, 2]).map(Math.log), -Math.LN2, -Math.LN2]),
      'also of huge numbers',
    ),
  ],
  layerNorm: [
    layerNorm('its rows', (y) => y, floats([2, 3], normalized)),
    layerNorm('its means', (y) => furtherOutput(y, 1), floats([2, 1], rows.map(meanOf))),
    layerNorm('its inverse deviations', (y) => furtherOutput(y, 2), floats([2, 1], rows.map(inverseDeviationOf))),
  ],
  reduceSum: [
    given(
      { x: floats([2, 3, 2], counting(12)) },
      (graph, x) => graph.reduceSum(x, [0, -1]),
      floats([3], [18, 26, 34]),
      'over some axes',
    ),
    given(
      { x: floats([2, 3], counting(6)) },
      (graph, x) => graph.reduceSum(x, [1], true),
      floats([2, 1], [6, 15]),
      'keeping dimensions',
    ),
  ],
  columnSum: [given({ x: floats([3, 2], counting(6)) }, (graph, x) => graph.columnSum(x), floats([2], [9, 12]))],
} satisfies Partial<OperationCases>;

/** Two matrices of 3 rows, for the operations between distances and positions; n = 3. */
const SIZE = 3;
const byDistance = counting(2 * SIZE * 2 * SIZE);
/** By the definition: y[m, i, j] = x[m, i, n + j − i]. */
const byPosition = upTo(2).flatMap((m) =>
  upTo(SIZE).flatMap((i) => upTo(SIZE).map((j) => byDistance[(m * SIZE + i) * 2 * SIZE + SIZE + j - i] ?? 0)),
);
/** By the definition of the transpose: y[m, i, n + j − i] = x[m, i, j]. */
const spread = upTo(2).flatMap((m) =>
  upTo(SIZE).flatMap((i) =>
    upTo(2 * SIZE).map((c) => {
      const j = c - SIZE + i;
      return j >= 0 && j < SIZE ? (byPosition[(m * SIZE + i) * SIZE + j] ?? 0) : 0;
    }),
  ),
);

function sliceOf(variant: string, axis: number, expected: TensorData): OperationCase {
  const end = axis === 1 ? 3 : 2;
  const x = floats([2, 3, 2], counting(12));
  return given({ x }, (graph, x) => graph.slice(x, axis, 1, end), expected, variant);
}

/** Operations that cut tensors, join them, and go from distances to positions. */
const partCases = {
  slice: [
    sliceOf('along the first axis', 0, floats([1, 3, 2], [7, 8, 9, 10, 11, 12])),
    sliceOf('along a middle axis', 1, floats([2, 2, 2], [3, 4, 5, 6, 9, 10, 11, 12])),
    sliceOf('along the last axis', 2, floats([2, 3, 1], [2, 4, 6, 8, 10, 12])),
  ],
  concat: [
    given(
      { a: floats([2, 1], [1, 2]), b: floats([2, 2], [3, 4, 5, 6]), c: floats([2, 1], [7, 8]) },
      (graph, a, b, c) => graph.concat([a, b, c], 1),
      floats([2, 4], [1, 3, 4, 7, 2, 5, 6, 8]),
      'of three along the last axis',
    ),
    given(
      { a: floats([1, 2], [1, 2]), b: floats([2, 2], [3, 4, 5, 6]) },
      (graph, a, b) => graph.concat([a, b], 0),
      floats([3, 2], counting(6)),
      'of two along the first axis',
    ),
  ],
  relativeToAbsolute: [
    given(
      { x: floats([2, SIZE, 2 * SIZE], byDistance) },
      (graph, x) => graph.relativeToAbsolute(x),
      floats([2, SIZE, SIZE], byPosition),
    ),
    given(
      { x: floats([2, 1, 1, 2], [1, 2, 3, 4]) },
      (graph, x) => graph.relativeToAbsolute(x),
      floats([2, 1, 1, 1], [2, 4]),
      'of a single position',
    ),
  ],
  absoluteToRelative: [
    given(
      { x: floats([2, SIZE, SIZE], byPosition) },
      (graph, x) => graph.absoluteToRelative(x),
      floats([2, SIZE, 2 * SIZE], spread),
    ),
    given(
      { x: floats([2, 1, 1, 1], [2, 4]) },
      (graph, x) => graph.absoluteToRelative(x),
      floats([2, 1, 1, 2], [0, 2, 0, 4]),
      'of a single position',
    ),
  ],
  rowDistances: [
    given({ x: ints([3, 1], [9, 9, 9]) }, (graph, x) => graph.rowDistances(x), longs([6], [-3, -2, -1, 0, 1, 2])),
  ],
} satisfies Partial<OperationCases>;

function castOf(variant: string, x: TensorData, expected: TensorData): OperationCase {
  return given({ x }, (graph, x) => graph.cast(x, expected.type), expected, variant);
}

const fractions = floats([4], [-1.5, -1, 0, 2.75]);

/** Operations that move, repeat or convert numbers. */
const layoutCases = {
  gather: [
    given(
      { table: floats([3, 2], counting(6)), ids: ints([2, 2], [2, 0, 2, 1]) },
      (graph, table, ids) => graph.gather(table, ids),
      floats([2, 2, 2], [5, 6, 1, 2, 5, 6, 3, 4]),
      'a row more than once',
    ),
    given(
      { table: floats([3, 2], counting(6)), ids: longs([2], [1, 2]) },
      (graph, table, ids) => graph.gather(table, ids),
      floats([2, 2], [3, 4, 5, 6]),
      '64-bit ids',
    ),
  ],
  placeRows: [
    given(
      { rows: floats([2, 2], counting(4)), ids: ints([2], [3, 0]) },
      (graph, rows, ids) => graph.placeRows(rows, ids, 4),
      floats([4, 2], [3, 4, 0, 0, 0, 0, 1, 2]),
    ),
  ],
  firstRows: [
    given(
      { table: floats([4, 2], counting(8)), x: ints([3, 1], [9, 9, 9]) },
      (graph, table, x) => graph.firstRows(table, x),
      floats([3, 2], counting(6)),
    ),
    given(
      { table: floats([5, 2], counting(10)), x: ints([2, 1], [9, 9]) },
      (graph, table, x) => graph.firstRows(table, x, 2),
      floats([2, 2], [5, 6, 7, 8]),
      'from a later row',
    ),
  ],
  expand: [
    given(
      { x: floats([2, 1], [1, 2]) },
      (graph, x) => graph.expand(x, [2, 2, 3]),
      floats([2, 2, 3], [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]),
    ),
  ],
  reshape: [
    given({ x: floats([2, 3], counting(6)) }, (graph, x) => graph.reshape(x, [3, 2]), floats([3, 2], counting(6))),
  ],
  transpose: [
    given(
      { x: floats([2, 1, 3], counting(6)) },
      (graph, x) => graph.transpose(x, [2, 0, 1]),
      floats([3, 2, 1], [1, 4, 2, 5, 3, 6]),
    ),
  ],
  rowNumbers: [given({ x: floats([3, 1], [9, 9, 9]) }, (graph, x) => graph.rowNumbers(x), longs([3], [0, 1, 2]))],
  cast: [
    castOf('int32 to float32', ints([3], [-1, 0, 7]), floats([3], [-1, 0, 7])),
    castOf('int64 to float32', longs([3], [-1, 0, 7]), floats([3], [-1, 0, 7])),
    castOf('float32 to int32, towards 0', fractions, ints([4], [-1, -1, 0, 2])),
    castOf('float32 to int64, towards 0', fractions, longs([4], [-1, -1, 0, 2])),
    castOf('int32 to int64', ints([3], [-1, 0, 7]), longs([3], [-1, 0, 7])),
    castOf('int64 to int32', longs([3], [-1, 0, 7]), ints([3], [-1, 0, 7])),
  ],
} satisfies Partial<OperationCases>;

export const operationCases: OperationCases = {
  ...elementwiseCases,
  ...matrixCases,
  ...rowCases,
  ...partCases,
  ...layoutCases,
};
