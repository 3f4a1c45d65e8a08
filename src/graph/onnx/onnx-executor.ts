import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { checkFeeds, checkOutputs, fedTensors } from '../check-tensors.js';
import type { CompiledGraph, CompileOptions, GraphExecutor, TensorData } from '../executor.js';
import type { Graph } from '../graph.js';
import type { Quantization } from '../quantization.js';
import type { Tensor as GraphTensor } from '../tensor.js';
import { toOnnx } from './to-onnx.js';

export interface OnnxExecutorOptions {
  /** Fixed weights that are held as integers. Default: none. */
  readonly quantization?: Quantization;
}

/**
 * Runs graphs on onnxruntime-node. Feeds and outputs are used in place, without a copy, so a buffer must not
 * be touched while a run is under way; shared memory is not accepted. `run` blocks its thread: call it in a
 * worker.
 */
export function onnxExecutor({ quantization }: OnnxExecutorOptions = {}): GraphExecutor {
  return {
    specificationVersion: 1,
    async compile(graph: Graph, { threads = 1, weights }: CompileOptions = {}) {
      const session = await createSession(await toOnnx(graph, weights, quantization), threads);
      return new OnnxGraph(session, fedTensors(graph, weights), graph.outputs);
    },
  };
}

/** Loaded with the first session: where workers compute, the application's own thread doesn't wait for it. */
let runtime: typeof import('onnxruntime-node') | undefined;

/** @throws before any session was created. */
function loadedRuntime(): typeof import('onnxruntime-node') {
  if (runtime === undefined) throw new Error('there is no session yet that tensors could be for');
  return runtime;
}

/** @param model the path or the bytes of an ONNX model. */
export async function createSession(model: string | Uint8Array, threads: number): Promise<InferenceSession> {
  runtime ??= await import('onnxruntime-node');
  const { InferenceSession } = runtime;
  const options: InferenceSession.SessionOptions = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // Without the arena every intermediate result is allocated anew, which costs more than some of the operations.
    enableCpuMemArena: true,
    logSeverityLevel: 3,
  };
  return typeof model === 'string'
    ? InferenceSession.create(model, options)
    : InferenceSession.create(model, options);
}

class OnnxGraph implements CompiledGraph {
  #session: InferenceSession | undefined;
  /** Wrappers around buffers that come back at every run, such as the parameters. */
  readonly #wrappers = new WeakMap<TensorData, Tensor>();

  constructor(
    session: InferenceSession,
    private readonly fed: readonly GraphTensor[],
    private readonly outputs: ReadonlyMap<string, GraphTensor>,
  ) {
    this.#session = session;
  }

  async run(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void> {
    if (this.#session === undefined) throw new Error('the compiled graph was released');
    checkOutputs(this.outputs, outputs, checkFeeds(this.fed, feeds));
    await this.#session.run(this.#wrapAll(feeds), this.#wrapAll(outputs));
  }

  async release(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.release();
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
    const wrapper = toOrtTensor(tensor);
    this.#wrappers.set(tensor, wrapper);
    return wrapper;
  }
}

/** One constructor overload an element type, hence the branches. */
function toOrtTensor(tensor: TensorData): Tensor {
  const { Tensor } = loadedRuntime();
  if (tensor.type === 'float32') return new Tensor('float32', tensor.data, tensor.dims);
  if (tensor.type === 'int32') return new Tensor('int32', tensor.data, tensor.dims);
  return new Tensor('int64', tensor.data, tensor.dims);
}

/** An int64 tensor over these values, which are not copied, for a session. */
export function int64Tensor(values: BigInt64Array, dims: readonly number[]): Tensor {
  const { Tensor } = loadedRuntime();
  return new Tensor('int64', values, dims);
}
