import { closeSync, openSync, readSync } from 'node:fs';
import type { Graph } from './graph.js';
import { type ElementType, nodesFor, type Tensor } from './node.js';
import type { Quantization } from './quantization.js';
import { resolveShape, type Shape, ShapeError, symbolsOf, volume } from './shape.js';

/** Numbers with their shape; `data` is row-major and exactly as long as `dims` say. */
export type TensorData =
  | { readonly type: 'float32'; readonly dims: readonly number[]; readonly data: Float32Array }
  | { readonly type: 'int32'; readonly dims: readonly number[]; readonly data: Int32Array }
  | { readonly type: 'int64'; readonly dims: readonly number[]; readonly data: BigInt64Array };

/** Weights in a file, as little-endian float32. */
export interface StoredWeights {
  /** Its absolute path, without symbolic links. It must not change while a graph with these weights exists. */
  readonly file: string;
  /** The offset of each parameter by its name, in bytes from the start of the file; multiples of 4. */
  readonly offsets: ReadonlyMap<string, number>;
}

/** Options of a compilation: which values are fixed. */
export interface CompileOptions {
  /** Values of parameters that stay fixed; all others are fed at every run. Default: none fixed. */
  readonly weights?: ReadonlyMap<string, Float32Array>;
  /**
   * Further fixed values, in a file. An executor that can do so reads them in place, so that all graphs with weights of
   * one file share the memory. Default: none.
   */
  readonly stored?: StoredWeights;
  /**
   * Which of the fixed weights are stored as integers. Default: none. An executor rejects them unless its `quantizes`
   * is true.
   */
  readonly quantization?: Quantization;
}

/** A value that goes into a graph or comes out of it. */
export type TensorDescription = Pick<Tensor, 'name' | 'type' | 'shape'>;

/**
 * Runs tensor graphs. To write an executor, give every operation a kernel, run the nodes of
 * `nodesFor(outputs)` through their `visit`, check feeds and buffers with `checkFeeds` and `checkOutputs`,
 * and test the whole with `graphExecutorContract`.
 */
export interface GraphExecutor {
  /** The version of this interface. */
  readonly specificationVersion: 1;
  /** Whether it stores weights as integers, as `CompileOptions.quantization` asks. Default false. */
  readonly quantizes?: boolean;
  /**
   * Memory of its own, in which tensors can stay between runs. Training then leaves weights, gradients and the
   * optimizer's state there. Default: none; everything is fed and read at every run.
   */
  readonly resident?: ResidentMemory;
  /** Prepares a graph for many runs. Rejects if the runtime refuses the graph. */
  compile(graph: Graph, options?: CompileOptions): Promise<CompiledGraph>;
}

/** A graph that is ready to run, any number of times. */
export interface CompiledGraph {
  /**
   * Runs the graph once.
   * @param feeds every input, and every parameter without fixed values, by name.
   * @param outputs a buffer of the exact shape for every output of the graph, by name. The numbers are in
   *   these buffers once the promise resolves.
   */
  run(feeds: Readonly<Record<string, TensorData>>, outputs: Readonly<Record<string, TensorData>>): Promise<void>;
  /** Frees what the runtime holds. Must not be called during a run. Idempotent. */
  release(): Promise<void>;
}

