import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { TrainingStats } from '../contract/index.js';
import type { BertConfig, CheckpointWeights, ParameterSpec } from '../encoder/index.js';
import {
  checkpointTensors,
  createTaskLearner,
  Evaluator,
  linearLearningRate,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
  type TaskLearner,
  type Weights,
} from '../engine/index.js';
import { AbortedError, TrainingError } from '../errors.js';
import type { TrainingTask } from '../families/index.js';
import type { GraphExecutor } from '../graph/index.js';
import type { TextOutputs, TextWindow } from '../text-reader/index.js';
import { type Hyperparameters, patienceFor, WARMUP_FRACTION } from './hyperparameters.js';
import type { ProgressReporter } from './progress-reporter.js';
import { emptyStats, type TrainingState, trainingStateSchema, withEpoch } from './training-state.js';

export interface LoopInput {
  readonly task: TrainingTask;
  /** The task's rows as the encoder reads them. */
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
  readonly encoder: BertConfig;
  /** Weights to start from; all others are initialised at random, from the seed. */
  readonly pretrained?: CheckpointWeights;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  readonly hyperparameters: Hyperparameters;
  readonly executor: GraphExecutor;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly progress: ProgressReporter;
  readonly checkpoint: CheckpointPlan;
}

/** Where and when checkpoints are written. */
export interface CheckpointPlan {
  readonly file: string;
  /** Identifies the training; a checkpoint with another fingerprint is ignored. */
  readonly fingerprint: string;
  /**
   * A checkpoint is written at the first end of an epoch that comes at least this long after the last one.
   */
  readonly intervalMs: number;
}

/** The result of a training, with the weights of its best epoch. */
export interface TrainedModel {
  readonly parameters: readonly ParameterSpec[];
  readonly weights: Weights;
  readonly stats: TrainingStats;
  /** Outputs of the model with these weights for each dev text. */
  readonly devOutputs: readonly TextOutputs[];
}

/**
 * Trains until the last epoch, or until the main metric has not risen for a while; the best epoch's weights
 * are kept.
 * @throws TrainingError if training diverges; AbortedError when the signal fires
 */
export async function trainModel(input: LoopInput): Promise<TrainedModel> {
  const { task, encoder, hyperparameters, executor } = input;
  const { head } = task;
  const { batchSize, language } = hyperparameters;
  const learner = await createTaskLearner({ ...input, head, options: hyperparameters, batchSize, language });
  const evaluator = await Evaluator.create(executor, head, encoder);
  try {
    const trained = await new TrainingLoop(input, learner, evaluator).run();
    return { parameters: head.parameters(encoder), ...trained };
  } finally {
    await learner.release();
    await evaluator.release();
  }
}

/**
 * Whether two fingerprints say the same; the order of their fields differs between versions of this package.
 */
function isSameTraining(saved: string, present: string): boolean {
  return saved === present || isDeepStrictEqual(JSON.parse(saved), JSON.parse(present));
}

class TrainingLoop {
  readonly #input: LoopInput;
  readonly #learning: TaskLearner;
  readonly #evaluator: Evaluator;
  readonly #totalSteps: number;
  #stats: TrainingStats;
  #bestWeights: Weights = new Map();
  #best: { readonly epoch: number; readonly value: number } | undefined;
  #savedAt = performance.now();

  constructor(input: LoopInput, learning: TaskLearner, evaluator: Evaluator) {
    const { batchSize, epochs } = input.hyperparameters;
    this.#input = input;
    this.#learning = learning;
    this.#evaluator = evaluator;
    this.#totalSteps = epochs * learning.learner.stepsPerEpoch;
    this.#stats = emptyStats(batchSize, input.task.mainMetric);
  }

  async run(): Promise<Omit<TrainedModel, 'parameters'>> {
    await this.#restore();
    const { epochs } = this.#input.hyperparameters;
    const patience = patienceFor(epochs);
    while (this.#stats.epoch < epochs && this.#stats.epoch - (this.#best?.epoch ?? 0) < patience) {
      await this.#epoch();
      await this.#saveNowAndThen();
    }
    this.#learning.engine.store.setWeights(this.#bestWeights);
    const devOutputs = await this.#devOutputs();
    return { weights: this.#bestWeights, stats: this.#stats, devOutputs };
  }

  async #epoch(): Promise<void> {
    const { task, progress } = this.#input;
    const startedAt = performance.now();
    const loss = await this.#trainEpoch();
    progress.evaluating();
    const scores = task.evaluate(await this.#devOutputs());
    const elapsedSeconds = (performance.now() - startedAt) / 1000;
    this.#stats = withEpoch(this.#stats, { elapsedSeconds, loss, scores });
    if (this.#best === undefined || scores.value > this.#best.value) this.#keepBest(scores.value);
    progress.epochEnded(this.#stats);
  }

  /** @returns the mean training loss. */
  async #trainEpoch(): Promise<number> {
    const { hyperparameters, signal, progress } = this.#input;
    const { learner } = this.#learning;
    const { epoch } = learner.state;
    const schedule = {
      peak: hyperparameters.learningRate,
      totalSteps: this.#totalSteps,
      warmupFraction: WARMUP_FRACTION,
    };
    let sum = 0;
    let examples = 0;
    while (learner.state.epoch === epoch) {
      // A run blocks its thread; a request to stop only arrives when the event loop turns.
      await nextTurn();
      if (signal.aborted) throw new AbortedError('the training');
      const step = await learner.step(linearLearningRate(learner.state.steps, schedule));
      sum += step.examples * step.loss;
      examples += step.examples;
      const { steps } = learner.state;
      progress.stepped({ epoch, step: steps, steps: this.#totalSteps, loss: sum / examples });
    }
    return sum / examples;
  }

  #devOutputs(): Promise<TextOutputs[]> {
    const { dev, signal } = this.#input;
    return this.#evaluator.outputs(dev, this.#learning.engine.parameterFeeds, signal);
  }

  #keepBest(value: number): void {
    this.#best = { epoch: this.#stats.epoch, value };
    this.#bestWeights = this.#learning.engine.store.copyWeights();
  }

  /** Resumes from the checkpoint, if there is one of this training. */
  async #restore(): Promise<void> {
    const { file, fingerprint } = this.#input.checkpoint;
    const checkpoint = await readCheckpoint(file);
    const state = trainingStateSchema.safeParse(checkpoint?.state).data;
    if (checkpoint === undefined || state === undefined || !isSameTraining(state.fingerprint, fingerprint)) {
      return;
    }
    const { engine, learner } = this.#learning;
    try {
      restoreParameters(checkpoint, engine.store);
    } catch (thrown) {
      if (thrown instanceof TrainingError) return; // a checkpoint of another model
      throw thrown;
    }
    learner.state = { epoch: state.stats.epoch, batch: 0, steps: state.steps, dropout: state.dropout };
    this.#stats = state.stats;
    this.#best = state.best;
    const best = checkpointTensors(checkpoint, 'best');
    this.#bestWeights = new Map([...best].map(([name, { values }]) => [name, values]));
  }

  async #saveNowAndThen(): Promise<void> {
    const { file, fingerprint, intervalMs } = this.#input.checkpoint;
    if (performance.now() - this.#savedAt < intervalMs) return;
    this.#savedAt = performance.now();
    const { steps, dropout } = this.#learning.learner.state;
    const best = this.#best && { best: this.#best };
    const state: TrainingState = { fingerprint, stats: this.#stats, steps, dropout, ...best };
    await saveCheckpoint(file, this.#learning.engine.store, { state, best: this.#bestWeights });
  }
}
