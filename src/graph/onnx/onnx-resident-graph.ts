import type { InferenceSession, Tensor } from 'onnxruntime-node';
import type { ExecutionProvider } from '../../device-names.js';
import { checkFeeds, checkOutputs } from '../check-tensors.js';
import type { CompileOptions, TensorData, TensorDescription } from '../executor.js';
import { fedTensors } from '../fed-tensors.js';
import type { Graph } from '../graph.js';
import type { Feed, ResidentGraph, ResidentTensor } from '../resident.js';
import { resolveShape, type Shape } from '../shape.js';
import { deviceWork } from './device-work.js';
import { shapeFeeds, toOrtTensor } from './onnx-graph.js';
import type { OnnxMemory } from './onnx-memory.js';
import type { Runtime } from './runtime.js';

export interface ResidentGraphParts {
  readonly memory: OnnxMemory;
  readonly runtime: Runtime;
  /** Made with the places of the graph's outputs. */
  readonly session: InferenceSession;
  readonly provider: ExecutionProvider;
  /** Whether the runtime writes a profile at the end. */
  readonly profiles: boolean;
  /** Called once it is released. */
  readonly released: () => Promise<void>;
  readonly graph: Graph;
  /** What it was compiled with. */
  readonly fixed: CompileOptions;
  readonly stays: ReadonlySet<string>;
  /** Inputs that are fed the sizes of these shapes. */
  readonly shapeInputs: ReadonlyMap<string, Shape>;
}

type Outputs = ReadonlyMap<string, Omit<TensorDescription, 'name'>>;

/** A session some of whose inputs and outputs stay on the device. */
export class OnnxResidentGraph implements ResidentGraph {
  readonly #parts: ResidentGraphParts;
  readonly #fed: readonly TensorDescription[];
  readonly #staying: Outputs;
  readonly #written: Outputs;
  #session: InferenceSession | undefined;

  constructor(parts: ResidentGraphParts) {
    const { graph, fixed, stays, session } = parts;
    const outputs = [...graph.outputs];
    this.#parts = parts;
    this.#fed = fedTensors(graph, fixed);
    this.#staying = new Map(outputs.filter(([name]) => stays.has(name)));
    this.#written = new Map(outputs.filter(([name]) => !stays.has(name)));
    this.#session = session;
  }

  async run(
    feeds: Readonly<Record<string, Feed>>,
    outputs: Readonly<Record<string, TensorData>>,
  ): Promise<Readonly<Record<string, ResidentTensor>>> {
    const session = this.#session;
    if (session === undefined) throw new Error('the compiled graph was released');
    const { memory, runtime, provider, shapeInputs } = this.#parts;
    const sizes = checkFeeds(this.#fed, feeds);
    checkOutputs(this.#written, outputs, sizes);
    const given = { ...this.#wrapAll(feeds), ...shapeFeeds(runtime, shapeInputs, sizes) };
    const results = await deviceWork(provider, 'run', async () => {
      memory.giveBack();
      return session.run(given);
    });
    for (const name of this.#written.keys()) copyInto(outputs[name], results[name]);
    const left = [...this.#staying].flatMap(([name, { type, shape }]) => {
      const buffer = results[name];
      return buffer ? [[name, memory.keep(buffer, { type, dims: resolveShape(shape, sizes) })] as const] : [];
    });
    return Object.fromEntries(left);
  }

  async release(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    const { memory, provider, profiles, released } = this.#parts;
    await deviceWork(provider, 'run', async () => {
      memory.giveBack();
      if (profiles) session.endProfiling();
      await session.release();
    });
    await released();
  }

  #wrapAll(feeds: Readonly<Record<string, Feed>>): Record<string, Tensor> {
    const { memory, runtime } = this.#parts;
    const wrapped = Object.entries(feeds).map(([name, feed]) => {
      return [name, 'data' in feed ? toOrtTensor(runtime, feed) : memory.bufferOf(feed)] as const;
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
