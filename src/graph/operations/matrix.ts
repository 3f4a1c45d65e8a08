import type { Graph } from '../graph.js';
import type { NodeOf } from '../node.js';
import type { Dimension, Shape } from '../shape.js';
import { dimensionAt, ShapeError, sameShape } from '../shape.js';
import type { Tensor } from '../tensor.js';
import type { Operation } from './operation.js';
import type { BatchMatMulAttributes } from './signatures.js';

/** Rows and columns of a matrix after an optional transposition. */
export function rowsAndColumns(shape: Shape, transpose: boolean): readonly [Dimension, Dimension] {
  const rows = dimensionAt(shape, -2);
  const columns = dimensionAt(shape, -1);
  return transpose ? [columns, rows] : [rows, columns];
}

function checkInner(name: string, left: Dimension, right: Dimension): void {
  if (left !== right) throw new ShapeError(`${name}: inner dimensions ${left} and ${right} differ`);
}

/** Longest sum that ONNX Runtime's kernels take in one go, whatever the number of threads. */
const INNER_BLOCK = 128;

/**
 * Lengths of the pieces of a product's inner dimension. With few rows, the runtime gives each thread a share of the
 * columns and sums in pieces whose length goes by this share; so such a sum is cut here, and comes out the same with any
 * number of threads. One row for each text of a batch is few, one for each token is not.
 */
export function innerBlocks({
  inputs: [a, b],
  attributes: { transposeA, transposeB },
}: NodeOf<'gemm'>): number[] {
  const [rows, inner] = rowsAndColumns(a.shape, transposeA);
  const [, columns] = rowsAndColumns(b.shape, transposeB);
  if (typeof inner !== 'number') return [];
  const isWhole = transposeA || typeof rows === 'number' || rows.includes('*') || typeof columns !== 'number';
  if (isWhole || inner <= INNER_BLOCK) return [inner];
  const rest = inner % INNER_BLOCK;
  const whole = Array.from({ length: Math.floor(inner / INNER_BLOCK) }, () => INNER_BLOCK);
  return rest === 0 ? whole : [...whole, rest];
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
  onnx: ({ builder, node, inputs, outputs }) => {
    const { transposeA, transposeB, alpha, beta } = node.attributes;
    const factors = {
      transA: { int: Number(transposeA) },
      transB: { int: Number(transposeB) },
      alpha: { float: alpha },
    };
    const [a = '', b = '', c] = inputs;
    const blocks = innerBlocks(node);
    const isFixed = builder.initializers.some(({ name }) => name === b);
    if (blocks.length < 2 || isFixed) {
      return builder.node('Gemm', inputs, outputs, { ...factors, beta: { float: beta } });
    }
    const split = (name: string, axis: number) => {
      const parts = blocks.map(() => builder.fresh('block'));
      builder.node('Split', [name, builder.integers(blocks)], parts, { axis: { int: axis } });
      return parts;
    };
    const [left, right] = [split(a, 1), split(b, transposeB ? 1 : 0)];
    let sum = c;
    for (const [at, part] of left.entries()) {
      const result = at === blocks.length - 1 ? (outputs[0] ?? '') : builder.fresh('sum');
      const operands = [part, right[at] ?? '', ...(sum === undefined ? [] : [sum])];
      builder.node('Gemm', operands, [result], { ...factors, beta: { float: at === 0 ? beta : 1 } });
      sum = result;
    }
  },
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
export function rowsLast(shape: Shape, rowsFirst: boolean): Shape {
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
