/**
 * The part of TensorFlow.js that is used here, which `@tensorflow/tfjs` and `@tensorflow/tfjs-node` both
 * have. T is their tensor.
 */
export interface TensorFlow<T> {
  tidy(compute: () => void): void;
  keep(tensor: T): T;
  tensor(values: Float32Array | Int32Array, shape: number[], type: 'float32' | 'int32'): T;
  add(a: T, b: T): T;
  sub(a: T, b: T): T;
  mul(a: T, b: T): T;
  div(a: T, b: T): T;
  exp(x: T): T;
  erf(x: T): T;
  sqrt(x: T): T;
  greater(a: T, b: T): T;
  equal(a: T, b: T): T;
  tanh(x: T): T;
  sigmoid(x: T): T;
  softplus(x: T): T;
  rsqrt(x: T): T;
  softmax(x: T): T;
  logSoftmax(x: T): T;
  matMul(a: T, b: T, transposeA: boolean, transposeB: boolean): T;
  mean(x: T, axis: number, keepDimensions: boolean): T;
  sum(x: T, axes: number[], keepDimensions: boolean): T;
  gather(x: T, indices: T): T;
  scatterND(indices: T, updates: T, shape: number[]): T;
  broadcastTo(x: T, shape: number[]): T;
  slice(x: T, begin: number[], size: number[]): T;
  concat(tensors: T[], axis: number): T;
  pad(x: T, paddings: [number, number][]): T;
  reshape(x: T, shape: number[]): T;
  transpose(x: T, permutation: number[]): T;
  cast(x: T, type: 'float32' | 'int32'): T;
  range(start: number, stop: number, step: number, type: 'int32'): T;
}

/** The part of a TensorFlow.js tensor that is used here. */
export interface TensorFlowTensor {
  readonly shape: number[];
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}

/** Tells the compiler what the tensors of a TensorFlow.js are. */
export interface TensorFlowClasses<T> {
  readonly Tensor: abstract new (...parts: never) => T;
}
