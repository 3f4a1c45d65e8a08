import type { Encoder, ParameterSpec } from '../encoder/index.js';
import {
  type CompiledGraph,
  type ParameterGradient,
  resolveShape,
  type Tensor,
  type TensorData,
  volume,
} from '../graph/index.js';
import { type AdamWOptions, type StepOptions, stepAdamW } from './adamw.js';
import { type BatchBounds, feedsFor, type IdFeed, type PaddedBatch, rowsPerRun, splitsBatches } from './batches.js';
import type { Engine, EngineOptions } from './engine.js';
import type { LossTargets } from './head.js';
import { Arena } from './kernels/arena.js';
import { type DropoutState, type Kernels, loadKernels } from './kernels/kernels.js';
import { ParameterStore } from './parameters.js';
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
}

/** Trains in this process's memory: an arena for the largest batch, which the executor reads and writes in place. */
export class GradientEngine implements Engine {
  readonly store: ParameterStore;
  readonly accumulates: boolean;
  readonly parameterFeeds: Readonly<Record<string, TensorData>>;
  steps = 0;
  #dropoutState: DropoutState;
  readonly #parts: EngineParts;
  readonly #adamW: AdamWOptions | undefined;
  readonly #kernels: Kernels;
  readonly #inputNames: ReadonlySet<string>;
  readonly #loss = new Float32Array(1);
  readonly #outputs: number;
  readonly #denseOutputs: Readonly<Record<string, TensorData>>;
  readonly #buffers: ReadonlyMap<string, Float32Array>;
  readonly #rowIds = new Map<IdFeed, RowIds>();

  private constructor(parts: EngineParts, options: EngineOptions) {
    const { head, encoder, trainable, longest, seed } = options;
    const { training } = parts;
    this.accumulates = splitsBatches(encoder, options);
    const memory = planStepMemory(training, encoder, trainable, this.accumulates, options);
    const arena = new Arena(memory.arenaBytes);
    this.#parts = parts;
    this.#adamW = options.adamW;
    this.#inputNames = new Set(training.graph.inputs.map(({ name }) => name));
    this.#outputs = head.outputs(encoder);
    this.#kernels = loadKernels(arena);
    this.store = new ParameterStore(arena, this.#kernels, trainable, this.accumulates);
    this.#buffers = new Map([...memory.buffers].map(([name, size]) => [name, arena.float32(size)]));
    this.#rowIds.set('ids', { buffer: arena.int32(memory.maxTokens), used: 0 });
    this.#rowIds.set('token_types', { buffer: arena.int32(memory.maxTokens), used: 0 });
    this.#rowIds.set('positions', { buffer: arena.int32(longest), used: 0 });
    this.#dropoutState = { seed: seed >>> 0, position: 0 };
    this.parameterFeeds = Object.fromEntries(
      this.store.parameters.map(({ name, shape, weights }) => [name, floats(shape, weights)]),
    );
    const dense = training.gradients.filter((gradient) => gradient.dense !== undefined);
    this.#denseOutputs = Object.fromEntries(
      dense.map(({ parameter: { name } }) => {
        const { shape, gradients } = this.store.get(name);
        return [gradientOutput(name), floats(shape, gradients)];
      }),
    );
  }

  static async create(options: EngineOptions): Promise<GradientEngine> {
    const { executor, head, encoder, trainable, frozen } = options;
    const training = buildTrainingGraph(head, encoder, new Set(trainable.map(({ name }) => name)));
    const compiled = await executor.compile(training.graph, frozen);
    const forward = options.forward ? await executor.compile(buildForwardGraph(head, encoder), frozen) : undefined;
    return new GradientEngine({ compiled, training, forward }, options);
  }

  get dropoutState(): DropoutState {
    return this.#dropoutState;
  }

  set dropoutState({ seed, position }: DropoutState) {
    this.#dropoutState = { seed, position };
  }

