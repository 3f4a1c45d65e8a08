import type {
  CompileOptions,
  Graph,
  ResidentGraph,
  ResidentMemory,
  ResidentTensor,
  TensorData,
} from '../graph/index.js';
import type { Engine, EngineOptions, MaskState } from './engine.js';
import { GradientSum, type ResidentGradients } from './gradient-sum.js';
import type { LossTargets } from './head.js';
import type { StepOptions } from './optimizer.js';
import { feedsFor, type PaddedBatch } from './padded-batch.js';
import {
  buildResidentForward,
  buildResidentTraining,
  type ForwardOnDevice,
  type TrainingOnDevice,
} from './resident-graphs.js';
import { ResidentParameters } from './resident-parameters.js';
import { type GraphOptimizer, ResidentStep } from './resident-step.js';
import { splitsBatches } from './step-memory.js';
import { LOGITS, LOSS } from './training-graph.js';

interface EngineParts {
  readonly store: ResidentParameters;
  readonly step: ResidentStep;
  readonly training: Compiled<TrainingOnDevice>;
  readonly forward: Compiled<ForwardOnDevice> | undefined;
  /** Undefined if every batch is one run. */
  readonly sum: GradientSum | undefined;
}

/** A graph before and after compilation. */
interface Compiled<Built> {
  readonly built: Built;
  readonly graph: ResidentGraph;
  readonly inputNames: ReadonlySet<string>;
}

/**
 * An engine whose weights, gradients and optimizer state stay in an executor's memory, such as a GPU's. Ids and targets
 * go there, losses and the norm of the gradients come back; everything between is computed there, dropout masks and the
 * update of the weights too.
 */
export class ResidentEngine implements Engine {
  readonly store: ResidentParameters;
  readonly #memory: ResidentMemory;
  readonly #parts: EngineParts;
  readonly #outputs: number;
  readonly #loss = new Float32Array(1);
  /** Of the last run, unless they were added to the sum. */
  #gradients: ResidentGradients = new Map();
  #dropoutState: MaskState;

  private constructor(memory: ResidentMemory, parts: EngineParts, { head, encoder, seed }: EngineOptions) {
    this.#memory = memory;
    this.#parts = parts;
    this.store = parts.store;
    this.#outputs = head.outputs(encoder);
    this.#dropoutState = { seed: seed >>> 0, position: 0, stream: 'graph' };
  }

  static async create(
    memory: ResidentMemory,
    optimizer: GraphOptimizer,
    options: EngineOptions,
  ): Promise<ResidentEngine> {
    const { head, encoder, trainable, frozen } = options;
    const fixed = frozen && { weights: frozen };
    const training = buildResidentTraining(head, encoder, trainable);
    const forward = options.forward ? buildResidentForward(head, encoder) : undefined;
    const store = await ResidentParameters.create(memory, trainable, optimizer.slots);
    const stays = new Set([...training.graph.outputs.keys()].filter((name) => name !== LOSS));
    const parts: EngineParts = {
      store,
      training: await compiled(memory, training, { ...fixed, stays }),
      forward: forward && (await compiled(memory, forward, { ...fixed, stays: new Set() })),
      step: await ResidentStep.create(memory, store, optimizer),
      sum: splitsBatches(encoder, options) ? await GradientSum.create(memory, trainable) : undefined,
    };
    return new ResidentEngine(memory, parts, options);
  }

  get parameterFeeds(): Readonly<Record<string, ResidentTensor>> {
    return this.store.weightFeeds;
  }

  get accumulates(): boolean {
    return this.#parts.sum !== undefined;
  }

  get dropoutState(): MaskState {
    return this.#dropoutState;
  }

  set dropoutState({ seed, position }: MaskState) {
    this.#dropoutState = { seed, position, stream: 'graph' };
  }

  get steps(): number {
    return this.#parts.step.steps;
  }

  set steps(taken: number) {
    this.#parts.step.steps = taken;
  }

  async run(batch: PaddedBatch, targets: LossTargets): Promise<number> {
    const { built, graph, inputNames } = this.#parts.training;
    this.#freeGradients();
    const feeds = {
      ...this.#feeds(batch, built, inputNames),
      ...built.rowSums.feeds(batch),
      ...targets.feeds,
    };
    const loss: TensorData = { type: 'float32', dims: [], data: this.#loss };
    const left = await graph.run(feeds, { [LOSS]: loss });
    this.#gradients = built.gradientsIn(left);
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
    const { sum } = this.#parts;
    if (sum === undefined) throw new RangeError('this engine was made for batches that are one run each');
    const gradients = this.#gradients;
    this.#gradients = new Map();
    await sum.add(gradients, weight);
  }

  async step(learningRate: number, options?: StepOptions): Promise<number> {
    const { step, sum } = this.#parts;
    const scaled = sum === undefined ? { gradients: this.#gradients, scale: 1 } : sum.mean;
    const norm = await step.take(scaled, learningRate, options);
    sum?.clear();
    this.#freeGradients();
    return norm;
  }

  async release(): Promise<void> {
    const { training, forward, step, sum } = this.#parts;
    this.#freeGradients();
    this.store.free();
    for (const each of [training.graph, forward?.graph, step, sum]) await each?.release();
  }

  /** Weights, ids and the keys of the dropout masks, whose stream goes on with each run. */
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
