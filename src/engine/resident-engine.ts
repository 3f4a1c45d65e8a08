import type {
  CompileOptions,
  Graph,
  ResidentGraph,
  ResidentMemory,
  ResidentTensor,
  TensorData,
} from '../graph/index.js';
import type { StepOptions } from './adamw.js';
import { feedsFor, type PaddedBatch, splitsBatches } from './batches.js';
import type { Engine, EngineOptions, MaskState } from './engine.js';
import type { LossTargets } from './head.js';
import {
  buildResidentForward,
  buildResidentTraining,
  type ForwardOnDevice,
  type TrainingOnDevice,
} from './resident-graphs.js';
import { ResidentParameters } from './resident-parameters.js';
import { GradientSum, type ResidentGradients, ResidentStep } from './resident-step.js';
import { LOGITS, LOSS } from './training-graph.js';

/** A graph before and after compilation. */
interface Compiled<Built> {
  readonly built: Built;
  readonly graph: ResidentGraph;
  readonly inputNames: ReadonlySet<string>;
}

interface EngineParts {
  readonly store: ResidentParameters;
  readonly step: ResidentStep;
  readonly training: Compiled<TrainingOnDevice>;
  readonly forward: Compiled<ForwardOnDevice> | undefined;
}

/**
 * An engine whose weights, gradients and moments stay in an executor's memory, such as a GPU's. Ids and targets go
 * there, losses and the norm of the gradients come back; everything between is computed there, dropout masks and the
 * update of the weights too.
 */
export class ResidentEngine implements Engine {
  readonly store: ResidentParameters;
  readonly accumulates: boolean;
  steps = 0;
  readonly #memory: ResidentMemory;
  readonly #parts: EngineParts;
  readonly #sum: GradientSum;
  readonly #outputs: number;
  readonly #loss = new Float32Array(1);
  /** Of the last run, unless they were added to the sum. */
  #gradients: ResidentGradients = new Map();
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

  static async create(memory: ResidentMemory, options: EngineOptions): Promise<ResidentEngine> {
    const { head, encoder, trainable, frozen } = options;
    const training = buildResidentTraining(head, encoder, trainable);
    const forward = options.forward ? buildResidentForward(head, encoder) : undefined;
    const store = await ResidentParameters.create(memory, trainable);
    const stays = new Set([...training.graph.outputs.keys()].filter((name) => name !== LOSS));
    const parts: EngineParts = {
      store,
      training: await compiled(memory, training, { ...frozen, stays }),
      forward: forward && (await compiled(memory, forward, { ...frozen, stays: new Set() })),
      step: await ResidentStep.create(memory, store, options.adamW),
    };
    return new ResidentEngine(memory, parts, options);
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
