import type { InferenceSession, Tensor } from 'onnxruntime-node';
import type { ExecutionProvider } from '../../contract/index.js';
import {
  type CompiledGraph,
  type CompileOptions,
  checkFeeds,
  checkOutputs,
  emptyTensor,
  type Feed,
  fedTensors,
  type LoadedGraph,
  notHere,
  type OnnxExecutor,
  type ResidentCompileOptions,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  type Sizes,
  type TensorData,
  type TensorDescription,
} from '../executor.js';
import type { Graph } from '../graph.js';
import type { ElementType } from '../node.js';
import { resolveShape, type Shape, ShapeError } from '../shape.js';
import { checkOnnxFile } from './check-onnx-file.js';
import { FILE_LOWERING, loweringFor } from './lowering.js';
import { type Runtime, Session, type SessionSettings } from './runtime.js';

interface OnnxGraphParts {
  readonly session: Session;
  readonly fed: readonly TensorDescription[];
  readonly outputs: ReadonlyMap<string, Omit<TensorDescription, 'name'>>;
  /** Inputs that are fed the sizes of these shapes. Default: none. */
  readonly shapeInputs?: ReadonlyMap<string, Shape>;
}

const NO_SHAPES: ReadonlyMap<string, Shape> = new Map();

class OnnxGraph implements CompiledGraph {
  readonly #parts: OnnxGraphParts;
  /** Wrappers around buffers that are passed again at every run, such as the parameters. */
  readonly #wrappers = new WeakMap<TensorData, Tensor>();

  constructor(parts: OnnxGraphParts) {
    this.#parts = parts;
  }

