import {
  type CompiledGraph,
  type ParameterGradient,
  resolveShape,
  type Tensor,
  type TensorData,
  volume,
} from '../graph/index.js';
import { Arena, type DropoutState, type Kernels, loadKernels } from '../kernels/index.js';
import { adamW } from './adamw-optimizer.js';
import type { Engine, EngineOptions } from './engine.js';
import type { LossTargets } from './head.js';
import type { Optimizer, OptimizerKind, StepOptions } from './optimizer.js';
import { feedsFor, type IdFeed, type PaddedBatch } from './padded-batch.js';
import { ParameterStore } from './parameter-store.js';
import { planStepMemory, type StepMemory } from './step-memory.js';
import {
  buildForwardGraph,
  buildTrainingGraph,
  gradientOutput,
  LOGITS,
  LOSS,
  rowsOutput,
  type TrainingGraph,
} from './training-graph.js';

/** Row ids of sparse gradients, copied into the arena, where the kernel that sums the rows reads them. */
interface RowIds {
  readonly buffer: Int32Array;
  used: number;
}

interface EngineParts {
  readonly compiled: CompiledGraph;
  readonly training: TrainingGraph;
  readonly forward: CompiledGraph | undefined;
  readonly memory: StepMemory;
  readonly optimizer: OptimizerKind;
}

/**
 * Computes loss and gradients of batches. Parameters, gradients, dropout masks and sparse gradients lie in
 * one arena that the executor reads and writes in place; it is sized once for the largest batch.
 */
export class GradientEngine implements Engine {
  readonly store: ParameterStore;
  readonly optimizer: Optimizer;
  #dropoutState: DropoutState;
  readonly #kernels: Kernels;
  readonly #compiled: CompiledGraph;
  readonly #training: TrainingGraph;
  readonly #inputNames: ReadonlySet<string>;
  readonly #forward: CompiledGraph | undefined;
  readonly #loss = new Float32Array(1);
  readonly #outputs: number;
  readonly #memory: StepMemory;
  readonly #parameterFeeds: Readonly<Record<string, TensorData>>;
  readonly #denseOutputs: Readonly<Record<string, TensorData>>;
  readonly #buffers: ReadonlyMap<string, Float32Array>;
  readonly #rowIds = new Map<IdFeed, RowIds>();

