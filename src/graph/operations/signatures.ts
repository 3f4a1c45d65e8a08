/** What each operation takes and gives: the one list of operations, exhaustive by type everywhere else. */
import type { Shape } from '../shape.js';
import type { ElementType, Tensor } from '../tensor.js';

/** The inputs of an operation on one, two or three tensors. */
export type Unary = readonly [Tensor];
export type Binary = readonly [Tensor, Tensor];
export type Ternary = readonly [Tensor, Tensor, Tensor];
export type NoAttributes = Readonly<Record<never, never>>;

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
  add: { inputs: Binary; attributes: NoAttributes };
  subtract: { inputs: Binary; attributes: NoAttributes };
  multiply: { inputs: Binary; attributes: NoAttributes };
  divide: { inputs: Binary; attributes: NoAttributes };
  scale: { inputs: Unary; attributes: { readonly factor: number } };
  exp: { inputs: Unary; attributes: NoAttributes };
  sqrt: { inputs: Unary; attributes: NoAttributes };
  tanh: { inputs: Unary; attributes: NoAttributes };
  sigmoid: { inputs: Unary; attributes: NoAttributes };
  softplus: { inputs: Unary; attributes: NoAttributes };
  gaussianGate: { inputs: Unary; attributes: NoAttributes };
  gemm: { inputs: Binary | Ternary; attributes: GemmAttributes };
  batchMatMul: { inputs: Binary; attributes: BatchMatMulAttributes };
  softmax: { inputs: Unary; attributes: NoAttributes };
  logSoftmax: { inputs: Unary; attributes: NoAttributes };
  layerNorm: { inputs: Ternary; attributes: { readonly epsilon: number } };
  gather: { inputs: Binary; attributes: NoAttributes };
  reduceSum: {
    inputs: Unary;
    attributes: { readonly axes: readonly number[]; readonly keepDimensions: boolean };
  };
  columnSum: { inputs: Unary; attributes: NoAttributes };
  expand: { inputs: Unary; attributes: { readonly shape: Shape } };
  reshape: { inputs: Unary; attributes: { readonly shape: Shape } };
  transpose: { inputs: Unary; attributes: { readonly permutation: readonly number[] } };
  rowNumbers: { inputs: Unary; attributes: NoAttributes };
  cast: { inputs: Unary; attributes: { readonly type: ElementType } };
}

export type OperationName = keyof Signatures;
