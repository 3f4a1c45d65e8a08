import type { OnnxBuilder } from '../onnx/onnx-builder.js';
import {
  broadcastAxes,
  type Dimension,
  dimensionAt,
  type Shape,
  ShapeError,
  sameShape,
  sameVolume,
  twice,
} from '../shape.js';
import type { Operation } from './operation.js';

export const reshape: Operation<'reshape'> = {
  describe: ([x], { shape }) => {
    if (!sameVolume(x.shape, shape)) {
      throw new ShapeError(`reshape: [${x.shape.join(', ')}] does not fill [${shape.join(', ')}]`);
    }
    return [{ shape }];
  },
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Reshape', [...inputs, builder.target(node.attributes.shape)], outputs),
  gradient: ({ graph, inputs: [x], outputGradient: dy }) => [graph.reshape(dy, x.shape)],
};

/** y with axis i taken from axis permutation[i] of x. */
export const transpose: Operation<'transpose'> = {
  describe: ([x], { permutation }) => [{ shape: permutation.map((axis) => dimensionAt(x.shape, axis)) }],
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Transpose', inputs, outputs, { perm: { ints: node.attributes.permutation } }),
  gradient: ({ graph, attributes: { permutation }, outputGradient: dy }) => {
    const inverse = permutation.map((_, axis) => permutation.indexOf(axis));
    return [graph.transpose(dy, inverse)];
  },
};

export const expand: Operation<'expand'> = {
  describe: (_, { shape }) => [{ shape }],
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Expand', [...inputs, builder.shape(node.attributes.shape)], outputs),
  gradient: ({ graph, inputs: [x], attributes: { shape }, outputGradient: dy }) => [
    graph.reshape(graph.reduceSum(dy, broadcastAxes(x.shape, shape), true), x.shape),
  ],
};

export const cast: Operation<'cast'> = {
  describe: ([x], { type }) => [{ shape: x.shape, type }],
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Cast', inputs, outputs, { to: { int: builder.elementType(node.attributes.type) } }),
  gradient: () => [undefined],
};

/** table [rows, …rest], indices of any shape → [...indices, …rest]. The gradient is a {@link RowGradient}. */
export const gather: Operation<'gather'> = {
  describe: ([table, indices]) => [{ shape: [...indices.shape, ...table.shape.slice(1)], type: table.type }],
  onnx: ({ builder, inputs, outputs }) => builder.node('Gather', inputs, outputs, { axis: { int: 0 } }),
  gradient: ({ inputs: [, indices], outputGradient: dy }) => [{ kind: 'rows', rows: dy, indices }, undefined],
};

/** Rows at their indices, all different, in a matrix of zeros: rows [n, width], indices [n] → [count, width]. */
export const placeRows: Operation<'placeRows'> = {
  describe: ([rows, indices], { count }) => {
    const [n, width, ...rest] = rows.shape;
    if (n === undefined || width === undefined || rest.length > 0 || !sameShape(indices.shape, [n])) {
      throw new ShapeError(
        `placeRows takes [n, width] and [n], not [${rows.shape.join(', ')}] and [${indices.shape.join(', ')}]`,
      );
    }
    return [{ shape: [count, width] }];
  },
  onnx: ({ builder, node, inputs: [rows = '', indices = ''], outputs }) => {
    const [{ shape }] = node.inputs;
    const zeros = builder.shape([node.attributes.count, dimensionAt(shape, 1)]);
    const zero = builder.computed('Expand', [builder.floats([0], [1, 1]), zeros]);
    const column = builder.computed('Reshape', [indices, builder.integers([-1, 1])]);
    const places = builder.computed('Expand', [column, builder.shape(shape)]);
    builder.node('ScatterElements', [zero, places, rows], outputs, { axis: { int: 0 } });
  },
  gradient: ({ graph, inputs: [, indices], outputGradient: dy }) => [graph.gather(dy, indices), undefined],
};

