/** The part of TensorFlow.js that is used here; `@tensorflow/tfjs` and `@tensorflow/tfjs-node` both have it. */
export interface TensorFlow {
  tidy<Result>(compute: () => Result): Result;
  tensor(values: Float32Array | Int32Array, shape: number[], type: 'float32' | 'int32'): TensorFlowTensor;
  add(a: TensorFlowTensor, b: TensorFlowTensor): TensorFlowTensor;
  sub(a: TensorFlowTensor, b: TensorFlowTensor): TensorFlowTensor;
  mul(a: TensorFlowTensor, b: TensorFlowTensor): TensorFlowTensor;
  div(a: TensorFlowTensor, b: TensorFlowTensor): TensorFlowTensor;
  exp(x: TensorFlowTensor): TensorFlowTensor;
  erf(x: TensorFlowTensor): TensorFlowTensor;
  tanh(x: TensorFlowTensor): TensorFlowTensor;
  sigmoid(x: TensorFlowTensor): TensorFlowTensor;
  softplus(x: TensorFlowTensor): TensorFlowTensor;
  rsqrt(x: TensorFlowTensor): TensorFlowTensor;
  softmax(x: TensorFlowTensor): TensorFlowTensor;
  logSoftmax(x: TensorFlowTensor): TensorFlowTensor;
  matMul(
    a: TensorFlowTensor,
    b: TensorFlowTensor,
    transposeA: boolean,
    transposeB: boolean,
  ): TensorFlowTensor;
  mean(x: TensorFlowTensor, axis: number, keepDimensions: boolean): TensorFlowTensor;
  sum(x: TensorFlowTensor, axes: number[], keepDimensions: boolean): TensorFlowTensor;
  gather(x: TensorFlowTensor, indices: TensorFlowTensor): TensorFlowTensor;
  broadcastTo(x: TensorFlowTensor, shape: number[]): TensorFlowTensor;
  reshape(x: TensorFlowTensor, shape: number[]): TensorFlowTensor;
  transpose(x: TensorFlowTensor, permutation: number[]): TensorFlowTensor;
  cast(x: TensorFlowTensor, type: 'float32' | 'int32'): TensorFlowTensor;
  range(start: number, stop: number, step: number, type: 'int32'): TensorFlowTensor;
}

export interface TensorFlowTensor {
  readonly shape: number[];
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}
