import type { Graph } from '../graph.js';
import type { ElementType, NodeOf, Tensor } from '../node.js';
import type { OnnxBuilder } from '../onnx/onnx-builder.js';
import type { Shape } from '../shape.js';
import * as arithmetic from './arithmetic.js';
import * as layout from './layout.js';

/** The inputs of an operation on one tensor. */
export type Unary = readonly [Tensor];
/** The inputs of an operation on two tensors. */
export type Binary = readonly [Tensor, Tensor];
/** The inputs of an operation on three tensors. */
export type Ternary = readonly [Tensor, Tensor, Tensor];
/** The inputs of an operation on any number of tensors. */
export type Several = readonly [Tensor, ...Tensor[]];
/** The attributes of an operation that has none. */
export type NoAttributes = Readonly<Record<never, never>>;

/** α·op(a)·op(b) + β·c: what op is, and the factors. */
export interface GemmAttributes {
  /** Whether op(a) is aᵀ. */
  readonly transposeA: boolean;
  /** Whether op(b) is bᵀ. */
  readonly transposeB: boolean;
  /** α. */
  readonly alpha: number;
  /** β; without c, it has no effect. */
  readonly beta: number;
}

/** α·op(a)·op(b), matrix by matrix: what op is, how the operands are stored, and the factor. */
export interface BatchMatMulAttributes {
  /** Whether op(a) is aᵀ, for each matrix. */
  readonly transposeA: boolean;
  /** Whether op(b) is bᵀ, for each matrix. */
  readonly transposeB: boolean;
  /** Whether a is stored [rows, …batch, columns] instead of […batch, rows, columns]. */
  readonly rowsFirstA: boolean;
  /** The same for b. */
  readonly rowsFirstB: boolean;
  /** α. */
  readonly alpha: number;
}

/** Which part of a tensor: from ≤ index < to along an axis, which is not negative. */
export interface SliceAttributes {
  readonly axis: number;
  readonly from: number;
  readonly to: number;
}

/**
 * What each operation takes; the method of `Graph` with the same name says what it computes. Attributes that
 * are optional there are always present here.
 */
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
  gelu: { inputs: Unary; attributes: NoAttributes };
  geluTanh: { inputs: Unary; attributes: NoAttributes };
  greater: { inputs: Binary; attributes: NoAttributes };
  equal: { inputs: Binary; attributes: NoAttributes };
  gemm: { inputs: Binary | Ternary; attributes: GemmAttributes };
  batchMatMul: { inputs: Binary; attributes: BatchMatMulAttributes };
  softmax: { inputs: Unary; attributes: NoAttributes };
  logSoftmax: { inputs: Unary; attributes: NoAttributes };
  layerNorm: { inputs: Ternary; attributes: { readonly epsilon: number } };
  gather: { inputs: Binary; attributes: NoAttributes };
  firstRows: { inputs: Binary; attributes: { readonly first: number } };
  placeRows: { inputs: Binary; attributes: { readonly count: number } };
  reduceSum: {
    inputs: Unary;
    attributes: { readonly axes: readonly number[]; readonly keepDimensions: boolean };
  };
  columnSum: { inputs: Unary; attributes: NoAttributes };
  expand: { inputs: Unary; attributes: { readonly shape: Shape } };
  reshape: { inputs: Unary; attributes: { readonly shape: Shape } };
  transpose: { inputs: Unary; attributes: { readonly permutation: readonly number[] } };
  slice: { inputs: Unary; attributes: SliceAttributes };
  concat: { inputs: Several; attributes: { readonly axis: number } };
  relativeToAbsolute: { inputs: Unary; attributes: NoAttributes };
  absoluteToRelative: { inputs: Unary; attributes: NoAttributes };
  rowDistances: { inputs: Unary; attributes: NoAttributes };
  rowNumbers: { inputs: Unary; attributes: NoAttributes };
  cast: { inputs: Unary; attributes: { readonly type: ElementType } };
}

/** An operation, by the name of the method of `Graph` that applies it. */
export type OperationName = keyof Signatures;

interface OutputDescription {
  readonly shape: Shape;
  /** Default: the type of the first input. */
  readonly type?: ElementType;
}

/** The node, and ∂loss/∂(its first output): no rule needs the gradient of a further output. */
interface GradientContext<Name extends OperationName> extends NodeOf<Name> {
  readonly graph: Graph;
  readonly outputGradient: Tensor;
}

/**
 * A sparse gradient: that of a table of which only some rows were read. Row i of `rows`, flattened to [number
 * of indices, width], belongs to row `indices[i]` of the table. The rows are summed into the table's gradient
 * outside the graph, which is cheaper than a scatter inside it.
 */
export interface RowGradient {
  readonly kind: 'rows';
  readonly rows: Tensor;
  readonly indices: Tensor;
}

/** The gradient of a part of a tensor, [from, from + the part's size) along an axis; that of the rest is 0. */
export interface PartGradient {
  readonly kind: 'part';
  readonly part: Tensor;
  readonly axis: number;
  readonly from: number;
}

export type InputGradient = Tensor | RowGradient | PartGradient | undefined;

/** Everything about one operation: shapes, ONNX nodes, gradient. */
export interface Operation<Name extends OperationName> {
  /** Shapes (and types) of the outputs. @throws ShapeError for inputs that do not fit. */
  describe(
    inputs: Signatures[Name]['inputs'],
    attributes: Signatures[Name]['attributes'],
  ): readonly OutputDescription[];
  /** Emits the ONNX nodes that compute `outputs` from `inputs`, both by name. */
  onnx(context: {
    readonly builder: OnnxBuilder;
    readonly node: NodeOf<Name>;
    readonly inputs: readonly string[];
    readonly outputs: readonly string[];
  }): void;
  /** ∂loss/∂input for each input; undefined if there is none. Unused ones are never computed. */
  gradient(context: GradientContext<Name>): readonly InputGradient[];
  /** The result plus `addend`; undefined if the operation can't add it at no extra cost. */
  plus?(graph: Graph, node: NodeOf<Name>, addend: Tensor): Tensor | undefined;
}

/** Shapes, ONNX form and gradient rule of each operation. */
export const operations: { readonly [Name in OperationName]: Operation<Name> } = { ...arithmetic, ...layout };