/** A graph that was loaded from a file, which says what its inputs and outputs are. */
export interface LoadedGraph extends CompiledGraph {
  /** What to feed; dimensions that vary from run to run are symbols. */
  readonly inputs: readonly TensorDescription[];
  /** What a run writes. */
  readonly outputs: readonly TensorDescription[];
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/** An executor that can also load ONNX files. */
export interface OnnxExecutor extends GraphExecutor {
  /** Reads a graph with its weights. @param file path of an ONNX model. Rejects if the runtime refuses it. */
  load(file: string): Promise<LoadedGraph>;
}

/** A tensor in an executor's own memory. Only the executor that made it can read it. */
export interface ResidentTensor {
  /** Distinguishes it from {@link TensorData}, which holds its numbers. */
  readonly location: 'device';
  readonly type: ElementType;
  readonly dims: readonly number[];
}

/** What a graph can be fed. */
export type Feed = TensorData | ResidentTensor;

/** Options of a compilation whose runs leave some outputs in the executor's memory. */
export interface ResidentCompileOptions extends CompileOptions {
  /** Names of the outputs that stay. */
  readonly stays: ReadonlySet<string>;
}

/**
 * The memory of an executor that can keep tensors between runs. Tensors are not garbage-collected: free each of them.
 */
export interface ResidentMemory {
  /** Copies a tensor into this memory. Later changes of its array have no effect. */
  upload(tensor: TensorData): Promise<ResidentTensor>;
  /**
   * Copies a tensor out of this memory, into a new array. @throws RangeError for a tensor of another memory, or a freed
   * one.
   */
  download(tensor: ResidentTensor): Promise<TensorData>;
  /** Frees the memory of a tensor, which can't be used afterwards. Idempotent. */
  free(tensor: ResidentTensor): void;
  /** Prepares a graph for many runs. Rejects if the runtime refuses the graph. */
  compile(graph: Graph, options: ResidentCompileOptions): Promise<ResidentGraph>;
}

/** A graph that is ready to run on tensors that stay. */
export interface ResidentGraph {
  /**
   * Runs the graph once.
   * @param feeds as in `CompiledGraph.run`; each is an ordinary tensor or one of the same memory, which is not
   *   changed.
   * @param outputs a buffer of the exact shape for every output that doesn't stay, by name.
   * @returns a new tensor for every output that stays, by name. The caller has to free them.
   * @throws RangeError for a tensor of another memory, or a freed one; else as `CompiledGraph.run`.
   */
  run(
    feeds: Readonly<Record<string, Feed>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<Readonly<Record<string, ResidentTensor>>>;
  /** Frees what the runtime holds, but not the tensors that its runs left. Idempotent. */
  release(): Promise<void>;
}

/** What using a tensor in a memory that doesn't hold it throws. */
export function notHere({ type, dims }: ResidentTensor): RangeError {
  return new RangeError(`a ${type} tensor [${dims.join(', ')}] was freed, or is in another executor's memory`);
}

/** Values of the symbols in shapes, in one run. */
export type Sizes = Readonly<Record<string, number>>;

/**
 * Checks that every tensor is fed with its type and shape, and that nothing else is fed.
 * @returns the values of the shapes' symbols.
 * @throws ShapeError that names the feed and what is expected of it.
 */
export function checkFeeds(tensors: readonly TensorDescription[], feeds: Readonly<Record<string, Feed>>): Sizes {
  const known = new Set(tensors.map(({ name }) => name));
  for (const name of Object.keys(feeds)) {
    if (!known.has(name)) throw new ShapeError(`feed ${name} is not an input of the graph`);
  }
  const sizes = sizesOf(tensors, feeds);
  for (const { name, type, shape } of tensors) {
    const feed = feeds[name];
    if (feed === undefined) throw new ShapeError(`feed ${name} is missing`);
    if (feed.type !== type) throw new ShapeError(`feed ${name} is ${feed.type}, but the graph takes ${type}`);
    if (feed.dims.join() !== resolveShape(shape, sizes).join()) {
      throw wrongDims(`feed ${name}`, feed.dims, shape);
    }
    if ('data' in feed) checkLength(`feed ${name}`, feed);
  }
  return sizes;
}

/** The size of each symbol, from the first feed that has the symbol as a dimension; products of symbols are skipped. */
export function sizesOf(tensors: readonly TensorDescription[], feeds: Readonly<Record<string, Feed>>): Sizes {
  const sizes = new Map<string, number>();
  for (const { name, shape } of tensors) {
    for (const [axis, dimension] of shape.entries()) {
      const size = feeds[name]?.dims[axis];
      if (typeof dimension === 'number' || size === undefined) continue;
      if (symbolsOf(dimension).length === 1 && !sizes.has(dimension)) sizes.set(dimension, size);
    }
  }
  return Object.fromEntries(sizes);
}

/** Checks that every output has a buffer of its type and exact shape and length. @throws ShapeError */
export function checkOutputs(
  outputs: ReadonlyMap<string, Omit<TensorDescription, 'name'>>,
  buffers: Readonly<Record<string, TensorData>>,
  sizes: Sizes,
): void {
  for (const [name, { type, shape }] of outputs) {
    const buffer = buffers[name];
    if (buffer === undefined) throw new ShapeError(`output ${name} has no buffer`);
    if (buffer.type !== type) throw new ShapeError(`output ${name} is ${type}, but its buffer is ${buffer.type}`);
    const dims = resolveShape(shape, sizes);
    if (dims.join() !== buffer.dims.join()) throw wrongDims(`the buffer of output ${name}`, buffer.dims, dims);
    checkLength(`the buffer of output ${name}`, buffer);
  }
}

function checkLength(what: string, { dims, data }: TensorData): void {
  if (data.length === volume(dims)) return;
  throw new ShapeError(`${what} is [${dims.join(', ')}], but holds ${data.length} numbers`);
}

function wrongDims(what: string, dims: readonly number[], shape: Shape): ShapeError {
  return new ShapeError(`${what} is [${dims.join(', ')}], but the graph expects [${shape.join(', ')}]`);
}

/** What a run must feed: every input, and every parameter without fixed values that the outputs depend on. */
export function fedTensors(
  graph: Graph,
  { weights, stored }: Pick<CompileOptions, 'weights' | 'stored'> = {},
): Tensor[] {
  const outputs = [...graph.outputs.values()];
  const isFixed = (name: string) => weights?.has(name) || stored?.offsets.has(name);
  const used = new Set([...outputs, ...nodesFor(outputs).flatMap(({ inputs }) => inputs)]);
  const parameters = graph.parameters.filter((each) => used.has(each) && !isFixed(each.name));
  return [...graph.inputs, ...parameters];
}

export function emptyTensor(type: ElementType, dims: readonly number[]): TensorData {
  const count = volume(dims);
  if (type === 'float32') return { type, dims, data: new Float32Array(count) };
  if (type === 'int32') return { type, dims, data: new Int32Array(count) };
  return { type, dims, data: new BigInt64Array(count) };
}

/**
 * Reads one weight.
 * @param count of its numbers.
 * @throws RangeError if it isn't stored; Error if the file ends before it does, or the file system's.
 */
export function readStoredWeight({ file, offsets }: StoredWeights, name: string, count: number): Float32Array {
  const offset = offsets.get(name);
  if (offset === undefined) throw new RangeError(`${file} has no weight ${name}`);
  const values = new Float32Array(count);
  const bytes = new Uint8Array(values.buffer);
  const descriptor = openSync(file, 'r');
  try {
    for (let read = 0; read < bytes.length; ) {
      const more = readSync(descriptor, bytes, read, bytes.length - read, offset + read);
      if (more === 0) throw new Error(`${file} ends within the weight ${name}`);
      read += more;
    }
  } finally {
    closeSync(descriptor);
  }
  return values;
}
