import { nodesFor, type Tensor } from '../node.js';
import { kernelsOf, tensorFlowType } from './kernels.js';
import type { TensorFlow, TensorFlowTensor } from './tensorflow.js';

/**
 * Computes tensors of a graph. Call it inside `tf.tidy`, or inside a function that TensorFlow.js
 * differentiates.
 * @param known values of the inputs and parameters, by name.
 * @param sizes values of the symbols in shapes.
 */
export function evaluate<T extends TensorFlowTensor>(
  tf: TensorFlow<T>,
  tensors: readonly Tensor[],
  known: ReadonlyMap<string, T>,
  sizes: Readonly<Record<string, number>>,
): T[] {
  const kernels = kernelsOf(tf);
  const values = new Map<Tensor, T>();
  const lookUp = (tensor: Tensor): T => {
    const value = values.get(tensor) ?? known.get(tensor.name) ?? constant(tf, tensor);
    values.set(tensor, value);
    return value;
  };
  for (const node of nodesFor(tensors)) {
    const results = node.visit((typed) =>
      kernels[typed.operation]({ node: typed, inputs: typed.inputs.map(lookUp), sizes }),
    );
    for (const [position, output] of node.outputs.entries()) {
      const result = results[position];
      if (result !== undefined) values.set(output, result);
    }
  }
  return tensors.map(lookUp);
}

function constant<T>(tf: TensorFlow<T>, { name, type, shape, source }: Tensor): T {
  if (source.kind !== 'constant') throw new RangeError(`no value is given for ${name}`);
  const target = tensorFlowType(type);
  const values = target === 'float32' ? Float32Array.from(source.values) : Int32Array.from(source.values);
  return tf.tensor(values, shape.map(Number), target);
}
