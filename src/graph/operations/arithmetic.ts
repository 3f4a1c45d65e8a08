import type { Graph } from '../graph.js';
import { outputAt, type Tensor } from '../node.js';
import {
  broadcastAxes,
  broadcastShapes,
  type Dimension,
  dimensionAt,
  type Shape,
  ShapeError,
  sameShape,
} from '../shape.js';
import type { BatchMatMulAttributes, Operation } from './operation.js';

type Binary = 'add' | 'subtract' | 'multiply' | 'divide';
type Unary = 'exp' | 'sqrt' | 'tanh' | 'sigmoid' | 'softplus';

/** Sums a gradient over the axes along which its input was broadcast. */
function unbroadcast(graph: Graph, gradient: Tensor, input: Tensor): Tensor {
  if (sameShape(gradient.shape, input.shape)) return gradient;
  const rowVector = input.shape.length === 1 && gradient.shape.length === 2;
  if (rowVector && input.shape[0] === dimensionAt(gradient.shape, 1)) return graph.columnSum(gradient);
  const axes = broadcastAxes(input.shape, gradient.shape);
  return graph.reshape(graph.reduceSum(gradient, axes, true), input.shape);
}

function binary<Name extends Binary>(
  type: string,
  gradient: (context: { graph: Graph; a: Tensor; b: Tensor; y: Tensor; dy: Tensor }) => readonly [Tensor, Tensor],
): Operation<Name> {
  return {
    describe: ([a, b]) => [{ shape: broadcastShapes(a.shape, b.shape) }],
    onnx: ({ builder, inputs, outputs }) => builder.node(type, inputs, outputs),
    gradient: ({ graph, inputs: [a, b], outputs, outputGradient: dy }) => {
      const y = outputAt(outputs, 0);
      const [da, db] = gradient({ graph, a, b, y, dy });
      return [unbroadcast(graph, da, a), unbroadcast(graph, db, b)];
    },
  };
}

function unary<Name extends Unary>(
  type: string,
  derivative: (context: { graph: Graph; x: Tensor; y: Tensor; dy: Tensor }) => Tensor,
): Operation<Name> {
  return {
    describe: ([x]) => [{ shape: x.shape }],
    onnx: ({ builder, inputs, outputs }) => builder.node(type, inputs, outputs),
    gradient: ({ graph, inputs: [x], outputs, outputGradient: dy }) => [
      derivative({ graph, x, y: outputAt(outputs, 0), dy }),
    ],
  };
}

export const add = binary<'add'>('Add', ({ dy }) => [dy, dy]);

export const subtract = binary<'subtract'>('Sub', ({ graph, dy }) => [dy, graph.scale(dy, -1)]);

export const multiply = binary<'multiply'>('Mul', ({ graph, a, b, dy }) => [
  graph.multiply(dy, b),
  graph.multiply(dy, a),
]);

export const divide = binary<'divide'>('Div', ({ graph, b, y, dy }) => [
  graph.divide(dy, b),
  graph.scale(graph.divide(graph.multiply(dy, y), b), -1),
]);

export const scale: Operation<'scale'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Mul', [...inputs, builder.floats([node.attributes.factor], [])], outputs),
  gradient: ({ graph, attributes, outputGradient: dy }) => [graph.scale(dy, attributes.factor)],
};

export const exp = unary<'exp'>('Exp', ({ graph, y, dy }) => graph.multiply(dy, y));

/** y = √x; dy/dx = 1 / 2y, undefined at 0. */
export const sqrt = unary<'sqrt'>('Sqrt', ({ graph, y, dy }) => graph.scale(graph.divide(dy, y), 0.5));

/** y = tanh x; dy/dx = 1 − y². */
export const tanh = unary<'tanh'>('Tanh', ({ graph, y, dy }) =>
  graph.subtract(dy, graph.multiply(dy, graph.multiply(y, y))),
);

