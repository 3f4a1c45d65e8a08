import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { turnTelemetryOff } from '../../runtime-telemetry.js';
import { checkFeeds, checkOutputs, fedTensors } from '../check-tensors.js';
import type {
  CompiledGraph,
  CompileOptions,
  LoadedGraph,
  OnnxExecutor,
  TensorData,
  TensorDescription,
} from '../executor.js';
import type { Graph } from '../graph.js';
import { type Shape, ShapeError } from '../shape.js';
import type { StoredWeights } from '../stored-weights.js';
import type { ElementType } from '../tensor.js';
import { checkOnnxFile } from './check-onnx-file.js';

/** Where ONNX Runtime computes. Which providers are available depends on the platform and its drivers. */
export type ExecutionProvider = 'cpu' | 'webgpu' | 'cuda' | 'coreml' | 'dml';

/** Where and how ONNX Runtime computes. */
export interface OnnxExecutorOptions {
  /** Default `cpu`. An executor rejects if the runtime lacks the provider, and names those that it has. */
  readonly provider?: ExecutionProvider;
  /** Threads that one run may use on the CPU. Default 1. */
  readonly threads?: number;
  /**
   * Whether several threads go on looking for work for a while when a run has ended. The next run starts sooner, but
   * until then they keep their processors busy. Default true.
   */
  readonly idleSpinning?: boolean;
  /**
   * Whether several threads look for work actively while they wait for each other within a run. Without it a run on a
   * machine of its own takes longer, the more so the smaller its operations are. Default true.
   */
  readonly spinning?: boolean;
}

/**
 * Runs graphs on onnxruntime-node. Feeds and outputs are used in place, without a copy, so a buffer must not
 * be touched while a run is under way; shared memory is not accepted. `run` blocks its thread: call it in a
 * worker.
 */
export function onnxExecutor({
  provider = 'cpu',
  threads = 1,
  idleSpinning = true,
  spinning = true,
}: OnnxExecutorOptions = {}): OnnxExecutor {
  const settings = { provider, threads, idleSpinning, spinning };
  return {
    specificationVersion: 1,
    quantizes: true,
    async compile(graph: Graph, { quantization, ...fixed }: CompileOptions = {}) {
      const runtime = await loadRuntime();
      const { toOnnx } = await import('./to-onnx.js');
      const model = await toOnnx(graph, fixed.weights, quantization, fixed.stored);
      const session = await createSession(runtime, model, settings, fixed.stored);
      return new OnnxGraph(runtime, session, fedTensors(graph, fixed), graph.outputs);
    },
    async load(file) {
      await checkOnnxFile(file);
      const runtime = await loadRuntime();
      const [session, { size }] = await Promise.all([createSession(runtime, file, settings), stat(file)]);
      return new OnnxFile(runtime, session, size);
    },
  };
}

type Runtime = typeof import('onnxruntime-node');

/**
 * Loaded with the first session, so that the application's own thread needn't wait for it if workers compute.
 */
let runtime: Runtime | undefined;

async function loadRuntime(): Promise<Runtime> {
  if (runtime !== undefined) return runtime;
  await turnTelemetryOff();
  // It is CommonJS: an import would parse each of its files once more, for the names that they export.
  const loaded: Runtime = createRequire(import.meta.url)('onnxruntime-node');
  runtime = loaded;
  return loaded;
}

/** @param model the path or the bytes of an ONNX model. @param stored weights of it that lie in a file. */
async function createSession(
  { InferenceSession, listSupportedBackends }: Runtime,
  model: string | Uint8Array,
  { provider, threads, idleSpinning, spinning }: Required<OnnxExecutorOptions>,
  stored?: StoredWeights,
): Promise<InferenceSession> {
  const providers = listSupportedBackends().map(({ name }) => name);
  if (!providers.includes(provider)) {
    const there = providers.join(', ');
    throw new RangeError(`ONNX Runtime has no provider ${provider} here; use one of ${there}`);
  }
  const options: InferenceSession.SessionOptions = {
    executionProviders: [provider],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // Without the arena, every intermediate result is allocated anew, which costs more than some operations.
    enableCpuMemArena: true,
    // What fails is thrown; the runtime would write it to the standard error of the application, too.
    logSeverityLevel: 4,
    extra: {
      session: {
        ...(!idleSpinning && { force_spinning_stop: '1' }),
        ...(!spinning && { intra_op: { allow_spinning: '0' } }),
        ...(stored && storedSettings(stored)),
      },
    },
  };
  return typeof model === 'string'
    ? InferenceSession.create(model, options)
    : InferenceSession.create(model, options);
}

/**
 * The runtime maps the file into memory, where all sessions, threads and processes share it. Prepacking would give each
 * session a copy after all, one for each layer's forward and another for its backward product.
 */
function storedSettings({ file }: StoredWeights): Readonly<Record<string, string>> {
  return { model_external_initializers_file_folder_path: dirname(file), disable_prepacking: '1' };
}

class OnnxGraph implements CompiledGraph {
  #session: InferenceSession | undefined;
  readonly #runtime: Runtime;
  readonly #fed: readonly TensorDescription[];
  readonly #outputs: ReadonlyMap<string, Omit<TensorDescription, 'name'>>;
  /** Wrappers around buffers that are passed again at every run, such as the parameters. */
  readonly #wrappers = new WeakMap<TensorData, Tensor>();

  constructor(
    runtime: Runtime,
    session: InferenceSession,
    fed: readonly TensorDescription[],
    outputs: ReadonlyMap<string, Omit<TensorDescription, 'name'>>,
  ) {
    this.#runtime = runtime;
    this.#session = session;
    this.#fed = fed;
    this.#outputs = outputs;
  }

  async run(
    feeds: Readonly<Record<string, TensorData>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<void> {
    if (this.#session === undefined) throw new Error('the compiled graph was released');
    checkOutputs(this.#outputs, outputs, checkFeeds(this.#fed, feeds));
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
    const wrapper = toOrtTensor(this.#runtime, tensor);
    this.#wrappers.set(tensor, wrapper);
    return wrapper;
  }
}

/** A session of an ONNX file, which says what its inputs and outputs are. */
class OnnxFile extends OnnxGraph implements LoadedGraph {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];

  constructor(
    runtime: Runtime,
    session: InferenceSession,
    readonly bytes: number,
  ) {
    const inputs = session.inputMetadata.map(described);
    const outputs = session.outputMetadata.map(described);
    super(runtime, session, inputs, new Map(outputs.map((each) => [each.name, each])));
    this.inputs = inputs;
    this.outputs = outputs;
  }
}

const ELEMENT_TYPES: readonly ElementType[] = ['float32', 'int32', 'int64'];

function described(value: InferenceSession.ValueMetadata): TensorDescription {
  // Feeds and outputs are objects by name.
  if (value.name in Object.prototype) {
    throw new ShapeError(`the ONNX file has a tensor called ${value.name}, as a property of every object is`);
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