  async run(feeds: Readonly<Record<string, TensorData>>, outputs: Readonly<Record<string, TensorData>>): Promise<void> {
    const { session, fed, shapeInputs = NO_SHAPES } = this.#parts;
    session.requireOpen();
    const sizes = checkFeeds(fed, feeds);
    checkOutputs(this.#parts.outputs, outputs, sizes);
    const given = { ...this.#wrapAll(feeds), ...shapeFeeds(session.runtime, shapeInputs, sizes) };
    await session.run(given, this.#wrapAll(outputs));
  }

  async release(): Promise<void> {
    await this.#parts.session.release();
  }

  #wrapAll(tensors: Readonly<Record<string, TensorData>>): Record<string, Tensor> {
    const wrapped: Record<string, Tensor> = {};
    for (const name in tensors) {
      const tensor = tensors[name];
      if (tensor !== undefined) wrapped[name] = this.#wrap(tensor);
    }
    return wrapped;
  }

  #wrap(tensor: TensorData): Tensor {
    const known = this.#wrappers.get(tensor);
    if (known !== undefined) return known;
    const wrapper = toOrtTensor(this.#parts.session.runtime, tensor);
    this.#wrappers.set(tensor, wrapper);
    return wrapper;
  }
}

type NamedTensors = Readonly<Record<string, TensorData>>;

/** The runtime checks what is fed against the file. */
class OnnxFile implements LoadedGraph {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  readonly #session: Session;
  /** Wrappers of inputs and of outputs that are passed again, as those of short texts are. */
  readonly #wrapped = new WeakMap<NamedTensors, Record<string, Tensor>>();

  constructor(
    session: Session,
    readonly bytes: number,
  ) {
    this.#session = session;
    this.inputs = session.inputs.map(described);
    this.outputs = session.outputs.map(described);
  }

  async run(feeds: NamedTensors, outputs: NamedTensors): Promise<void> {
    this.#session.requireOpen();
    await this.#session.run(this.#wrap(feeds), this.#wrap(outputs));
  }

  async release(): Promise<void> {
    await this.#session.release();
  }

  #wrap(tensors: NamedTensors): Record<string, Tensor> {
    const known = this.#wrapped.get(tensors);
    if (known !== undefined) return known;
    const wrapped: Record<string, Tensor> = {};
    for (const name in tensors) {
      const tensor = tensors[name];
      if (tensor !== undefined) wrapped[name] = toOrtTensor(this.#session.runtime, tensor);
    }
    this.#wrapped.set(tensors, wrapped);
    return wrapped;
  }
}

const ELEMENT_TYPES: readonly ElementType[] = ['float32', 'int32', 'int64'];

function described(value: InferenceSession.ValueMetadata): TensorDescription {
  // Feeds and outputs are objects by name.
  if (value.name in Object.prototype) {
    throw new ShapeError(
      `the ONNX file has a tensor named ${value.name}, which is the name of a property of every JavaScript object; rename it`,
    );
  }
  const type = ELEMENT_TYPES.find((each) => value.isTensor && each === value.type);
  if (!value.isTensor || type === undefined) {
    throw new ShapeError(`${value.name} of the ONNX file is not a tensor of ${ELEMENT_TYPES.join(' or ')}`);
  }
  const shape: Shape = value.shape;
  return { name: value.name, type, shape };
}

/** The constructor has one overload per element type, hence the branches. */
function toOrtTensor({ Tensor }: Runtime, tensor: TensorData): Tensor {
  if (tensor.type === 'float32') return new Tensor('float32', tensor.data, tensor.dims);
  if (tensor.type === 'int32') return new Tensor('int32', tensor.data, tensor.dims);
  return new Tensor('int64', tensor.data, tensor.dims);
}

function shapeFeeds(runtime: Runtime, shapeInputs: ReadonlyMap<string, Shape>, sizes: Sizes): Record<string, Tensor> {
  const tensors = [...shapeInputs].map(([name, shape]) => {
    const data = BigInt64Array.from(resolveShape(shape, sizes), BigInt);
    return [name, toOrtTensor(runtime, { type: 'int64', dims: [shape.length], data })] as const;
  });
  return Object.fromEntries(tensors);
}

/** Options of {@link onnxExecutor}. */
export interface OnnxExecutorOptions {
  /**
   * Default `cpu`. An executor rejects if the runtime lacks the provider, and names those that it has; where a device
   * other than the CPU fails, it rejects with a DeviceError.
   */
  readonly provider?: ExecutionProvider;
  /** Threads that one run may use on the CPU. Default 1. */
  readonly threads?: number;
  /**
   * Whether threads keep polling for work for a while after a run. The next run then starts sooner, but the threads
   * keep their processors busy until then. Applies to several threads. Default true.
   */
  readonly idleSpinning?: boolean;
  /**
   * Whether threads poll for work while they wait for each other within a run. Without it, a run on an otherwise idle
   * machine takes longer, especially with small operations. Applies to several threads. Default true.
   */
  readonly spinning?: boolean;
  /**
   * A path, to which a time and `.json` are added. When a graph is released, the runtime writes a profile of its runs
   * there, which says for each node where it ran and how long. Default: no profiles, since they take time.
   */
  readonly profile?: string;
}

/**
 * Runs graphs on onnxruntime-node. Feeds and outputs are used in place, without a copy, so a buffer must not
 * be touched while a run is under way; shared memory is not accepted. `run` blocks its thread: call it in a
 * worker. Threads of a process take turns on a device other than the CPU.
 */
export function onnxExecutor({
  provider = 'cpu',
  threads = 1,
  idleSpinning = true,
  spinning = true,
  profile,
}: OnnxExecutorOptions = {}): OnnxExecutor {
  const settings = { provider, threads, idleSpinning, spinning, profile };
  return {
    specificationVersion: 1,
    quantizes: true,
    ...(provider === 'webgpu' && { resident: new OnnxMemory(settings) }),
    async compile(graph: Graph, fixed: CompileOptions = {}) {
      const { lowerGraph } = await import('./to-onnx.js');
      const { model, shapeInputs } = lowerGraph(graph, fixed, loweringFor(provider));
      const session = await Session.create(model, settings, { stored: fixed.stored });
      return new OnnxGraph({ session, fed: fedTensors(graph, fixed), outputs: graph.outputs, shapeInputs });
    },
    async load(file) {
      const bytes = checkOnnxFile(file);
      return new OnnxFile(await Session.create(await modelFor(file, provider), settings), bytes);
    },
  };
}

/** The file, or its bytes as the provider takes them. */
async function modelFor(file: string, provider: ExecutionProvider): Promise<string | Uint8Array> {
  if (loweringFor(provider) === FILE_LOWERING) return file;
  const { deviceModel } = await import('./device-model.js');
  return (await deviceModel(file)) ?? file;
}

/**
 * The memory of a WebGPU device. Its tensors are `gpu-buffer` tensors of onnxruntime-node: outputs of one session that
 * can be inputs of others. The runtime has no call that fills or reads them, so graphs that copy their input do it.
 */
class OnnxMemory implements ResidentMemory {
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
