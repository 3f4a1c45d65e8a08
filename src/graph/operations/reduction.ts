import { outputAt } from '../node.js';
import { type Dimension, dimensionAt, type Shape, ShapeError, sameShape } from '../shape.js';
import type { Operation } from './operation.js';

/** The shape with the given axes (negative from the end) replaced by 1 or dropped. */
function reducedShape(shape: Shape, axes: readonly number[], keepDimensions: boolean): Dimension[] {
  const reduced = new Set(axes.map((axis) => (axis < 0 ? axis + shape.length : axis)));
  return shape.flatMap((dimension, axis) => {
    if (!reduced.has(axis)) return [dimension];
    return keepDimensions ? [1] : [];
  });
}

/** y = Σ x over the given axes. */
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

/**
 * y = Σ over the rows of a matrix. Shapes: x [rows, columns] → y [columns].
 * Computed as a row of ones times x, since ONNX Runtime's ReduceSum is slow along that axis.
 */
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
