import type { Dimension, Shape } from '../shape.js';
import { dimensionAt, ShapeError } from '../shape.js';
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