/** y = 1 / (1 + e⁻ˣ); dy/dx = y − y². */
export const sigmoid = unary<'sigmoid'>('Sigmoid', ({ graph, y, dy }) =>
  graph.multiply(dy, graph.subtract(y, graph.multiply(y, y))),
);

/** y = ln(1 + eˣ), stable for large |x|. */
export const softplus = unary<'softplus'>('Softplus', ({ graph, x, dy }) => graph.multiply(dy, graph.sigmoid(x)));

/**
 * y = z·c with the gate c = ½ + ½·erf(z); the second output is c. GELU(x) = √2·y at z = x/√2
 * (Hendrycks & Gimpel 2016), so the two factors fold into the linear layers around it.
 * dy/dz = c + z·e^(−z²)/√π.
 */
export const gaussianGate: Operation<'gaussianGate'> = {
  describe: ([z]) => [{ shape: z.shape }, { shape: z.shape }],
  onnx: ({ builder, inputs, outputs }) => {
    const erf = builder.fresh('erf');
    const gate = outputs.slice(1);
    builder.node('Erf', inputs, [erf]);
    // HardSigmoid(e) = clip(½·e + ½, 0, 1) is exact here, as erf lies in [−1, 1], and takes one pass over memory.
    builder.node('HardSigmoid', [erf], gate, { alpha: { float: 0.5 }, beta: { float: 0.5 } });
    builder.node('Mul', [...inputs, ...gate], outputs.slice(0, 1));
  },
  gradient: ({ graph, inputs: [z], outputs, outputGradient: dy }) => {
    return [graph.multiply(gateSlope(graph, z, outputAt(outputs, 1)), dy)];
  },
};

/** The derivative of z·c(z) by z: c + z·e^(−z²)/√π. */
function gateSlope(graph: Graph, z: Tensor, gate: Tensor): Tensor {
  const bell = graph.divide(graph.scale(z, 1 / Math.sqrt(Math.PI)), graph.exp(graph.multiply(z, z)));
  return graph.add(bell, gate);
}

/** y = x·Φ(x) (Hendrycks & Gimpel 2016); with z = x/√2, dy/dx is that of {@link gaussianGate} by z. */
export const gelu: Operation<'gelu'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, inputs, outputs }) => builder.node('Gelu', inputs, outputs),
  gradient: ({ graph, inputs: [x], outputGradient: dy }) => {
    const z = graph.scale(x, Math.SQRT1_2);
    const { source } = graph.gaussianGate(z);
    if (source.kind !== 'node') throw new ShapeError('gaussianGate makes a node');
    return [graph.multiply(gateSlope(graph, z, outputAt(source.node.outputs, 1)), dy)];
  },
};

/** 2·√(2/π): ½ + ½·tanh(u) is sigmoid(2u). */
const TANH_SLOPE = 2 * Math.sqrt(2 / Math.PI);
/** Of x³ in the approximation of GELU by tanh. */
const TANH_CUBE = 0.044715;

/**
 * y = x·(½ + ½·tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks & Gimpel 2016, their approximation). With
 * s = sigmoid(c·(x + a·x³)), y = x·s and dy/dx = s + s·(1 − s)·c·(x + 3a·x³).
 */
export const geluTanh: Operation<'geluTanh'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, inputs, outputs }) => builder.node('Gelu', inputs, outputs, { approximate: { text: 'tanh' } }),
  gradient: ({ graph, inputs: [x], outputGradient: dy }) => {
    const cube = graph.multiply(graph.multiply(x, x), x);
    const inner = graph.add(x, graph.scale(cube, TANH_CUBE));
    const s = graph.sigmoid(graph.scale(inner, TANH_SLOPE));
    const weighted = graph.scale(graph.add(x, graph.scale(cube, 3 * TANH_CUBE)), TANH_SLOPE);
    const slope = graph.add(s, graph.multiply(graph.subtract(s, graph.multiply(s, s)), weighted));
    return [graph.multiply(slope, dy)];
  },
};

