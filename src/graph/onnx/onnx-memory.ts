import type { Tensor } from 'onnxruntime-node';
import {
  type CompileOptions,
  checkFeeds,
  checkOutputs,
  emptyTensor,
  type Feed,
  fedTensors,
  notHere,
  type ResidentCompileOptions,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  type TensorData,
  type TensorDescription,
} from '../executor.js';
import type { Graph } from '../graph.js';
import { resolveShape, type Shape } from '../shape.js';
import { loweringFor } from './lowering.js';
import { shapeFeeds, toOrtTensor } from './onnx-executor.js';
import { Session, type SessionSettings } from './runtime.js';

/**
 * The memory of a WebGPU device. Its tensors are `gpu-buffer` tensors of onnxruntime-node: outputs of one session that
 * can be inputs of others. The runtime has no call that fills or reads them, so graphs that copy their input do it.
 */
export class OnnxMemory implements ResidentMemory {
  readonly #settings: SessionSettings;
  readonly #buffers = new WeakMap<ResidentTensor, Tensor>();
  /** Freed, but still held by the runtime: giving them back is work on the device, which only a run may do. */
  #freed: Tensor[] = [];
  /** Graphs that copy a tensor, by where it goes, its type and its number of axes. */
  readonly #copiers = new Map<string, Promise<ResidentGraph>>();
  /** Number of compiled graphs other than the copiers, which are released with the last of them. */
  #open = 0;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  async upload(tensor: TensorData): Promise<ResidentTensor> {
    const copier = await this.#copier(tensor, new Set([COPY]));
    const { [COPY]: copy } = await copier.run({ [ORIGINAL]: tensor }, {});
    if (copy === undefined) throw new RangeError('a copy did not stay on the device');
    return copy;
  }

  async download(tensor: ResidentTensor): Promise<TensorData> {
    const copier = await this.#copier(tensor, new Set());
    const copy = emptyTensor(tensor.type, tensor.dims);
    await copier.run({ [ORIGINAL]: tensor }, { [COPY]: copy });
    return copy;
  }

  free(tensor: ResidentTensor): void {
    const buffer = this.#buffers.get(tensor);
    if (buffer === undefined) return;
    this.#buffers.delete(tensor);
    this.#freed.push(buffer);
  }

  async compile(graph: Graph, options: ResidentCompileOptions): Promise<ResidentGraph> {
    const compiled = await this.#compile(graph, options, () => this.#released());
    this.#open += 1;
    return compiled;
  }

  keep(buffer: Tensor, { type, dims }: Pick<ResidentTensor, 'type' | 'dims'>): ResidentTensor {
    const tensor: ResidentTensor = { location: 'device', type, dims };
    this.#buffers.set(tensor, buffer);
    return tensor;
  }

  bufferOf(tensor: ResidentTensor): Tensor {
    const buffer = this.#buffers.get(tensor);
    if (buffer === undefined) throw notHere(tensor);
    return buffer;
  }

  /** Gives the runtime back what was freed; to be called within a turn on the device. */
  giveBack(): void {
    const freed = this.#freed;
    this.#freed = [];
    for (const buffer of freed) buffer.dispose();
  }

  async #compile(
    graph: Graph,
    { stays, ...fixed }: ResidentCompileOptions,
    released: () => Promise<void>,
  ): Promise<ResidentGraph> {
    const { lowerGraph } = await import('./to-onnx.js');
    const { model, shapeInputs } = lowerGraph(graph, fixed, loweringFor(this.#settings.provider));
    const places = [...graph.outputs.keys()].map((name) => [name, stays.has(name) ? 'gpu-buffer' : 'cpu'] as const);
    const session = await Session.create(model, this.#settings, {
      stored: fixed.stored,
      preferredOutputLocation: Object.fromEntries(places),
    });
    return new OnnxResidentGraph({ memory: this, session, released, graph, fixed, stays, shapeInputs });
  }

  async #released(): Promise<void> {
    this.#open -= 1;
    if (this.#open > 0) return;
    const copiers = [...this.#copiers.values()];
    this.#copiers.clear();
    for (const copier of copiers) await (await copier).release();
  }

  #copier({ type, dims }: Pick<TensorData, 'type' | 'dims'>, stays: ReadonlySet<string>): Promise<ResidentGraph> {
    const key = `${type} ${dims.length} ${stays.size}`;
    const known = this.#copiers.get(key);
    if (known !== undefined) return known;
    const copier = copying(type, dims.length).then((graph) => this.#compile(graph, { stays }, async () => undefined));
    this.#copiers.set(key, copier);
    return copier;
  }
}

const ORIGINAL = 'original';
const COPY = 'copy';

/** A graph that copies a tensor. What makes graphs is loaded where it is needed: models that answer come as files. */
async function copying(type: TensorData['type'], axes: number): Promise<Graph> {
  const { Graph } = await import('../graph.js');
  const graph = new Graph();
  const shape = Array.from({ length: axes }, (_, axis) => `size ${axis}`);
  graph.output(COPY, graph.input(ORIGINAL, type, shape));
  return graph;
}

interface ResidentGraphParts {
  readonly memory: OnnxMemory;
  readonly session: Session;
  readonly released: () => Promise<void>;
  readonly graph: Graph;
  readonly fixed: CompileOptions;
  readonly stays: ReadonlySet<string>;
  readonly shapeInputs: ReadonlyMap<string, Shape>;
}

type Outputs = ReadonlyMap<string, Omit<TensorDescription, 'name'>>;

class OnnxResidentGraph implements ResidentGraph {
  readonly #parts: ResidentGraphParts;
  readonly #fed: readonly TensorDescription[];
  readonly #staying: Outputs;
  readonly #written: Outputs;

  constructor(parts: ResidentGraphParts) {
    const { graph, fixed, stays } = parts;
    const outputs = [...graph.outputs];
    this.#parts = parts;
    this.#fed = fedTensors(graph, fixed);
    this.#staying = new Map(outputs.filter(([name]) => stays.has(name)));
    this.#written = new Map(outputs.filter(([name]) => !stays.has(name)));
  }

  async run(
    feeds: Readonly<Record<string, Feed>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<Readonly<Record<string, ResidentTensor>>> {
    const { memory, session, shapeInputs } = this.#parts;
    session.requireOpen();
    const sizes = checkFeeds(this.#fed, feeds);
    checkOutputs(this.#written, outputs, sizes);
    const given = { ...this.#wrapAll(feeds), ...shapeFeeds(session.runtime, shapeInputs, sizes) };
    const results = await session.run(given, undefined, () => memory.giveBack());
    for (const name of this.#written.keys()) copyInto(outputs[name], results[name]);
    const left = [...this.#staying].flatMap(([name, { type, shape }]) => {
      const buffer = results[name];
      return buffer ? [[name, memory.keep(buffer, { type, dims: resolveShape(shape, sizes) })] as const] : [];
    });
    return Object.fromEntries(left);
  }

  async release(): Promise<void> {
    const { memory, session, released } = this.#parts;
    if (await session.release(() => memory.giveBack())) await released();
  }

  #wrapAll(feeds: Readonly<Record<string, Feed>>): Record<string, Tensor> {
    const { memory, session } = this.#parts;
    const wrapped = Object.entries(feeds).map(([name, feed]) => {
      return [name, 'data' in feed ? toOrtTensor(session.runtime, feed) : memory.bufferOf(feed)] as const;
    });
    return Object.fromEntries(wrapped);
  }
}

/** The runtime makes arrays of its own for outputs that don't stay. */
function copyInto(buffer: TensorData | undefined, result: Tensor | undefined): void {
  const data = result?.data;
  if (buffer?.type === 'float32' && data instanceof Float32Array) buffer.data.set(data);
  else if (buffer?.type === 'int32' && data instanceof Int32Array) buffer.data.set(data);
  else if (buffer?.type === 'int64' && data instanceof BigInt64Array) buffer.data.set(data);
  else throw new TypeError(`the runtime gave ${result?.type} for an output ${buffer?.type}`);
}
