import { basename } from 'node:path';
import type { CompileOptions } from '../executor.js';
import type { Graph } from '../graph.js';
import { type Node, type NodeOf, nodesFor, type Tensor } from '../node.js';
import { type OperationName, operations } from '../operations/operation.js';
import type { Quantization, Range } from '../quantization.js';
import { type Dimension, type Shape, ShapeError, volume } from '../shape.js';
import {
  inputRounding,
  integerFactor,
  integerRows,
  isPackable,
  OFFSET,
  type PackedTable,
  packedRows,
} from './integer-weights.js';
import { FILE_LOWERING, type Lowering } from './lowering.js';
import { OnnxBuilder } from './onnx-builder.js';
import {
  ElementTypeCode,
  LateNumbers,
  type ModelProto,
  modelPieces,
  PRODUCER,
  type TensorProto,
  type ValueInfoProto,
} from './schema.js';

interface QuantizedContext<Name extends OperationName> {
  readonly builder: OnnxBuilder;
  readonly node: NodeOf<Name>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly weights: ReadonlyMap<string, Float32Array>;
  readonly quantization: Quantization;
}

/** Emits the quantized nodes, if the node reads a quantized weight. @returns whether it did. */
type QuantizedForm<Name extends OperationName> = (context: QuantizedContext<Name>) => boolean;

