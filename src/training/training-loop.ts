import { setImmediate as nextTurn } from 'node:timers/promises';
import { err, ok, type Result } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import { type BertConfig, bertParameters, initialize, type ParameterSpec } from '../encoder/index.js';
import { AbortedError, type OrchardError } from '../errors.js';
import type { TrainingTask } from '../families/index.js';
import type { GraphExecutor } from '../graph/index.js';
import { Random } from '../random.js';
import type { Encoding } from '../tokenizer/index.js';
import { AdamWOptimizer } from './adamw-optimizer.js';
import { restoreCheckpoint, saveCheckpoint, type Weights } from './checkpoint.js';
import { Evaluator } from './evaluation.js';
import { GradientEngine } from './gradient-engine.js';
import { type Hyperparameters, MAX_GRADIENT_NORM, patienceFor, WARMUP_FRACTION } from './hyperparameters.js';
import { linearLearningRate } from './learning-rate-schedule.js';
import { lengthBatches } from './length-batches.js';
import { padBatch } from './padded-batch.js';
import type { ProgressReporter } from './progress-reporter.js';
import { rowsPerRun } from './step-memory.js';
import { dropTokens } from './token-dropout.js';
import { emptyStats, type TrainingState, withEpoch } from './training-state.js';

export interface LoopInput {
  readonly task: TrainingTask;
  /** The task's rows, tokenised. */
  readonly train: readonly Encoding[];
  readonly dev: readonly Encoding[];
  readonly encoder: BertConfig;
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
  /** What these weights give for the dev rows. [rows, outputs] */
  readonly devOutputs: Float32Array;
}

/** Trains until the last epoch, or until the main metric has not risen for a while; the best epoch is kept. */
export async function trainModel(input: LoopInput): Promise<Result<TrainedModel, OrchardError>> {
  const { task, encoder, hyperparameters, executor, threads, seed } = input;
  const parameters = [...bertParameters(encoder, 'bert.'), ...task.head.parameters(encoder)];
  const longest = Math.max(...input.train.map(({ ids }) => ids.length));
  const engine = await GradientEngine.create({
    executor,
    head: task.head,
    encoder,
    parameters,
    batchSize: hyperparameters.batchSize,
    longest,
    threads,
    seed,
  });
  const evaluator = await Evaluator.create(executor, task.head, encoder, threads);
  try {
    const loop = new TrainingLoop(input, engine, evaluator);
    loop.initialize(parameters);
    const outcome = await loop.run();
    return outcome.map((trained) => ({ parameters, ...trained }));
  } finally {
    await engine.release();
    await evaluator.release();
  }
}

class TrainingLoop {
  readonly #optimizer: AdamWOptimizer;
  readonly #totalSteps: number;
  #stats: TrainingStats;
  #best: Weights = new Map();
  #bestEpoch = 0;
  #savedAt = performance.now();

  constructor(
    private readonly input: LoopInput,
    private readonly engine: GradientEngine,
    private readonly evaluator: Evaluator,
  ) {
    const { batchSize, epochs } = input.hyperparameters;
    this.#optimizer = new AdamWOptimizer(engine.store, engine.kernels);
    this.#totalSteps = epochs * Math.ceil(input.train.length / batchSize);
    this.#stats = emptyStats(batchSize, input.task.mainMetric);
  }

  /** Fills the parameters from the seed. */
  initialize(parameters: readonly ParameterSpec[]): void {
    const random = Random.fromSeed(this.input.seed, 0);
    for (const spec of parameters) {
      initialize(spec, this.engine.store.get(spec.name).weights, () => random.normal());
    }
  }

