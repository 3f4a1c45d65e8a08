import { nodesFor } from '../node-order.js';
import type { Tensor } from '../tensor.js';
import { kernels, tensorFlowType } from './kernels.js';
import type { TensorFlow, TensorFlowTensor } from './tensorflow.js';

/**
 * Computes tensors of a graph. Call it inside `tf.tidy`, or inside a function that TensorFlow.js differentiates.
 * @param known values of the inputs and parameters, by name.
 * @param sizes values of the symbols that shapes are written in.
 */
export function evaluate(
  tf: TensorFlow,
  tensors: readonly Tensor[],
  known: ReadonlyMap<string, TensorFlowTensor>,
  sizes: Readonly<Record<string, number>>,
): TensorFlowTensor[] {
  const values = new Map<Tensor, TensorFlowTensor>();
  const lookUp = (tensor: Tensor): TensorFlowTensor => {
    const value = values.get(tensor) ?? known.get(tensor.name) ?? constant(tf, tensor);
    values.set(tensor, value);
    return value;
  };
  for (const node of nodesFor(tensors)) {
    const results = node.visit((typed) =>
      kernels[typed.operation]({ tf, node: typed, inputs: typed.inputs.map(lookUp), sizes }),
    );
    for (const [position, output] of node.outputs.entries()) {
      const result = results[position];
      if (result !== undefined) values.set(output, result);
    }
  }
  return tensors.map(lookUp);
}

function constant(tf: TensorFlow, { name, type, shape, source }: Tensor): TensorFlowTensor {
  if (source.kind !== 'constant') throw new RangeError(`no value is given for ${name}`);
  const target = tensorFlowType(type);
  const values = target === 'float32' ? Float32Array.from(source.values) : Int32Array.from(source.values);
  return tf.tensor(values, shape.map(Number), target);
}
