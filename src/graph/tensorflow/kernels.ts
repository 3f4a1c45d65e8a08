import type { NodeOf } from '../node.js';
import type { OperationName } from '../operations/index.js';
import { resolveShape } from '../shape.js';
import type { ElementType } from '../tensor.js';
import type { TensorFlow, TensorFlowTensor } from './tensorflow.js';

/** What a kernel computes its node's outputs from. */
export interface KernelContext<Name extends OperationName> {
  readonly tf: TensorFlow;
  readonly node: NodeOf<Name>;
  readonly inputs: readonly TensorFlowTensor[];
  /** Values of the symbols that shapes are written in. */
  readonly sizes: Readonly<Record<string, number>>;
}

type Kernel<Name extends OperationName> = (context: KernelContext<Name>) => readonly TensorFlowTensor[];
type Unary = 'exp' | 'tanh' | 'sigmoid' | 'softplus' | 'softmax' | 'logSoftmax';
type Binary = 'add' | 'subtract' | 'multiply' | 'divide';

const unary =
  (compute: (tf: TensorFlow, x: TensorFlowTensor) => TensorFlowTensor): Kernel<Unary> =>
  ({ tf, inputs }) => [compute(tf, at(inputs, 0))];

const binary =
  (compute: (tf: TensorFlow, a: TensorFlowTensor, b: TensorFlowTensor) => TensorFlowTensor): Kernel<Binary> =>
  ({ tf, inputs }) => [compute(tf, at(inputs, 0), at(inputs, 1))];

/** Every operation in TensorFlow.js, from operations that it can differentiate by itself. */
export const kernels: { readonly [Name in OperationName]: Kernel<Name> } = {
  add: binary((tf, a, b) => tf.add(a, b)),
  subtract: binary((tf, a, b) => tf.sub(a, b)),
  multiply: binary((tf, a, b) => tf.mul(a, b)),
  divide: binary((tf, a, b) => tf.div(a, b)),
  exp: unary((tf, x) => tf.exp(x)),
  tanh: unary((tf, x) => tf.tanh(x)),
  sigmoid: unary((tf, x) => tf.sigmoid(x)),
  softplus: unary((tf, x) => tf.softplus(x)),
  softmax: unary((tf, x) => tf.softmax(x)),
  logSoftmax: unary((tf, x) => tf.logSoftmax(x)),

  scale: ({ tf, node, inputs }) => [tf.mul(at(inputs, 0), scalar(tf, node.attributes.factor))],

  gaussianGate({ tf, inputs }) {
    const z = at(inputs, 0);
    const half = scalar(tf, 0.5);
    const gate = tf.add(tf.mul(tf.erf(z), half), half);
    return [tf.mul(z, gate), gate];
  },

  gemm({ tf, node: { attributes }, inputs: [a, b, c] }) {
    const { transposeA, transposeB, alpha, beta } = attributes;
    const product = tf.matMul(given(a), given(b), transposeA, transposeB);
    const scaled = alpha === 1 ? product : tf.mul(product, scalar(tf, alpha));
    if (c === undefined) return [scaled];
    return [tf.add(scaled, beta === 1 ? c : tf.mul(c, scalar(tf, beta)))];
  },

  batchMatMul({ tf, node: { attributes }, inputs: [a, b] }) {
    const { transposeA, transposeB, rowsFirstA, rowsFirstB, alpha } = attributes;
    const left = rowsFirstA ? rowsLast(tf, given(a)) : given(a);
    const right = rowsFirstB ? rowsLast(tf, given(b)) : given(b);
    const product = tf.matMul(left, right, transposeA, transposeB);
    return [alpha === 1 ? product : tf.mul(product, scalar(tf, alpha))];
  },

  layerNorm({ tf, node, inputs: [x, gamma, beta] }) {
    const mean = tf.mean(given(x), -1, true);
    const centred = tf.sub(given(x), mean);
    const variance = tf.mean(tf.mul(centred, centred), -1, true);
    const inverseDeviation = tf.rsqrt(tf.add(variance, scalar(tf, node.attributes.epsilon)));
    const normalized = tf.mul(centred, inverseDeviation);
    return [tf.add(tf.mul(normalized, given(gamma)), given(beta)), mean, inverseDeviation];
  },

  gather: ({ tf, inputs: [table, indices] }) => [tf.gather(given(table), given(indices))],
  reduceSum: ({ tf, node: { attributes }, inputs }) => [
    tf.sum(at(inputs, 0), [...attributes.axes], attributes.keepDimensions),
  ],
  columnSum: ({ tf, inputs }) => [tf.sum(at(inputs, 0), [0], false)],
  expand: ({ tf, node, inputs, sizes }) => [
    tf.broadcastTo(at(inputs, 0), resolveShape(node.attributes.shape, sizes)),
  ],
  reshape: ({ tf, node, inputs, sizes }) => [
    tf.reshape(at(inputs, 0), resolveShape(node.attributes.shape, sizes)),
  ],
  transpose: ({ tf, node, inputs }) => [tf.transpose(at(inputs, 0), [...node.attributes.permutation])],
  rowNumbers: ({ tf, inputs }) => [tf.range(0, at(inputs, 0).shape[0] ?? 0, 1, 'int32')],
  cast: ({ tf, node, inputs }) => [tf.cast(at(inputs, 0), tensorFlowType(node.attributes.type))],
};

/** TensorFlow.js has no int64; ids fit in 32 bits. */
export function tensorFlowType(type: ElementType): 'float32' | 'int32' {
  return type === 'float32' ? 'float32' : 'int32';
}

/** [rows, …batch, columns] → […batch, rows, columns]. */
function rowsLast(tf: TensorFlow, x: TensorFlowTensor): TensorFlowTensor {
  const rank = x.shape.length;
  const batchAxes = Array.from({ length: rank - 2 }, (_, axis) => axis + 1);
  return tf.transpose(x, [...batchAxes, 0, rank - 1]);
}

function scalar(tf: TensorFlow, value: number): TensorFlowTensor {
  return tf.tensor(Float32Array.of(value), [], 'float32');
}

function at(inputs: readonly TensorFlowTensor[], position: number): TensorFlowTensor {
  return given(inputs[position]);
}

function given(input: TensorFlowTensor | undefined): TensorFlowTensor {
  if (input === undefined) throw new RangeError('the node has fewer inputs than its operation takes');
  return input;
}
