import { type Encoder, type ParameterSpec, trainingInputs } from '../encoder/index.js';
import {
  addGradients,
  type CompileOptions,
  Graph,
  mergeDimensions,
  type ParameterGradient,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  type RowGradient,
  ShapeError,
  type Tensor,
  type TensorData,
} from '../graph/index.js';
import type { StepOptions } from './adamw.js';
import { feedsFor, type PaddedBatch, splitsBatches } from './batches.js';
import { DeviceAdamW, type DeviceGradients, DeviceParameters, GradientSum } from './device-optimizer.js';
import type { Engine, EngineOptions, MaskState } from './engine.js';
import { GeneratedDropout } from './generated-dropout.js';
import type { Head, LossHead, LossTargets } from './head.js';
import { gradientOutput, LOGITS, LOSS } from './training-graph.js';

/** Training whose tensors stay in an executor's memory, such as a GPU's. Its graphs make their own dropout masks. */

interface ForwardOnDevice {
  readonly graph: Graph;
  readonly dropout: GeneratedDropout;
}

interface TrainingOnDevice extends ForwardOnDevice {
  readonly rowSums: RowSums;
  gradientsIn(outputs: Readonly<Record<string, ResidentTensor>>): DeviceGradients;
}

function buildDeviceTraining(head: LossHead, encoder: Encoder, trainable: readonly ParameterSpec[]): TrainingOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  const loss = head.loss(graph, logits);
  graph.output(LOSS, loss);
  const rowSums = new RowSums(graph);
  const names = new Set(trainable.map(({ name }) => name));
  for (const gradient of addGradients(graph, loss, names)) {
    graph.output(gradientOutput(gradient.parameter.name), rowSums.total(gradient));
  }
  return {
    graph,
    dropout,
    rowSums,
    gradientsIn: (outputs) =>
      new Map(
        [...names].flatMap((name) => {
          const tensor = outputs[gradientOutput(name)];
          return tensor === undefined ? [] : [[name, tensor] as const];
        }),
      ),
  };
}

/** The forward pass alone, with the same masks as in {@link buildDeviceTraining}. */
function buildDeviceForward(head: Head, encoder: Encoder): ForwardOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  graph.output(LOGITS, logits);
  return { graph, dropout };
}

function forward(head: Head, encoder: Encoder) {
  const graph = new Graph();
  const dropout = new GeneratedDropout(graph);
  const logits = head.logits(graph, encoder, trainingInputs(graph), dropout.apply);
  return { graph, dropout, logits };
}

/** Tables with at most this many rows are compared with the indices row by row. */
const FEW_ROWS = 64;

/**
 * Sums sparse gradients in the graph. The rows of one table entry are picked by a matrix of zeros and ones and added in
 * a matrix product, always in the same order: a scatter with additions would add them in the order in which a device's
 * threads finish, and the same seed would give another training each time.
 */
class RowSums {
  readonly #graph: Graph;
  /** Inputs for the entries that a batch reads, by the name of the indices. */
  readonly #entries = new Map<string, Tensor>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  total({ parameter, dense, rows }: ParameterGradient): Tensor {
    const parts = rows.map((each) => this.#sumOf(each, parameter));
    const [first, ...others] = dense === undefined ? parts : [dense, ...parts];
    if (first === undefined) throw new ShapeError(`${parameter.name} has no gradient`);
    return others.reduce((sum, part) => this.#graph.add(sum, part), first);
  }

  feeds({ feeds }: PaddedBatch): Record<string, TensorData> {
    const fed = Object.entries(feeds).flatMap(([name, feed]) => {
      const input = this.#entries.get(name);
      if (input === undefined || feed.type !== 'int32') return [];
      const data = Int32Array.from(new Set(feed.data)).sort();
      return [[input.name, { type: 'int32', dims: [data.length], data }] as const];
    });
    return Object.fromEntries(fed);
  }

  #sumOf({ rows, indices }: RowGradient, { name, shape }: Tensor): Tensor {
    const graph = this.#graph;
    const [count] = shape;
    if (typeof count !== 'number' || shape.length !== 2 || indices.source.kind !== 'input') {
      throw new ShapeError(`${name}: only the rows of a matrix, read by indices that are fed, can be summed`);
    }
    const read = graph.reshape(indices, [1, mergeDimensions(indices.shape)]);
    const each = graph.flattenRows(rows);
    if (count <= FEW_ROWS) {
      const all = Array.from({ length: count }, (_, row) => row);
      return graph.gemm(graph.equal(graph.constant(all, [count, 1], 'int32'), read), each);
    }
    const entries = this.#entriesOf(indices.name);
    const column = graph.reshape(entries, [...entries.shape, 1]);
    return graph.placeRows(graph.gemm(graph.equal(column, read), each), entries, count);
  }

  #entriesOf(indices: string): Tensor {
    const known = this.#entries.get(indices);
    if (known !== undefined) return known;
    const entries = this.#graph.input(`entries of ${indices}`, 'int32', [`distinct ${indices}`]);
    this.#entries.set(indices, entries);
    return entries;
  }
}

interface Compiled<Built> {
  readonly built: Built;
  readonly graph: ResidentGraph;
  readonly inputNames: ReadonlySet<string>;
}

interface EngineParts {
  readonly store: DeviceParameters;
  readonly step: DeviceAdamW;
  readonly training: Compiled<TrainingOnDevice>;
  readonly forward: Compiled<ForwardOnDevice> | undefined;
}