/** 1 where a comparison holds and 0 elsewhere, as float32. It is constant almost everywhere: no gradient. */
function comparison<Name extends 'greater' | 'equal'>(type: string): Operation<Name> {
  return {
    describe: ([a, b]) => [{ shape: broadcastShapes(a.shape, b.shape), type: 'float32' }],
    onnx: ({ builder, inputs, outputs }) => {
      const holds = builder.computed(type, inputs);
      builder.node('Cast', [holds], outputs, { to: { int: builder.elementType('float32') } });
    },
    gradient: () => [undefined, undefined],
  };
}

/** y = 1 where a > b and 0 elsewhere, broadcasting. */
export const greater = comparison<'greater'>('Greater');

/** y = 1 where a = b and 0 elsewhere, broadcasting. */
export const equal = comparison<'equal'>('Equal');

/** Rows and columns of a matrix after an optional transposition. */
function rowsAndColumns(shape: Shape, transpose: boolean): readonly [Dimension, Dimension] {
  const rows = dimensionAt(shape, -2);
  const columns = dimensionAt(shape, -1);
  return transpose ? [columns, rows] : [rows, columns];
}

function checkInner(name: string, left: Dimension, right: Dimension): void {
  if (left !== right) throw new ShapeError(`${name}: inner dimensions ${left} and ${right} differ`);
}

/**
 * y = α·op(a)·op(b) + β·c. Shapes: op(a) [m, k], op(b) [k, n], c [n] or [m, n] → y [m, n].
 * Each gradient is again one Gemm, so no operand is ever transposed in memory.
 */
export const gemm: Operation<'gemm'> = {
  describe: ([a, b, c], { transposeA, transposeB }) => {
    if (a.shape.length !== 2 || b.shape.length !== 2) throw new ShapeError('gemm takes matrices');
    const [m, k] = rowsAndColumns(a.shape, transposeA);
    const [inner, n] = rowsAndColumns(b.shape, transposeB);
    checkInner('gemm', k, inner);
    if (c !== undefined && !sameShape(c.shape, [n]) && !sameShape(c.shape, [m, n])) {
      throw new ShapeError(`gemm: c [${c.shape.join(', ')}] is neither [${n}] nor [${m}, ${n}]`);
    }
    return [{ shape: [m, n] }];
  },
  onnx: ({ builder, node: { attributes }, inputs, outputs }) =>
    builder.node('Gemm', inputs, outputs, {
      transA: { int: Number(attributes.transposeA) },
      transB: { int: Number(attributes.transposeB) },
      alpha: { float: attributes.alpha },
      beta: { float: attributes.beta },
    }),
  gradient: ({ graph, inputs: [a, b, c], attributes, outputGradient: dy }) => {
    const { transposeA, transposeB, alpha, beta } = attributes;
    const da = transposeA
      ? graph.gemm(b, dy, { transposeA: transposeB, transposeB: true, alpha })
      : graph.gemm(dy, b, { transposeB: !transposeB, alpha });
    const db = transposeB
      ? graph.gemm(dy, a, { transposeA: true, transposeB: transposeA, alpha })
      : graph.gemm(a, dy, { transposeA: !transposeA, alpha });
    if (c === undefined) return [da, db];
    const sum = c.shape.length === 1 ? graph.columnSum(dy) : dy;
    return [da, db, beta === 1 ? sum : graph.scale(sum, beta)];
  },
  plus: (graph, { inputs: [a, b, c], attributes }, addend) =>
    c === undefined ? graph.gemm(a, b, attributes, addend) : undefined,
};

/** The shape as […batch, rows, columns], however the operand is stored. */
function rowsLast(shape: Shape, rowsFirst: boolean): Shape {
  if (!rowsFirst) return shape;
  const [rows = 1, ...rest] = shape;
  return [...rest.slice(0, -1), rows, ...rest.slice(-1)];
}

