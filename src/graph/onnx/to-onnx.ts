import { basename } from 'node:path';
import type { CompileOptions } from '../executor.js';
import type { Graph } from '../graph.js';
import { type Node, nodesFor, type Tensor } from '../node.js';
import { operations } from '../operations/index.js';
import type { Quantization } from '../quantization.js';
import { type Dimension, type Shape, ShapeError, volume } from '../shape.js';
import { FILE_LOWERING, type Lowering } from './lowering.js';
import { OnnxBuilder } from './onnx-builder.js';
import { quantizedForms } from './quantized-forms.js';
import {
  ElementTypeCode,
  encode,
  type LateInitializer,
  type ModelProto,
  modelPieces,
  PRODUCER,
  type ValueInfoProto,
} from './schema.js';

/** Operator set 21 (ONNX 1.16) is the first with every operator used here in its present form. */
const OPERATOR_SET = 21;
const IR_VERSION = 10;

const NOT_QUANTIZED: Quantization = { linear: new Map(), tables: new Map() };

/** A graph in the form that a runtime takes. */
interface LoweredGraph {
  /** The bytes of an ONNX model. */
  readonly model: Uint8Array;
  /** Inputs in addition to those of the graph: int64 vectors of these shapes' sizes in the run. */
  readonly shapeInputs: ReadonlyMap<string, Shape>;
}

/**
 * The graph as an ONNX model, piece by piece: each float32 weight is requested when it is written. Only what the outputs
 * need is written.
 * @param weights values of parameters to store in the model; a parameter without values becomes an input.
 * @param quantization which of them to store as integers. Default: none.
 */
export async function onnxPieces(
  graph: Graph,
  weights: ReadonlyMap<string, Float32Array>,
  quantization: Quantization = NOT_QUANTIZED,
): Promise<Iterable<Uint8Array>> {
  const { model, late } = describeModel(graph, { weights, quantization }, FILE_LOWERING);
  return modelPieces(model, late);
}

/** The graph for one provider, with the weights that are fixed. */
export async function lowerGraph(
  graph: Graph,
  options: CompileOptions,
  lowering: Lowering,
): Promise<LoweredGraph> {
  const { model, late, shapeInputs } = describeModel(graph, options, lowering);
  const read = late.map(({ tensor, read: values }) => {
    const { buffer, byteOffset, byteLength } = values();
    return { ...tensor, rawData: new Uint8Array(buffer, byteOffset, byteLength) };
  });
  const initializer = [...model.graph.initializer, ...read];
  return {
    model: await encode('ModelProto', { ...model, graph: { ...model.graph, initializer } }),
    shapeInputs,
  };
}

interface DescribedModel {
  readonly model: ModelProto;
  /** Weights that `model` lacks yet. */
  readonly late: readonly LateInitializer[];
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
  const late: LateInitializer[] = [];
  const used = inputsOf(plain);
  for (const parameter of graph.parameters.filter((each) => used.has(each))) {
    const dims = parameter.shape.map(Number);
    const offset = stored?.offsets.get(parameter.name);
    if (weights.has(parameter.name)) late.push(lateInitializer(parameter.name, dims, weights));
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
  return { model, late, shapeInputs: builder.shapeInputs };
}

function lateInitializer(
  name: string,
  dims: readonly number[],
  weights: ReadonlyMap<string, Float32Array>,
): LateInitializer {
  const tensor = { name, dataType: ElementTypeCode.float32, dims };
  const read = () => {
    const values = weights.get(name);
    if (values?.length === volume(dims)) return values;
    throw new ShapeError(`the weight ${name} has ${values?.length} numbers, its parameter ${volume(dims)}`);
  };
  return { tensor, bytes: Float32Array.BYTES_PER_ELEMENT * volume(dims), read };
}

function inputsOf(nodes: readonly Node[]): ReadonlySet<Tensor> {
  return new Set(nodes.flatMap((node) => node.inputs));
}

function addConstant(builder: OnnxBuilder, tensor: Tensor): void {
  if (tensor.source.kind !== 'constant') return;
  const { values } = tensor.source;
  const data =
    tensor.type === 'int64' ? BigInt64Array.from(values, BigInt) : typedValues(tensor.type, values);
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