/**
 * An engine whose weights, gradients and moments stay in an executor's memory, such as a GPU's. Only ids and targets go
 * there, and only losses and the norm of the gradients come back.
 */
export class DeviceEngine implements Engine {
  readonly store: DeviceParameters;
  readonly accumulates: boolean;
  steps = 0;
  readonly #memory: ResidentMemory;
  readonly #parts: EngineParts;
  readonly #sum: GradientSum;
  readonly #outputs: number;
  readonly #loss = new Float32Array(1);
  /** Gradients of the last run, until they are added to the sum. */
  #gradients: DeviceGradients = new Map();
  #dropoutState: MaskState;

  private constructor(memory: ResidentMemory, parts: EngineParts, options: EngineOptions) {
    const { head, encoder, seed, trainable } = options;
    this.#memory = memory;
    this.#parts = parts;
    this.store = parts.store;
    this.accumulates = splitsBatches(encoder, options);
    this.#sum = new GradientSum(memory, trainable);
    this.#outputs = head.outputs(encoder);
    this.#dropoutState = { seed: seed >>> 0, position: 0, stream: 'graph' };
  }

  static async create(memory: ResidentMemory, options: EngineOptions): Promise<DeviceEngine> {
    const { head, encoder, trainable, frozen } = options;
    const training = buildDeviceTraining(head, encoder, trainable);
    const forward = options.forward ? buildDeviceForward(head, encoder) : undefined;
    const store = await DeviceParameters.create(memory, trainable);
    const stays = new Set([...training.graph.outputs.keys()].filter((name) => name !== LOSS));
    const parts: EngineParts = {
      store,
      training: await compiled(memory, training, { ...frozen, stays }),
      forward: forward && (await compiled(memory, forward, { ...frozen, stays: new Set() })),
      step: await DeviceAdamW.create(memory, store, options.adamW),
    };
    return new DeviceEngine(memory, parts, options);
  }

  get parameterFeeds(): Readonly<Record<string, ResidentTensor>> {
    return this.store.weightFeeds;
  }

  get dropoutState(): MaskState {
    return this.#dropoutState;
  }

  set dropoutState({ seed, position }: MaskState) {
    this.#dropoutState = { seed, position, stream: 'graph' };
  }

  async run(batch: PaddedBatch, targets: LossTargets): Promise<number> {
    const { built, graph, inputNames } = this.#parts.training;
    this.#freeGradients();
    if (!this.accumulates) this.#sum.clear();
    const feeds = {
      ...this.#feeds(batch, built, inputNames),
      ...built.rowSums.feeds(batch),
      ...targets.feeds,
    };
    const loss: TensorData = { type: 'float32', dims: [], data: this.#loss };
    const left = await graph.run(feeds, { [LOSS]: loss });
    this.#gradients = built.gradientsIn(left);
    if (!this.accumulates) await this.#addToSum(1);
    return this.#loss[0] ?? Number.NaN;
  }

  async outputs(batch: PaddedBatch): Promise<Float32Array> {
    const { forward } = this.#parts;
    if (forward === undefined) throw new RangeError('this engine was made without `forward`');
    const dims = [batch.sizes.batch, this.#outputs];
    const data = new Float32Array(batch.sizes.batch * this.#outputs);
    const feeds = this.#feeds(batch, forward.built, forward.inputNames);
    await forward.graph.run(feeds, { [LOGITS]: { type: 'float32', dims, data } });
    return data;
  }

  async accumulate(weight: number): Promise<void> {
    if (!this.accumulates) throw new RangeError('this engine was made for batches that are one run each');
    await this.#addToSum(weight);
  }

  async step(learningRate: number, options?: StepOptions): Promise<number> {
    const taken = { ...options, step: this.steps + 1, learningRate };
    const norm = await this.#parts.step.take(this.#sum.mean, taken);
    this.steps += 1;
    this.#sum.clear();
    this.#freeGradients();
    return norm;
  }

  async release(): Promise<void> {
    const { training, forward, step } = this.#parts;
    this.#freeGradients();
    this.store.free();
    for (const each of [training.graph, forward?.graph, step, this.#sum]) await each?.release();
  }

  async #addToSum(weight: number): Promise<void> {
    const gradients = this.#gradients;
    this.#gradients = new Map();
    await this.#sum.add(gradients, weight);
  }

  #feeds(
    batch: PaddedBatch,
    { dropout }: TrainingOnDevice | ForwardOnDevice,
    inputNames: ReadonlySet<string>,
  ): Record<string, TensorData | ResidentTensor> {
    const state = this.#dropoutState;
    this.#dropoutState = { ...state, position: state.position + 1 };
    return {
      ...this.store.weightFeeds,
      ...dropout.feeds(state, batch.sizes),
      ...feedsFor(batch, inputNames),
    };
  }

  #freeGradients(): void {
    for (const tensor of this.#gradients.values()) this.#memory.free(tensor);
    this.#gradients = new Map();
  }
}

async function compiled<Built extends { readonly graph: Graph }>(
  memory: ResidentMemory,
  built: Built,
  options: CompileOptions & { readonly stays: ReadonlySet<string> },
): Promise<Compiled<Built>> {
  const inputNames = new Set(built.graph.inputs.map(({ name }) => name));
  return { built, graph: await memory.compile(built.graph, options), inputNames };
}