/** Brings a gradient […batch, rows, columns] to the layout that its operand is stored in. */
function toStoredLayout(graph: Graph, gradient: Tensor, rowsFirst: boolean): Tensor {
  if (!rowsFirst) return gradient;
  const rank = gradient.shape.length;
  const batchAxes = Array.from({ length: rank - 2 }, (_, axis) => axis);
  return graph.transpose(gradient, [rank - 2, ...batchAxes, rank - 1]);
}

/**
 * y = α·op(a)·op(b) for every element of the leading batch dimensions, which both operands share.
 * Shapes: op(a) […batch, m, k], op(b) […batch, k, n] → y […batch, m, n]; operands stored rows first
 * ([m, …batch, k]) are read in place.
 */
export const batchMatMul: Operation<'batchMatMul'> = {
  describe: ([a, b], attributes) => {
    const left = rowsLast(a.shape, attributes.rowsFirstA);
    const right = rowsLast(b.shape, attributes.rowsFirstB);
    const batch = left.slice(0, -2);
    if (!sameShape(batch, right.slice(0, -2))) throw new ShapeError('batchMatMul: batch dimensions differ');
    const [m, k] = rowsAndColumns(left, attributes.transposeA);
    const [inner, n] = rowsAndColumns(right, attributes.transposeB);
    checkInner('batchMatMul', k, inner);
    return [{ shape: [...batch, m, n] }];
  },
  onnx: ({ builder, node: { attributes }, inputs, outputs }) =>
    builder.node('FusedMatMul', inputs, outputs, fusedMatMulAttributes(attributes), 'com.microsoft'),
  gradient: ({ graph, inputs: [a, b], attributes, outputGradient: dy }) => {
    const { transposeA, transposeB, rowsFirstA, rowsFirstB, alpha } = attributes;
    const da = transposeA
      ? graph.batchMatMul(b, dy, { transposeA: transposeB, rowsFirstA: rowsFirstB, transposeB: true, alpha })
      : graph.batchMatMul(dy, b, { transposeB: !transposeB, rowsFirstB, alpha });
    const db = transposeB
      ? graph.batchMatMul(dy, a, { transposeA: true, transposeB: transposeA, rowsFirstB: rowsFirstA, alpha })
      : graph.batchMatMul(a, dy, { transposeA: !transposeA, rowsFirstA, alpha });
    return [toStoredLayout(graph, da, rowsFirstA), toStoredLayout(graph, db, rowsFirstB)];
  },
};

function fusedMatMulAttributes(attributes: BatchMatMulAttributes) {
  return {
    transA: { int: Number(attributes.transposeA) },
    transB: { int: Number(attributes.transposeB) },
    transBatchA: { int: Number(attributes.rowsFirstA) },
    transBatchB: { int: Number(attributes.rowsFirstB) },
    alpha: { float: attributes.alpha },
  };
}

/** The shape with the given axes (negative from the end) replaced by 1 or dropped. */
function reducedShape(shape: Shape, axes: readonly number[], keepDimensions: boolean): Dimension[] {
  const reduced = new Set(axes.map((axis) => (axis < 0 ? axis + shape.length : axis)));
  return shape.flatMap((dimension, axis) => {
    if (!reduced.has(axis)) return [dimension];
    return keepDimensions ? [1] : [];
  });
}

export const reduceSum: Operation<'reduceSum'> = {
  describe: ([x], { axes, keepDimensions }) => [{ shape: reducedShape(x.shape, axes, keepDimensions) }],
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('ReduceSum', [...inputs, builder.integers(node.attributes.axes)], outputs, {
      keepdims: { int: Number(node.attributes.keepDimensions) },
    }),
  gradient: ({ graph, inputs: [x], attributes: { axes }, outputGradient: dy }) => [
    graph.expand(graph.reshape(dy, reducedShape(x.shape, axes, true)), x.shape),
  ],
};