  async run(batch: PaddedBatch, targets: LossTargets): Promise<number> {
    const { compiled, training } = this.#parts;
    const feeds = { ...this.#feeds(batch), ...targets.feeds };
    const rows = Object.fromEntries(
      [...training.rowOutputs].map(([name, tensor]) => [name, this.#buffer(tensor, batch.sizes)]),
    );
    await compiled.run(feeds, { ...this.#denseOutputs, ...rows, [LOSS]: floats([], this.#loss) });
    for (const gradient of training.gradients) this.#zeroRows(gradient);
    this.#takeIds(batch);
    for (const gradient of training.gradients) this.#sumRows(gradient, rows);
    return this.#loss[0] ?? Number.NaN;
  }

  async outputs(batch: PaddedBatch): Promise<Float32Array> {
    const { forward } = this.#parts;
    if (forward === undefined) throw new RangeError('this engine was made without `forward`');
    const dims = [batch.sizes.batch, this.#outputs];
    const data = new Float32Array(volume(dims));
    await forward.run(this.#feeds(batch), { [LOGITS]: floats(dims, data) });
    return data;
  }

  async accumulate(weight: number): Promise<void> {
    this.store.accumulateGradients(weight);
  }

  async step(learningRate: number, options?: StepOptions): Promise<number> {
    const taken = { ...options, step: this.steps + 1, learningRate };
    const norm = stepAdamW(this.store, this.#kernels, taken, this.#adamW);
    this.steps += 1;
    return norm;
  }

  async release(): Promise<void> {
    const { compiled, forward } = this.#parts;
    await compiled.release();
    await forward?.release();
  }

  #feeds(batch: PaddedBatch): Record<string, TensorData> {
    const feeds: Record<string, TensorData> = { ...this.parameterFeeds };
    for (const { mask, probability } of this.#parts.training.dropouts) {
      const tensor = this.#buffer(mask, batch.sizes);
      this.#dropoutState = this.#kernels.dropoutMask(tensor.data, probability, this.#dropoutState);
      feeds[mask.name] = tensor;
    }
    return { ...feeds, ...feedsFor(batch, this.#inputNames) };
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

  #sumRows({ parameter, rows }: ParameterGradient, outputs: Readonly<Record<string, Float32Data>>): void {
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

  #buffer(tensor: Tensor, sizes: PaddedBatch['sizes']): Float32Data {
    const dims = resolveShape(tensor.shape, sizes);
    const buffer = this.#buffers.get(tensor.name);
    if (buffer === undefined) throw new RangeError(`no buffer is planned for ${tensor.name}`);
    return floats(dims, buffer.subarray(0, volume(dims)));
  }
}

type Float32Data = Extract<TensorData, { readonly type: 'float32' }>;

function floats(dims: readonly number[], data: Float32Array): Float32Data {
  return { type: 'float32', dims, data };
}

function widthOf({ shape }: Tensor): number {
  return volume(shape.slice(1).map(Number));
}

interface StepMemory {
  /** Of the whole arena, parameters included. */
  readonly arenaBytes: number;
  /** Floats of each tensor that is written or read outside the graph (dropout masks, sparse gradients), by name. */
  readonly buffers: ReadonlyMap<string, number>;
  readonly maxTokens: number;
}

function planStepMemory(
  { dropouts, rowOutputs }: TrainingGraph,
  encoder: Encoder,
  parameters: readonly ParameterSpec[],
  accumulate: boolean,
  { batchSize, longest, tokensPerRun }: BatchBounds,
): StepMemory {
  const tensors: Tensor[] = [...dropouts.map(({ mask }) => mask), ...rowOutputs.values()];
  const buffers = new Map(tensors.map(({ name }) => [name, 0]));
  let maxTokens = 0;
  for (let tokens = 1; tokens <= longest; tokens += 1) {
    const batch = Math.min(batchSize, rowsPerRun(encoder, tokens, tokensPerRun));
    maxTokens = Math.max(maxTokens, tokens * batch);
    for (const { name, shape } of tensors) {
      const size = volume(resolveShape(shape, { tokens, batch }));
      buffers.set(name, Math.max(buffers.get(name) ?? 0, size));
    }
  }
  const scratch = Arena.bytesFor([...buffers.values(), maxTokens, maxTokens, longest]);
  return { arenaBytes: ParameterStore.bytesFor(parameters, accumulate) + scratch, buffers, maxTokens };
}
