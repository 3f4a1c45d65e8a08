import type { Dimension, Shape } from '../shape.js';
import { dimensionAt, ShapeError, sameShape } from '../shape.js';
import type { Operation } from './operation.js';

/** The shape with another size along an axis. */
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

/** y = the tensors one after the other along an axis, on which each has a fixed size. */
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