/** x [rows, columns] → y [columns], by a row of ones times x: ONNX Runtime's ReduceSum is slow along that axis. */
export const columnSum: Operation<'columnSum'> = {
  describe: ([x]) => {
    if (x.shape.length !== 2) throw new ShapeError('columnSum takes a matrix');
    return [{ shape: [dimensionAt(x.shape, 1)] }];
  },
  onnx: ({ builder, node, inputs, outputs }) => {
    const [matrix] = node.inputs;
    const sums = builder.fresh('sums');
    builder.node('MatMul', [builder.rowOfOnes(dimensionAt(matrix.shape, 0)), ...inputs], [sums]);
    builder.node('Reshape', [sums, builder.shape([dimensionAt(matrix.shape, 1)])], outputs);
  },
  gradient: ({ graph, inputs: [x], outputGradient: dy }) => [graph.expand(dy, x.shape)],
};

/** y = softmax of x over its last axis; dx = (dy − Σ dy·y)·y. */
export const softmax: Operation<'softmax'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, inputs, outputs }) => builder.node('Softmax', inputs, outputs, { axis: { int: -1 } }),
  gradient: ({ graph, outputs, outputGradient: dy }) => {
    const y = outputAt(outputs, 0);
    const weighted = graph.reduceSum(graph.multiply(dy, y), [-1], true);
    return [graph.multiply(graph.subtract(dy, weighted), y)];
  },
};

/** y = ln softmax of x over its last axis; dx = dy − eʸ·Σ dy. */
export const logSoftmax: Operation<'logSoftmax'> = {
  describe: ([x]) => [{ shape: x.shape }],
  onnx: ({ builder, inputs, outputs }) => builder.node('LogSoftmax', inputs, outputs, { axis: { int: -1 } }),
  gradient: ({ graph, outputs, outputGradient: dy }) => {
    const y = outputAt(outputs, 0);
    const total = graph.reduceSum(dy, [-1], true);
    return [graph.subtract(dy, graph.multiply(graph.exp(y), total))];
  },
};

/**
 * y = γ·(x − mean)/√(variance + ε) + β over the last axis (Ba, Kiros & Hinton 2016).
 * Shapes: x [rows, width], γ and β [width] → y [rows, width], mean and 1/√(variance + ε) [rows, 1].
 * The two row means of the gradient are computed as matrix products with γ/width, in one pass each.
 */
export const layerNorm: Operation<'layerNorm'> = {
  describe: ([x, gamma, beta]) => {
    const width = dimensionAt(x.shape, -1);
    if (x.shape.length !== 2) throw new ShapeError('layerNorm takes [rows, width]');
    if (!sameShape(gamma.shape, [width]) || !sameShape(beta.shape, [width])) {
      throw new ShapeError(`layerNorm: γ and β must be [${width}]`);
    }
    const perRow = { shape: [dimensionAt(x.shape, 0), 1] };
    return [{ shape: x.shape }, perRow, perRow];
  },
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('LayerNormalization', inputs, outputs, {
      axis: { int: -1 },
      epsilon: { float: node.attributes.epsilon },
    }),
  gradient: ({ graph, inputs: [x, gamma], outputs, outputGradient: dy }) => {
    const mean = outputAt(outputs, 1);
    const inverseDeviation = outputAt(outputs, 2);
    const width = dimensionAt(gamma.shape, 0);
    if (typeof width !== 'number') throw new ShapeError('layerNorm needs a fixed width');
    const meanWeights = graph.reshape(graph.scale(gamma, 1 / width), [width, 1]);
    const normalized = graph.multiply(graph.subtract(x, mean), inverseDeviation);
    const weighted = graph.multiply(dy, normalized);
    const meanOfGradient = graph.gemm(dy, meanWeights);
    const meanOfWeighted = graph.gemm(weighted, meanWeights);
    const centred = graph.subtract(
      graph.subtract(graph.multiply(dy, gamma), graph.multiply(normalized, meanOfWeighted)),
      meanOfGradient,
    );
    return [graph.multiply(centred, inverseDeviation), graph.columnSum(weighted), graph.columnSum(dy)];
  },
};