  async run(): Promise<Result<Omit<TrainedModel, 'parameters'>, OrchardError>> {
    await this.#restore();
    const { epochs } = this.input.hyperparameters;
    const patience = patienceFor(epochs);
    while (this.#stats.epoch < epochs && this.#stats.epoch - this.#bestEpoch < patience) {
      const epoch = await this.#epoch();
      if (epoch.isErr()) return err(epoch.error);
      await this.#saveNowAndThen();
    }
    for (const { name, weights } of this.engine.store.parameters) {
      weights.set(this.#best.get(name) ?? weights);
    }
    const devOutputs = await this.#devOutputs();
    return devOutputs.map((outputs) => ({ weights: this.#best, stats: this.#stats, devOutputs: outputs }));
  }

  async #epoch(): Promise<Result<void, OrchardError>> {
    const startedAt = performance.now();
    const loss = await this.#trainEpoch();
    if (loss.isErr()) return err(loss.error);
    const scores = await this.#evaluate();
    if (scores.isErr()) return err(scores.error);
    const elapsedSeconds = (performance.now() - startedAt) / 1000;
    const before = this.#stats.best_eval_metric_value;
    this.#stats = withEpoch(this.#stats, { elapsedSeconds, loss: loss.value, scores: scores.value });
    if (before === undefined || (this.#stats.best_eval_metric_value ?? 0) > before) this.#keepBest();
    this.input.progress.epochEnded(this.#stats);
    return ok();
  }

  /** @returns the mean training loss. */
  async #trainEpoch(): Promise<Result<number, OrchardError>> {
    const { train, hyperparameters, seed, signal, progress } = this.input;
    const { epoch } = this.#stats;
    const lengths = train.map(({ ids }) => ids.length);
    let sum = 0;
    let rows = 0;
    for (const batch of lengthBatches(lengths, { batchSize: hyperparameters.batchSize, seed, epoch })) {
      // The event loop must turn for a request to stop to come in: a run blocks its thread.
      await nextTurn();
      if (signal.aborted) return err(new AbortedError('the training'));
      sum += batch.length * (await this.#gradients(batch));
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

  /** Computes the gradients of one batch, in several runs where memory asks for it. @returns its mean loss. */
  async #gradients(batch: readonly number[]): Promise<number> {
    const { train, task, encoder, seed, maskId } = this.input;
    const { tokenDropout } = this.input.hyperparameters;
    const longest = Math.max(...batch.map((row) => train[row]?.ids.length ?? 0));
    const size = this.engine.accumulates ? rowsPerRun(encoder, longest) : batch.length;
    let sum = 0;
    let total = 0;
    for (let start = 0; start < batch.length; start += size) {
      const rows = batch.slice(start, start + size);
      const targets = task.head.targets(rows, this.input.hyperparameters);
      const encodings = dropTokens(
        rows.flatMap((row) => train[row] ?? []),
        tokenDropout,
        maskId,
        seed,
        this.#optimizer.steps,
        start,
      );
      sum += targets.weight * (await this.engine.run(padBatch(encodings, encoder.pad_token_id), targets));
      total += targets.weight;
      if (this.engine.accumulates) this.engine.store.accumulateGradients(targets.weight);
    }
    return sum / total;
  }

  async #evaluate() {
    this.input.progress.evaluating();
    return (await this.#devOutputs()).map((logits) => this.input.task.evaluate(logits));
  }

  #devOutputs() {
    return this.evaluator.outputs(this.input.dev, this.engine.parameterFeeds, this.input.signal);
  }

  #keepBest(): void {
    this.#bestEpoch = this.#stats.epoch;
    this.#best = new Map(this.engine.store.parameters.map(({ name, weights }) => [name, weights.slice()]));
  }

  async #restore(): Promise<void> {
    const { file, fingerprint } = this.input.checkpoint;
    const saved = await restoreCheckpoint(file, fingerprint, this.engine.store, this.#optimizer);
    if (saved === undefined) return;
    this.#stats = saved.state.stats;
    this.#bestEpoch = saved.state.bestEpoch;
    this.#best = saved.best;
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
      bestEpoch: this.#bestEpoch,
    };
    await saveCheckpoint(file, state, this.engine.store, this.#best);
  }
}
