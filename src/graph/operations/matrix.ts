import type { Graph } from '../graph.js';
import type { Tensor } from '../node.js';
import { type Dimension, dimensionAt, type Shape, ShapeError, sameShape } from '../shape.js';
import type { BatchMatMulAttributes, Operation } from './operation.js';

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
