/** ONNX nodes of operations whose weights are stored as integers. */

import type { NodeOf, Tensor } from '../node.js';
import { operations } from '../operations/index.js';
import type { OperationName } from '../operations/operation.js';
import type { Quantization, Range } from '../quantization.js';
import { inputRounding, integerFactor, integerRows } from './integer-weights.js';
import type { OnnxBuilder } from './onnx-builder.js';
import { isPackable, OFFSET, packedRows } from './packed-rows.js';

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

interface Table {
  /** [rows, width]. */
  readonly table: Tensor;
  readonly values: Float32Array;
}

const ROWS = { axis: { int: 0 } };

/** Rows of a table in 8 bits. */
export function emitIntegerRows(
  builder: OnnxBuilder,
  table: Table,
  indices: string,
  outputs: readonly string[],
): void {
  builder.node('Gather', [restoredTable(builder, table), indices], outputs, ROWS);
}

/**
 * A table of 8 bits per entry, and one scale per row, as float32. Nothing in it depends on an input, so that
 * the runtime computes it once, when it loads the graph: small on disk, and read in one step. Tables that would
 * be large in memory take four bits.
 * @returns the tensor's name.
 */
export function restoredTable(builder: OnnxBuilder, { table, values }: Table): string {
  const [rows = 0, width = 0] = table.shape.map(Number);
  const { integers, scales } = integerRows(values, rows);
  builder.initializer(`${table.name}.integers`, 'int8', [rows, width], integers);
  builder.initializer(`${table.name}.scales`, 'float32', [rows, 1], scales);
  const cast = builder.computed('Cast', [`${table.name}.integers`], {
    to: { int: builder.elementType('float32') },
  });
  return builder.computed('Mul', [cast, `${table.name}.scales`]);
}

/**
 * 4 bits per entry, with a scale per row and per column. ONNX Runtime's GatherBlockQuantized reads four bits,
 * too, but divides three times per entry, which takes several times as long as all of these nodes together.
 */
export function emitPackedRows(
  builder: OnnxBuilder,
  { table, values }: Table,
  indices: string,
  outputs: readonly string[],
): void {
  const [rows = 0, width = 0] = table.shape.map(Number);
  const { bytes, rowScales, columnScales } = packedRows(values, width);
  const [packed, scales, columns] = [`${table.name}.packed`, `${table.name}.scales`, `${table.name}.columns`];
  builder.initializer(packed, 'uint8', [rows, width / 2], bytes);
  builder.initializer(scales, 'float32', [rows, 1], rowScales);
  builder.initializer(columns, 'float32', [width], columnScales);
  const picked = builder.computed('Gather', [packed, indices], ROWS);
  const first = builder.computed('BitwiseAnd', [picked, builder.byte(0b1111)]);
  const second = builder.computed('BitShift', [picked, builder.byte(4)], { direction: { text: 'RIGHT' } });
  const bits = builder.computed('Concat', [first, second], { axis: { int: -1 } });
  const one = builder.floats([1], []);
  const integers = builder.computed('DequantizeLinear', [bits, one, builder.byte(OFFSET)]);
  const ofColumns = builder.computed('Mul', [integers, columns]);
  const pickedScales = builder.computed('Gather', [scales, indices], ROWS);
  builder.node('Mul', [ofColumns, pickedScales], outputs);
}
