/** What each operation takes and gives: the one list of operations, exhaustive by type everywhere else. */
import type { Shape } from '../shape.js';
import type { ElementType, Tensor } from '../tensor.js';

type One = readonly [Tensor];
type Two = readonly [Tensor, Tensor];
type Three = readonly [Tensor, Tensor, Tensor];
type None = Readonly<Record<never, never>>;

export interface GemmAttributes {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly alpha: number;
  readonly beta: number;
}

export interface BatchMatMulAttributes {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  /** The operand is stored [rows, …batch, columns] instead of […batch, rows, columns]. */
  readonly rowsFirstA: boolean;
  readonly rowsFirstB: boolean;
  readonly alpha: number;
}

export interface Signatures {
  add: { inputs: Two; attributes: None };
  subtract: { inputs: Two; attributes: None };
  multiply: { inputs: Two; attributes: None };
  divide: { inputs: Two; attributes: None };
  scale: { inputs: One; attributes: { readonly factor: number } };
  exp: { inputs: One; attributes: None };
  sqrt: { inputs: One; attributes: None };
  tanh: { inputs: One; attributes: None };
  sigmoid: { inputs: One; attributes: None };
  softplus: { inputs: One; attributes: None };
  gaussianGate: { inputs: One; attributes: None };
  gemm: { inputs: Two | Three; attributes: GemmAttributes };
  batchMatMul: { inputs: Two; attributes: BatchMatMulAttributes };
  softmax: { inputs: One; attributes: None };
  logSoftmax: { inputs: One; attributes: None };
  layerNorm: { inputs: Three; attributes: { readonly epsilon: number } };
  gather: { inputs: Two; attributes: None };
  reduceSum: {
    inputs: One;
    attributes: { readonly axes: readonly number[]; readonly keepDimensions: boolean };
  };
  columnSum: { inputs: One; attributes: None };
  expand: { inputs: One; attributes: { readonly shape: Shape } };
  reshape: { inputs: One; attributes: { readonly shape: Shape } };
  transpose: { inputs: One; attributes: { readonly permutation: readonly number[] } };
  rowNumbers: { inputs: One; attributes: None };
  cast: { inputs: One; attributes: { readonly type: ElementType } };
}

export type OperationName = keyof Signatures;
