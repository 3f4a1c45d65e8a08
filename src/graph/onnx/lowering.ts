import type { ExecutionProvider } from '../../contract/index.js';
import type { NodeOf } from '../node.js';
import type { BatchMatMulAttributes, OperationName } from '../operations/operation.js';
import type { Dimension } from '../shape.js';
import type { OnnxBuilder } from './onnx-builder.js';

/** How operations are written for a provider that lacks the nodes of their usual form. */

interface FormContext<Name extends OperationName> {
  readonly builder: OnnxBuilder;
  readonly node: NodeOf<Name>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

type Forms = { readonly [Name in OperationName]?: (context: FormContext<Name>) => void };

export interface Lowering {
  readonly forms: Forms;
  /** Shapes with symbols: `computed` by int64 nodes, which devices leave to the CPU, or `fed` at every run. */
  readonly shapes: 'computed' | 'fed';
}

/** The usual form, which the CPU and CUDA compute as it is. */
export const FILE_LOWERING: Lowering = { forms: {}, shapes: 'computed' };

interface PlainProduct {
  readonly rank: number;
  readonly attributes: BatchMatMulAttributes;
  /** Whether the left operand is multiplied by α, as where it is smaller than the product; else the product is. */
  readonly scalesLeft: boolean;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Transposes what is not as MatMul takes it. */
export function emitBatchMatMul(
  builder: OnnxBuilder,
  { rank, attributes, scalesLeft, inputs: [a = '', b = ''], outputs }: PlainProduct,
): void {
  const { alpha, transposeA, transposeB, rowsFirstA, rowsFirstB } = attributes;
  const left = inOrder(builder, a, permutation(rank, transposeA, rowsFirstA));
  const right = inOrder(builder, b, permutation(rank, transposeB, rowsFirstB));
  const factor = builder.floats([alpha], []);
  if (alpha === 1) builder.node('MatMul', [left, right], outputs);
  else if (scalesLeft) builder.node('MatMul', [builder.computed('Mul', [left, factor]), right], outputs);
  else builder.node('Mul', [builder.computed('MatMul', [left, right]), factor], outputs);
}

/** Operators of ONNX alone, and of those the ones that WebGPU has kernels for. */
const deviceForms: Forms = {
  batchMatMul: ({ builder, node: { inputs: operands, attributes }, inputs, outputs }) => {
    const [a, b] = operands;
    const { transposeA, transposeB, rowsFirstA, rowsFirstB } = attributes;
    const inner = a.shape.at(transposeA ? (rowsFirstA ? 0 : -2) : -1);
    const outer = b.shape.at(transposeB ? (rowsFirstB ? 0 : -2) : -1);
    const scalesLeft = size(inner) < size(outer);
    emitBatchMatMul(builder, { rank: a.shape.length, attributes, scalesLeft, inputs, outputs });
  },

  /** x − max − ln Σ e^(x − max), which no logit is too large or too small for. */
  logSoftmax: ({ builder, inputs: [x = ''], outputs }) => {
    const axis = builder.integers([-1]);
    const most = builder.computed('ReduceMax', [x, axis], { keepdims: { int: 1 } });
    const below = builder.computed('Sub', [x, most]);
    const sum = builder.computed('ReduceSum', [builder.computed('Exp', [below]), axis], {
      keepdims: { int: 1 },
    });
    builder.node('Sub', [below, builder.computed('Log', [sum])], outputs);
  },

  /** max(x, 0) + ln(1 + e^−|x|), finite for any x. */
  softplus: ({ builder, inputs, outputs }) => {
    const negative = builder.computed('Neg', [builder.computed('Abs', inputs)]);
    const grown = builder.computed('Add', [builder.computed('Exp', [negative]), builder.floats([1], [])]);
    builder.node('Add', [builder.computed('Relu', inputs), builder.computed('Log', [grown])], outputs);
  },

  columnSum: ({ builder, inputs, outputs }) =>
    builder.node('ReduceSum', [...inputs, builder.integers([0])], outputs, { keepdims: { int: 0 } }),
};

const DEVICE_LOWERING: Lowering = { forms: deviceForms, shapes: 'fed' };

export function loweringFor(provider: ExecutionProvider): Lowering {
  return provider === 'cpu' || provider === 'cuda' ? FILE_LOWERING : DEVICE_LOWERING;
}

/** Where the axes of op(x), […batch, rows, columns], are in x as it is stored. */
function permutation(rank: number, transpose: boolean, rowsFirst: boolean): number[] {
  const batch = Array.from({ length: rank - 2 }, (_, axis) => (rowsFirst ? axis + 1 : axis));
  const rows = rowsFirst ? 0 : rank - 2;
  return transpose ? [...batch, rank - 1, rows] : [...batch, rows, rank - 1];
}

function inOrder(builder: OnnxBuilder, name: string, permutation: readonly number[]): string {
  if (permutation.every((axis, position) => axis === position)) return name;
  return builder.computed('Transpose', [name], { perm: { ints: permutation } });
}

/** A symbol is a number of tokens or texts, which is usually larger than the known dimensions. */
function size(dimension: Dimension | undefined): number {
  return typeof dimension === 'number' ? dimension : Number.POSITIVE_INFINITY;
}