/** table [rows, …rest], x [n, …] → [n, …rest]. No gradient: that needs indices that are fed. */
export const firstRows: Operation<'firstRows'> = {
  describe: ([table, x]) => [{ shape: [dimensionAt(x.shape, 0), ...table.shape.slice(1)] }],
  onnx: ({ builder, node, inputs: [table = ''], outputs }) => {
    const [, x] = node.inputs;
    const { first } = node.attributes;
    const start = builder.integers([first]);
    const count = builder.shape([dimensionAt(x.shape, 0)]);
    const end = first === 0 ? count : builder.computed('Add', [start, count]);
    builder.node('Slice', [table, start, end, builder.integers([0])], outputs);
  },
  gradient: () => {
    throw new ShapeError('firstRows has no gradient; feed the row numbers and use gather');
  },
};

export const rowNumbers: Operation<'rowNumbers'> = {
  describe: ([x]) => [{ shape: [dimensionAt(x.shape, 0)], type: 'int64' }],
  onnx: ({ builder, node, outputs }) => {
    const [x] = node.inputs;
    const count = builder.fresh('count');
    builder.node('Squeeze', [builder.shape([dimensionAt(x.shape, 0)])], [count]);
    builder.node('Range', [builder.scalar(0), count, builder.scalar(1)], outputs);
  },
  gradient: () => [undefined],
};

function resized(shape: Shape, axis: number, size: Dimension): Shape {
  return shape.map((dimension, at) => (at === axis ? size : dimension));
}

/** y = x[from ≤ index < to] along an axis of fixed size. Parts of one tensor get their gradients as one tensor. */
export const slice: Operation<'slice'> = {
  describe: ([x], { axis, from, to }) => {
    const size = dimensionAt(x.shape, axis);
    if (typeof size !== 'number' || axis < 0 || from < 0 || from >= to || to > size) {
      throw new ShapeError(`slice: [${x.shape.join(', ')}] has no ${from} to ${to} along axis ${axis}`);
    }
    return [{ shape: resized(x.shape, axis, to - from) }];
  },
  onnx: ({ builder, node: { attributes }, inputs, outputs }) => {
    const { axis, from, to } = attributes;
    const bounds = [from, to, axis].map((each) => builder.integers([each]));
    builder.node('Slice', [...inputs, ...bounds], outputs);
  },
  gradient: ({ attributes: { axis, from }, outputGradient: dy }) => [{ kind: 'part', part: dy, axis, from }],
};

export const concat: Operation<'concat'> = {
  describe: (inputs, { axis }) => {
    const [{ shape }] = inputs;
    const size = inputs.reduce((sum, each) => sum + sizeAlong(each.shape, axis), 0);
    for (const each of inputs) {
      if (!sameShape(resized(each.shape, axis, size), resized(shape, axis, size))) {
        throw new ShapeError(`concat: [${shape.join(', ')}] and [${each.shape.join(', ')}] do not fit`);
      }
    }
    return [{ shape: resized(shape, axis, size) }];
  },
  onnx: ({ builder, node, inputs, outputs }) =>
    builder.node('Concat', inputs, outputs, { axis: { int: node.attributes.axis } }),
  gradient: ({ graph, inputs, attributes: { axis }, outputGradient: dy }) => {
    let end = 0;
    return inputs.map(({ shape }) => {
      const from = end;
      end += sizeAlong(shape, axis);
      return graph.slice(dy, axis, from, end);
    });
  },
};

function sizeAlong(shape: Shape, axis: number): number {
  const size = dimensionAt(shape, axis);
  if (typeof size !== 'number' || axis < 0) throw new ShapeError(`concat: axis ${axis} has no fixed size`);
  return size;
}

/**
 * Between a matrix by the distance of two positions, as relative positions are computed, and one by the second
 * position, as attention reads it. Both only move blocks of memory (Huang et al. 2018, section 3.4.1).
 */

/** A whole axis, for Reshape: what is left. */
const REST = -1;