const quantizedForms: { readonly [Name in OperationName]?: QuantizedForm<Name> } = {
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
    if (bits === 4 && isPackable(width)) emitPackedRows(builder, { table, values }, indices, outputs, quantization);
    else emitIntegerRows(builder, { table, values }, indices, outputs);
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

function emitIntegerRows(builder: OnnxBuilder, table: Table, indices: string, outputs: readonly string[]): void {
  builder.node('Gather', [restoredTable(builder, table), indices], outputs, ROWS);
}

/** A table of 8 or 4 bits per entry as float32. The runtime computes it once: it depends on no input. */
function restoredTable(builder: OnnxBuilder, { table, values }: Table): string {
  const [rows = 0, width = 0] = table.shape.map(Number);
  const { integers, scales } = integerRows(values, rows);
  builder.initializer(`${table.name}.integers`, 'int8', [rows, width], integers);
  builder.initializer(`${table.name}.scales`, 'float32', [rows, 1], scales);
  const cast = builder.computed('Cast', [`${table.name}.integers`], {
    to: { int: builder.elementType('float32') },
  });
  return builder.computed('Mul', [cast, `${table.name}.scales`]);
}

/** By the tables of a quantization, which belongs to one model's weights, and by their names. */
const packedTables = new WeakMap<Quantization['tables'], Map<string, PackedTable>>();

/** Several graphs of a model have the same tables, and packing a large one takes half a second. */
function packedOnce({ tables }: Quantization, name: string, values: Float32Array, width: number): PackedTable {
  const known = packedTables.get(tables) ?? new Map<string, PackedTable>();
  packedTables.set(tables, known);
  const packed = known.get(name) ?? packedRows(values, width);
  known.set(name, packed);
  return packed;
}

/** 4 bits per entry. GatherBlockQuantized takes several times as long: it divides three times per entry. */
function emitPackedRows(
  builder: OnnxBuilder,
  { table, values }: Table,
  indices: string,
  outputs: readonly string[],
  quantization: Quantization,
): void {
  const [rows = 0, width = 0] = table.shape.map(Number);
  const { bytes, rowScales, columnScales } = packedOnce(quantization, table.name, values, width);
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

/** Operator set 21 (ONNX 1.16) is the first with every operator used here in its present form. */
const OPERATOR_SET = 21;
const IR_VERSION = 10;

const NOT_QUANTIZED: Quantization = { linear: new Map(), tables: new Map() };

interface LoweredGraph {
  readonly model: Uint8Array;
  /** Inputs in addition to those of the graph: int64 vectors of these shapes' sizes in the run. */
  readonly shapeInputs: ReadonlyMap<string, Shape>;
}

/** The graph as an ONNX model, piece by piece. Parameters without `weights` become inputs. */
export function onnxPieces(
  graph: Graph,
  weights: ReadonlyMap<string, Float32Array>,
  quantization: Quantization = NOT_QUANTIZED,
): Iterable<Uint8Array> {
  return modelPieces(describeModel(graph, { weights, quantization }, FILE_LOWERING).model);
}

/** The graph for one provider, with the weights that are fixed. */
export function lowerGraph(graph: Graph, options: CompileOptions, lowering: Lowering): LoweredGraph {
  const { model, shapeInputs } = describeModel(graph, options, lowering);
  return { model: Buffer.concat([...modelPieces(model)]), shapeInputs };
}

interface DescribedModel {
  readonly model: ModelProto;
  readonly shapeInputs: ReadonlyMap<string, Shape>;
}

function describeModel(
  graph: Graph,
  { weights = new Map(), quantization = NOT_QUANTIZED, stored }: CompileOptions,
  lowering: Lowering,
): DescribedModel {
  const nodes = nodesFor([...graph.outputs.values()]);
  const builder = new OnnxBuilder(graph.inputs, lowering.shapes);
  const names = outputNames(graph);
  const nameOf = (tensor: Tensor) => names.get(tensor) ?? tensor.name;
  const plain = nodes.filter((node) => !emit(builder, node, nameOf, { weights, quantization, lowering }));
  for (const tensor of inputsOf(nodes)) addConstant(builder, tensor);
  const fed = [...graph.inputs];
  const used = inputsOf(plain);
  for (const parameter of graph.parameters.filter((each) => used.has(each))) {
    const dims = parameter.shape.map(Number);
    const offset = stored?.offsets.get(parameter.name);
    if (weights.has(parameter.name)) builder.initializers.push(lateInitializer(parameter.name, dims, weights));
    else if (stored === undefined || offset === undefined) fed.push(parameter);
    else builder.storedInitializer(parameter.name, dims, basename(stored.file), offset);
  }
  addCopies(builder, graph, names);
  const shapes = [...builder.shapeInputs].map(([name, { length }]) => shapeInfo(name, length));
  const model = {
    irVersion: IR_VERSION,
    producerName: PRODUCER,
    opsetImport: [
      { domain: '', version: OPERATOR_SET },
      { domain: 'com.microsoft', version: 1 },
    ],
    graph: {
      name: 'orchard',
      node: builder.nodes,
      initializer: builder.initializers,
      input: [...fed.map((tensor) => valueInfo(tensor.name, tensor)), ...shapes],
      output: [...graph.outputs].map(([name, tensor]) => valueInfo(name, tensor)),
    },
  };
  return { model, shapeInputs: builder.shapeInputs };
}

function lateInitializer(
  name: string,
  dims: readonly number[],
  weights: ReadonlyMap<string, Float32Array>,
): TensorProto {
  const rawData = new LateNumbers(Float32Array.BYTES_PER_ELEMENT * volume(dims), () => {
    const values = weights.get(name);
    if (values?.length === volume(dims)) return values;
    throw new ShapeError(`the weight ${name} has ${values?.length} numbers, its parameter ${volume(dims)}`);
  });
  return { name, dataType: ElementTypeCode.float32, dims, rawData };
}

function inputsOf(nodes: readonly Node[]): ReadonlySet<Tensor> {
  return new Set(nodes.flatMap((node) => node.inputs));
}

function addConstant(builder: OnnxBuilder, tensor: Tensor): void {
  if (tensor.source.kind !== 'constant') return;
  const { values } = tensor.source;
  const data = tensor.type === 'int64' ? BigInt64Array.from(values, BigInt) : typedValues(tensor.type, values);
  builder.initializer(tensor.name, tensor.type, tensor.shape.map(Number), data);
}

function typedValues(type: 'float32' | 'int32', values: readonly number[]): Float32Array | Int32Array {
  return type === 'float32' ? Float32Array.from(values) : Int32Array.from(values);
}

/** A node's tensor takes the name of the first graph output that it is. */
function outputNames(graph: Graph): ReadonlyMap<Tensor, string> {
  const names = new Map<Tensor, string>();
  for (const [name, tensor] of graph.outputs) {
    if (tensor.source.kind === 'node' && !names.has(tensor)) names.set(tensor, name);
  }
  return names;
}

/** Adds copies for the further outputs of one tensor, and for outputs that are inputs. */
function addCopies(builder: OnnxBuilder, graph: Graph, names: ReadonlyMap<Tensor, string>): void {
  for (const [name, tensor] of graph.outputs) {
    const source = names.get(tensor) ?? tensor.name;
    if (source !== name) builder.node('Identity', [source], [name]);
  }
}

interface Emitting {
  readonly weights: ReadonlyMap<string, Float32Array>;
  readonly quantization: Quantization;
  readonly lowering: Lowering;
}

/** Adds the ONNX nodes of one graph node. @returns whether its weight is stored as integers. */
function emit(
  builder: OnnxBuilder,
  node: Node,
  nameOf: (tensor: Tensor) => string,
  { weights, quantization, lowering }: Emitting,
): boolean {
  return node.visit((typed) => {
    const inputs = typed.inputs.map(nameOf);
    const outputs = typed.outputs.map(nameOf);
    const context = { builder, node: typed, inputs, outputs };
    if (quantizedForms[typed.operation]?.({ ...context, weights, quantization })) return true;
    const form = lowering.forms[typed.operation] ?? operations[typed.operation].onnx;
    form(context);
    return false;
  });
}

function shapeInfo(name: string, rank: number): ValueInfoProto {
  const shape = { dim: [{ dimValue: rank }] };
  return { name, type: { tensorType: { elemType: ElementTypeCode.int64, shape } } };
}

function valueInfo(name: string, { type, shape }: Tensor): ValueInfoProto {
  const dim = shape.map((dimension: Dimension) =>
    typeof dimension === 'number' ? { dimValue: dimension } : { dimParam: dimension },
  );
  return { name, type: { tensorType: { elemType: ElementTypeCode[type], shape: { dim } } } };
}