  private constructor(
    { compiled, training, forward, memory, optimizer }: EngineParts,
    { head, encoder, trainable, longest, seed }: EngineOptions,
  ) {
    const arena = new Arena(memory.arenaBytes);
    this.#compiled = compiled;
    this.#training = training;
    this.#forward = forward;
    this.#inputNames = new Set(training.graph.inputs.map(({ name }) => name));
    this.#outputs = head.outputs(encoder);
    this.#kernels = loadKernels(arena);
    this.#memory = memory;
    const { accumulate } = memory;
    this.store = new ParameterStore(arena, this.#kernels, trainable, { accumulate, slots: optimizer.slots });
    this.optimizer = optimizer.create(this.store, this.#kernels);
    this.#buffers = new Map([...memory.buffers].map(([name, size]) => [name, arena.float32(size)]));
    this.#rowIds.set('ids', { buffer: arena.int32(memory.maxTokens), used: 0 });
    this.#rowIds.set('token_types', { buffer: arena.int32(memory.maxTokens), used: 0 });
    this.#rowIds.set('positions', { buffer: arena.int32(longest), used: 0 });
    this.#dropoutState = { seed: seed >>> 0, position: 0 };
    this.#parameterFeeds = this.#named(trainable, ({ name }) => name, 'weights');
    const dense = training.gradients.filter((gradient) => gradient.dense !== undefined);
    this.#denseOutputs = this.#named(
      dense.map(({ parameter }) => parameter),
      ({ name }) => gradientOutput(name),
      'gradients',
    );
  }

  static async create(options: EngineOptions): Promise<GradientEngine> {
    const { executor, head, encoder, trainable, frozen, optimizer = adamW() } = options;
    const training = buildTrainingGraph(head, encoder, new Set(trainable.map(({ name }) => name)));
    const memory = planStepMemory(training, encoder, trainable, optimizer.slots, options);
    const fixed = frozen && { weights: frozen };
    const compiled = await executor.compile(training.graph, fixed);
    const forward = options.forward
      ? await executor.compile(buildForwardGraph(head, encoder), fixed)
      : undefined;
    return new GradientEngine({ compiled, training, forward, memory, optimizer }, options);
  }

  get dropoutState(): DropoutState {
    return this.#dropoutState;
  }

  set dropoutState({ seed, position }: DropoutState) {
    this.#dropoutState = { seed, position };
  }

  get steps(): number {
    return this.optimizer.steps;
  }

  set steps(taken: number) {
    this.optimizer.steps = taken;
  }

  get parameterFeeds(): Readonly<Record<string, TensorData>> {
    return this.#parameterFeeds;
  }

  get accumulates(): boolean {
    return this.#memory.accumulate;
  }

  /** Computes the loss of a batch, and its gradients into the store. */
  async run(batch: PaddedBatch, targets: LossTargets): Promise<number> {
    const feeds = {
      ...this.#parameterFeeds,
      ...targets.feeds,
      ...this.#fillMasks(batch),
      ...feedsFor(batch, this.#inputNames),
    };
    const rows = this.#rowOutputs(batch);
    const loss: TensorData = { type: 'float32', dims: [], data: this.#loss };
    await this.#compiled.run(feeds, { ...this.#denseOutputs, ...rows, [LOSS]: loss });
    for (const gradient of this.#training.gradients) this.#zeroRows(gradient);
    this.#takeIds(batch);
    for (const gradient of this.#training.gradients) this.#sumRows(gradient, rows);
    return this.#loss[0] ?? Number.NaN;
  }

  async outputs(batch: PaddedBatch): Promise<Float32Array> {
    if (this.#forward === undefined) throw new RangeError('this engine was made without `forward`');
    const feeds = {
      ...this.#parameterFeeds,
      ...this.#fillMasks(batch),
      ...feedsFor(batch, this.#inputNames),
    };
    const dims = [batch.sizes.batch, this.#outputs];
    const data = new Float32Array(batch.sizes.batch * this.#outputs);
    await this.#forward.run(feeds, { [LOGITS]: { type: 'float32', dims, data } });
    return data;
  }

  async accumulate(weight: number): Promise<void> {
    this.store.accumulateGradients(weight);
  }

  async step(learningRate: number, options?: StepOptions): Promise<number> {
    return this.optimizer.step(learningRate, options);
  }

  async release(): Promise<void> {
    await this.#compiled.release();
    await this.#forward?.release();
  }

  #fillMasks({ sizes }: PaddedBatch): Record<string, TensorData> {
    const feeds: Record<string, TensorData> = {};
    for (const { mask, probability } of this.#training.dropouts) {
      const tensor = this.#buffer(mask, sizes);
      this.#dropoutState = this.#kernels.dropoutMask(tensor.data, probability, this.#dropoutState);
      feeds[mask.name] = tensor;
    }
    return feeds;
  }

  #rowOutputs({ sizes }: PaddedBatch): Record<string, TensorData & { data: Float32Array }> {
    return Object.fromEntries(
      [...this.#training.rowOutputs].map(([name, tensor]) => [name, this.#buffer(tensor, sizes)]),
    );
  }

  /** Clears the rows that the last run added; a dense gradient overwrites them anyway. */
  #zeroRows({ parameter, dense, rows }: ParameterGradient): void {
    if (dense !== undefined) return;
    const { gradients } = this.store.get(parameter.name);
    for (const { indices } of rows) this.#kernels.zeroRows(gradients, widthOf(parameter), this.#ids(indices));
  }

  /** Remembers the ids of this batch: its rows are summed now and cleared before the next run's. */
  #takeIds({ feeds }: PaddedBatch): void {
    for (const [name, ids] of this.#rowIds) {
      ids.buffer.set(feeds[name].data);
      ids.used = feeds[name].data.length;
    }
  }

  #sumRows(
    { parameter, rows }: ParameterGradient,
    outputs: Readonly<Record<string, { readonly data: Float32Array }>>,
  ): void {
    const { gradients } = this.store.get(parameter.name);
    for (const each of rows) {
      const data = outputs[rowsOutput(each.rows)]?.data;
      if (data === undefined) continue;
      this.#kernels.scatterAddRows(gradients, widthOf(parameter), this.#ids(each.indices), data);
    }
  }

  #ids(indices: Tensor): Int32Array {
    for (const [name, ids] of this.#rowIds) {
      if (name === indices.name) return ids.buffer.subarray(0, ids.used);
    }
    throw new RangeError(`no ids are kept for ${indices.name}`);
  }

  #buffer(tensor: Tensor, sizes: PaddedBatch['sizes']) {
    const dims = resolveShape(tensor.shape, sizes);
    const buffer = this.#buffers.get(tensor.name);
    if (buffer === undefined) throw new RangeError(`no buffer is planned for ${tensor.name}`);
    return { type: 'float32' as const, dims, data: buffer.subarray(0, volume(dims)) };
  }

  #named<Spec extends { readonly name: string }>(
    specs: readonly Spec[],
    nameOf: (spec: Spec) => string,
    array: 'weights' | 'gradients',
  ): Record<string, TensorData> {
    return Object.fromEntries(
      specs.map((spec) => {
        const parameter = this.store.get(spec.name);
        return [nameOf(spec), { type: 'float32' as const, dims: parameter.shape, data: parameter[array] }];
      }),
    );
  }
}

function widthOf({ shape }: Tensor): number {
  return volume(shape.slice(1).map(Number));
}