/**
 * y[…, i, j] = x[…, i, n + j − i]: column c of x holds the distance c − n of j from i.
 * Shapes: x […, n, 2n] → […, n, n]. Row i of y starts i·(2n − 1) + n numbers into x, so x without its first n
 * numbers, cut into rows of 2n − 1, has y in its first n columns.
 */
export const relativeToAbsolute: Operation<'relativeToAbsolute'> = {
  describe: ([x]) => {
    const n = dimensionAt(x.shape, -2);
    if (dimensionAt(x.shape, -1) !== twice(n)) {
      throw new ShapeError(`relativeToAbsolute takes […, n, 2n], not [${x.shape.join(', ')}]`);
    }
    return [{ shape: [...x.shape.slice(0, -1), n] }];
  },
  onnx: ({ builder, node, inputs, outputs }) => {
    const [x] = node.inputs;
    const n = dimensionAt(x.shape, -2);
    const flat = builder.computed('Reshape', [...inputs, flatTarget(builder, x.shape)]);
    const count = builder.shape([n]);
    const last = builder.integers([x.shape.length - 2]);
    const shifted = builder.computed('Slice', [flat, count, builder.integers([FAR]), last]);
    const rows = builder.shape([...x.shape.slice(0, -2), n, REST]);
    const cut = builder.computed('Reshape', [shifted, rows]);
    const columns = builder.integers([x.shape.length - 1]);
    builder.node('Slice', [cut, builder.integers([0]), count, columns], outputs);
  },
  gradient: ({ graph, outputGradient: dy }) => [graph.absoluteToRelative(dy)],
};

/** Past the end of any axis. */
const FAR = 2 ** 31 - 1;

/** The transpose of {@link relativeToAbsolute}: y[…, i, n + j − i] = x[…, i, j], 0 elsewhere. */
export const absoluteToRelative: Operation<'absoluteToRelative'> = {
  describe: ([x]) => {
    const n = dimensionAt(x.shape, -2);
    if (!sameShape(x.shape.slice(-1), [n])) {
      throw new ShapeError(`absoluteToRelative takes […, n, n], not [${x.shape.join(', ')}]`);
    }
    return [{ shape: [...x.shape.slice(0, -1), twice(n)] }];
  },
  onnx: ({ builder, node, inputs, outputs }) => {
    const [x] = node.inputs;
    const n = dimensionAt(x.shape, -2);
    const rank = x.shape.length;
    const columns = builder.integers([rank - 1]);
    const widened = builder.computed('Pad', [...inputs, builder.shape([0, n]), '', columns]);
    const [first, last] = [builder.integers([0]), builder.integers([-1])];
    const cut = builder.computed('Slice', [widened, first, last, columns]);
    const flat = builder.computed('Reshape', [cut, flatTarget(builder, x.shape)]);
    const flatAxis = builder.integers([rank - 2]);
    const whole = builder.computed('Pad', [flat, builder.shape([n, 0]), '', flatAxis]);
    builder.node('Reshape', [whole, builder.shape([...x.shape.slice(0, -2), n, REST])], outputs);
  },
  gradient: ({ graph, outputGradient: dy }) => [graph.relativeToAbsolute(dy)],
};

/** […, n, m] as […, n·m]. */
function flatTarget(builder: OnnxBuilder, shape: Shape): string {
  // Reshape reads 0 as the size that the axis has.
  const same = shape.slice(0, -2).map((): Dimension => 0);
  return builder.integers([...same.map(Number), REST]);
}

/** The int64 numbers −n, … n − 1 of the n rows of x. */
export const rowDistances: Operation<'rowDistances'> = {
  describe: ([x]) => [{ shape: [twice(dimensionAt(x.shape, 0))], type: 'int64' }],
  onnx: ({ builder, node, outputs }) => {
    const [x] = node.inputs;
    const count = builder.computed('Squeeze', [builder.shape([dimensionAt(x.shape, 0)])]);
    builder.node('Range', [builder.computed('Neg', [count]), count, builder.scalar(1)], outputs);
  },
  gradient: () => [undefined],
};
