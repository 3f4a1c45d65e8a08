import { setImmediate as nextTurn } from 'node:timers/promises';
import { err, ok, type Result } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import {
  type BertConfig,
  bertName,
  type CheckpointWeights,
  initialize,
  type ParameterSpec,
} from '../encoder/index.js';
import { AbortedError, type OrchardError } from '../errors.js';
import type { PairTraining, TextOutputs, TextWindow, TrainingTask } from '../families/index.js';
import type { GraphExecutor } from '../graph/index.js';
import { Random } from '../random.js';
import { AdamWOptimizer } from './adamw-optimizer.js';
import { type BatchGradients, type GradientInput, longestOf } from './batch-gradients.js';
import { restoreCheckpoint, saveCheckpoint, type Weights } from './checkpoint.js';
import { Evaluator } from './evaluation.js';
import { GradientEngine } from './gradient-engine.js';
import { type Hyperparameters, MAX_GRADIENT_NORM, patienceFor, WARMUP_FRACTION } from './hyperparameters.js';
import { linearLearningRate } from './learning-rate-schedule.js';
import { lengthBatches } from './length-batches.js';
import { PairGradients } from './pair-gradients.js';
import type { ProgressReporter } from './progress-reporter.js';
import { TextGradients } from './text-gradients.js';
import { emptyStats, type TrainingState, withEpoch } from './training-state.js';

export interface LoopInput {
  readonly task: TrainingTask;
  /** Where texts are compared with each other. */
  readonly pairs?: PairTraining;
  /** The task's rows, tokenised. */
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
  readonly encoder: BertConfig;
  /** Weights to start from; the others, and all without them, start as the seed says. */
  readonly pretrained?: CheckpointWeights;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  readonly hyperparameters: Hyperparameters;
  readonly executor: GraphExecutor;
  readonly threads: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly progress: ProgressReporter;
  readonly checkpoint: CheckpointPlan;
}

/** Where and when a training is kept to be resumed. */
export interface CheckpointPlan {
  readonly file: string;
  /** Marks the checkpoint as one of this training. */
  readonly fingerprint: string;
  /** Written at the ends of epochs that come at least this long after the last one. */
  readonly intervalMs: number;
}

/** What a training ends with: the weights of its best epoch. */
export interface TrainedModel {
  readonly parameters: readonly ParameterSpec[];
  readonly weights: Weights;
  readonly stats: TrainingStats;
  /** What these weights give for each dev text. */
  readonly devOutputs: readonly TextOutputs[];
}

/** Trains until the last epoch, or until the main metric has not risen for a while; the best epoch is kept. */
export async function trainModel(input: LoopInput): Promise<Result<TrainedModel, OrchardError>> {
  const { task, pairs, encoder, hyperparameters, executor, threads, seed } = input;
  const { head } = task;
  const parameters = head.parameters(encoder);
  const textsPerExample = Math.max(1, ...(pairs?.examples.map((texts) => texts.length) ?? []));
  const engine = await GradientEngine.create({
    executor,
    head,
    encoder,
    parameters,
    batchSize: hyperparameters.batchSize * textsPerExample,
    longest: longestOf(input.train),
    split: pairs !== undefined,
    forward: pairs !== undefined,
    threads,
    seed,
  });
  const gradients = await gradientsOf({ ...input, head, engine }, pairs, executor);
  const evaluator = await Evaluator.create(executor, head, encoder, threads);
  try {
    const loop = new TrainingLoop(input, engine, gradients, evaluator);
    loop.initialize(parameters);
    const outcome = await loop.run();
    return outcome.map((trained) => ({ parameters, ...trained }));
  } finally {
    await engine.release();
    await gradients.release?.();
    await evaluator.release();
  }
}

async function gradientsOf(
  input: GradientInput,
  pairs: PairTraining | undefined,
  executor: GraphExecutor,
): Promise<BatchGradients> {
  return pairs ? PairGradients.create(input, pairs, executor) : new TextGradients(input);
}

class TrainingLoop {
  readonly #optimizer: AdamWOptimizer;
  readonly #totalSteps: number;
  #stats: TrainingStats;
  #bestWeights: Weights = new Map();
  #best: { readonly epoch: number; readonly value: number } | undefined;
  #savedAt = performance.now();

  constructor(
    private readonly input: LoopInput,
    private readonly engine: GradientEngine,
    private readonly gradients: BatchGradients,
    private readonly evaluator: Evaluator,
  ) {
    const { batchSize, epochs } = input.hyperparameters;
    this.#optimizer = new AdamWOptimizer(engine.store, engine.kernels);
    this.#totalSteps = epochs * Math.ceil(gradients.lengths.length / batchSize);
    this.#stats = emptyStats(batchSize, input.task.mainMetric);
  }

