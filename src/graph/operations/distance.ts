import type { OnnxBuilder } from '../onnx/onnx-builder.js';
import { type Dimension, dimensionAt, type Shape, ShapeError, sameShape, twice } from '../shape.js';
import type { Operation } from './operation.js';

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
