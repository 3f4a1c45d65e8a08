/** ONNX nodes of operations whose weights are stored as integers. */
import type { NodeOf } from '../node.js';
import { type OperationName, operations } from '../operations/index.js';
import type { Quantization, Range } from '../quantization.js';
import { inputRounding, integerFactor } from './integer-weights.js';
import type { OnnxBuilder } from './onnx-builder.js';
import { isPackable } from './packed-rows.js';
import { emitIntegerRows, emitPackedRows, restoredTable } from './quantized-rows.js';

export interface QuantizedContext<Name extends OperationName> {
  readonly builder: OnnxBuilder;
  readonly node: NodeOf<Name>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly weights: ReadonlyMap<string, Float32Array>;
  readonly quantization: Quantization;
}

/** Emits the quantized nodes, if the node reads a quantized weight. @returns whether it did. */
type QuantizedForm<Name extends OperationName> = (context: QuantizedContext<Name>) => boolean;

export const quantizedForms: { readonly [Name in OperationName]?: QuantizedForm<Name> } = {
  gemm: (context) => {
    const { node, quantization, weights } = context;
    const [, weight, bias] = node.inputs;
    const range = quantization.linear.get(weight.name);
    if (range === undefined) return false;
    const values = weights.get(weight.name);
    const biases = bias && weights.get(bias.name);
    if (values === undefined || (bias && biases === undefined)) return false;
    emitLinear(context, range, values, biases);
    return true;
  },
  gather: (context) => {
    const { builder, node, inputs, outputs, quantization, weights } = context;
    const [table] = node.inputs;
    const [, indices = ''] = inputs;
    const bits = quantization.tables.get(table.name);
    const values = bits && weights.get(table.name);
    if (bits === undefined || !values) return false;
    const [, width = 0] = table.shape.map(Number);
    const emitRows = bits === 4 && isPackable(width) ? emitPackedRows : emitIntegerRows;
    emitRows(builder, { table, values }, indices, outputs);
    return true;
  },
  firstRows: ({ builder, node, inputs, outputs, quantization, weights }) => {
    const [table] = node.inputs;
    const values = quantization.tables.has(table.name) && weights.get(table.name);
    if (!values) return false;
    const restored = restoredTable(builder, { table, values });
    operations.firstRows.onnx({ builder, node, inputs: [restored, ...inputs.slice(1)], outputs });
    return true;
  },
};

/**
 * α·x·Wᵀ + β·b in integer arithmetic: scale_x·scale_W[n]·Σ (x − zero)·W, with α inside scale_W. QGemm computes
 * the same, but its sums take memory of their own, and its bias is rounded.
 */
function emitLinear(
  { builder, node, inputs, outputs }: QuantizedContext<'gemm'>,
  range: Range,
  values: Float32Array,
  biases: Float32Array | undefined,
): void {
  const { alpha, beta } = node.attributes;
  const [input = ''] = inputs;
  const [, weight] = node.inputs;
  const [outputCount = 0, inputCount = 0] = weight.shape.map(Number);
  const { scale, zero } = inputRounding(range);
  const { integers, scales } = integerFactor(values, outputCount);
  // Layers may share a weight, and then a name.
  const name = (part: string, factor = 1) => `${weight.name}.${part}${factor === 1 ? '' : ` ${factor}`}`;
  const dims = [inputCount, outputCount];
  const stored = builder.initializerOnce(name('integers'), 'int8', dims, () => integers);
  const ofColumns = builder.initializerOnce(name('scales', alpha), 'float32', [outputCount], () =>
    scales.map((each) => each * alpha),
  );
  const { rounded, scaleName, zeroName } = roundedInput(builder, input, scale, zero);
  // The name left empty is that of the weights' zero points, which are all 0.
  const read = [rounded, stored, scaleName, ofColumns, zeroName, ''];
  if (biases) {
    const scaled = () => biases.map((bias) => beta * bias);
    read.push(builder.initializerOnce(name('bias', beta), 'float32', [outputCount], scaled));
  }
  builder.node('MatMulIntegerToFloat', read, outputs, {}, 'com.microsoft');
}

/** Rounds an input once, even if several layers read it in the same range. */
function roundedInput(builder: OnnxBuilder, input: string, scale: number, zero: number) {
  const scaleName = builder.floats([scale], []);
  const zeroName = builder.byte(zero);
  const rounded = builder.once(`rounded ${input} ${scale} ${zero}`, (name) =>
    builder.node('QuantizeLinear', [input, scaleName, zeroName], [name]),
  );
  return { rounded, scaleName, zeroName };
}