  /** Fills the parameters from the backbone and, where it has none of them, from the seed. */
  initialize(parameters: readonly ParameterSpec[]): void {
    const { seed, pretrained } = this.input;
    const random = Random.fromSeed(seed, 0);
    for (const spec of parameters) {
      const { weights } = this.engine.store.get(spec.name);
      const given = pretrained?.get(bertName(spec.name));
      if (given === undefined) initialize(spec, weights, () => random.normal());
      else weights.set(given);
    }
  }

  async run(): Promise<Result<Omit<TrainedModel, 'parameters'>, OrchardError>> {
    await this.#restore();
    const { epochs } = this.input.hyperparameters;
    const patience = patienceFor(epochs);
    while (this.#stats.epoch < epochs && this.#stats.epoch - (this.#best?.epoch ?? 0) < patience) {
      const epoch = await this.#epoch();
      if (epoch.isErr()) return err(epoch.error);
      await this.#saveNowAndThen();
    }
    for (const { name, weights } of this.engine.store.parameters) {
      weights.set(this.#bestWeights.get(name) ?? weights);
    }
    const devOutputs = await this.#devOutputs();
    return devOutputs.map((outputs) => ({
      weights: this.#bestWeights,
      stats: this.#stats,
      devOutputs: outputs,
    }));
  }

  async #epoch(): Promise<Result<void, OrchardError>> {
    const startedAt = performance.now();
    const loss = await this.#trainEpoch();
    if (loss.isErr()) return err(loss.error);
    const scores = await this.#evaluate();
    if (scores.isErr()) return err(scores.error);
    const elapsedSeconds = (performance.now() - startedAt) / 1000;
    this.#stats = withEpoch(this.#stats, { elapsedSeconds, loss: loss.value, scores: scores.value });
    if (this.#best === undefined || scores.value.value > this.#best.value) this.#keepBest(scores.value.value);
    this.input.progress.epochEnded(this.#stats);
    return ok();
  }

  /** @returns the mean training loss. */
  async #trainEpoch(): Promise<Result<number, OrchardError>> {
    const { hyperparameters, seed, signal, progress } = this.input;
    const { epoch } = this.#stats;
    const { lengths } = this.gradients;
    let sum = 0;
    let rows = 0;
    for (const batch of lengthBatches(lengths, { batchSize: hyperparameters.batchSize, seed, epoch })) {
      // The event loop must turn for a request to stop to come in: a run blocks its thread.
      await nextTurn();
      if (signal.aborted) return err(new AbortedError('the training'));
      sum += batch.length * (await this.gradients.compute(batch, this.#optimizer.steps));
      rows += batch.length;
      const rate = linearLearningRate(this.#optimizer.steps, {
        peak: hyperparameters.learningRate,
        totalSteps: this.#totalSteps,
        warmupFraction: WARMUP_FRACTION,
      });
      const step = this.#optimizer.step(rate, { maxGradientNorm: MAX_GRADIENT_NORM });
      if (step.isErr()) return err(step.error);
      progress.stepped({ epoch, step: this.#optimizer.steps, steps: this.#totalSteps, loss: sum / rows });
    }
    return ok(sum / rows);
  }

  async #evaluate() {
    this.input.progress.evaluating();
    return (await this.#devOutputs()).map((outputs) => this.input.task.evaluate(outputs));
  }

  #devOutputs() {
    return this.evaluator.outputs(this.input.dev, this.engine.parameterFeeds, this.input.signal);
  }

  #keepBest(value: number): void {
    this.#best = { epoch: this.#stats.epoch, value };
    this.#bestWeights = new Map(
      this.engine.store.parameters.map(({ name, weights }) => [name, weights.slice()]),
    );
  }

  async #restore(): Promise<void> {
    const { file, fingerprint } = this.input.checkpoint;
    const saved = await restoreCheckpoint(file, fingerprint, this.engine.store, this.#optimizer);
    if (saved === undefined) return;
    this.#stats = saved.state.stats;
    this.#best = saved.state.best;
    this.#bestWeights = saved.best;
    this.engine.dropoutState = saved.state.dropout;
  }

  async #saveNowAndThen(): Promise<void> {
    const { file, fingerprint, intervalMs } = this.input.checkpoint;
    if (performance.now() - this.#savedAt < intervalMs) return;
    this.#savedAt = performance.now();
    const state: TrainingState = {
      fingerprint,
      stats: this.#stats,
      steps: this.#optimizer.steps,
      dropout: this.engine.dropoutState,
      ...(this.#best && { best: this.#best }),
    };
    await saveCheckpoint(file, state, this.engine.store, this.#bestWeights);
  }
}
