/** ONNX nodes of operations whose weights are stored as integers. */
import type { NodeOf } from '../node.js';
import type { OperationName } from '../operations/index.js';
import type { Quantization, Range } from '../quantization.js';
import { inputRounding, integerFactor } from './integer-weights.js';
import type { OnnxBuilder } from './onnx-builder.js';
import { isPackable } from './packed-rows.js';
import { emitIntegerRows, emitPackedRows } from './quantized-rows.js';

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
    const values = weights.get(weight.name);
    const biases = bias && weights.get(bias.name);
    if (range === undefined || values === undefined || (bias && biases === undefined)) return false;
    emitLinear(context, range, values, biases);
    return true;
  },
  gather: (context) => {
    const { builder, node, inputs, outputs, quantization, weights } = context;
    const [table] = node.inputs;
    const [, indices = ''] = inputs;
    const values = weights.get(table.name);
    const bits = quantization.tables.get(table.name);
    if (bits === undefined || values === undefined) return false;
    const [, width = 0] = table.shape.map(Number);
    const emitRows = bits === 4 && isPackable(width) ? emitPackedRows : emitIntegerRows;
    emitRows(builder, { table, values }, indices, outputs);
    return true;
  },
};

/** α·x·Wᵀ + β·b in integer arithmetic: scale_x·scale_W[n]·Σ (x − zero)·W, with α inside scale_W. */
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
  const factors = scales.map((each) => each * alpha);
  const name = weight.name;
  builder.initializer(`${name}.integers`, 'int8', [inputCount, outputCount], integers);
  builder.initializer(`${name}.scales`, 'float32', [outputCount], factors);
  builder.initializer(`${name}.zeros`, 'int8', [outputCount], new Int8Array(outputCount));
  if (biases) {
    const steps = Int32Array.from(biases, (bias, at) =>
      Math.round((beta * bias) / (scale * (factors[at] ?? 1))),
    );
    builder.initializer(`${name}.bias`, 'int32', [outputCount], steps);
  }
  const { rounded, scaleName, zeroName } = roundedInput(builder, input, scale, zero);
  const weightNames = [`${name}.integers`, `${name}.scales`, `${name}.zeros`];
  const read = [rounded, scaleName, zeroName, ...weightNames, ...(biases ? [`${name}.bias`] : [])];
  builder.node('QGemm', read, outputs, {}, 'com.microsoft');
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
