import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { AbortedError, TrainingError, type TrainingStats, trainingStatsSchema } from '../contract/index.js';
import type { CheckpointWeights, Encoder, ParameterSpec } from '../encoder/index.js';
import {
  checkpointTensors,
  createTaskLearner,
  Evaluator,
  type FrozenWeights,
  fitLinearEnd,
  type LearnerState,
  linearLearningRate,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
  type TaskLearner,
  type Weights,
} from '../engine/index.js';
import type { Scores, TrainingTask } from '../families/index.js';
import type { GraphExecutor } from '../graph/index.js';
import type { TextOutputs, TextWindow } from '../text/index.js';
import { type FrozenBackbone, learningOptions, trainedHead, wholeModel } from './frozen-backbone.js';
import { type Hyperparameters, patienceFor, WARMUP_FRACTION } from './hyperparameters.js';
import type { ProgressReporter } from './progress-reporter.js';
import { GOES_ON_LATER } from './training-run.js';

/** State of a training run between two steps: all that a checkpoint keeps besides the tensors. */
const trainingStateSchema = z.strictObject({
  /** Training is resumed only for the same request on the same rows. */
  fingerprint: z.string(),
  stats: trainingStatsSchema,
  steps: z.int(),
  /** How far the epoch in progress has come; absent between two epochs. */
  epoch: z
    .strictObject({
      batches: z.int(),
      /** Sum of the losses of its examples so far, and their number. */
      loss: z.number(),
      examples: z.int(),
      seconds: z.number(),
    })
    .exactOptional(),
  /** Where the stream of dropout masks stands; `stream` names one that isn't the default. */
  dropout: z.strictObject({
    seed: z.number(),
    position: z.number(),
    stream: z.enum(['graph']).exactOptional(),
  }),
  /** Epoch (from 1) with the best value, and that value; absent before the first evaluation. */
  best: z.strictObject({ epoch: z.int(), value: z.number() }).exactOptional(),
});
type TrainingState = z.infer<typeof trainingStateSchema>;

export interface LoopInput {
  readonly task: TrainingTask;
  /** The task's rows as the encoder reads them. */
  readonly train: readonly TextWindow[];
  readonly dev: readonly TextWindow[];
  readonly encoder: Encoder;
  /** Weights to start from; all others are initialized at random, from the seed. */
  readonly pretrained?: CheckpointWeights;
  /** What of the pretrained weights stays as it is. Default: everything learns. */
  readonly frozenBackbone?: FrozenBackbone;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  readonly hyperparameters: Hyperparameters;
  readonly executor: GraphExecutor;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly progress: ProgressReporter;
  readonly checkpoint: CheckpointPlan;
}

interface CheckpointPlan {
  readonly file: string;
  /** Identifies the training; a checkpoint with another fingerprint is ignored. */
  readonly fingerprint: string;
  /**
   * A checkpoint is written at the first end of an epoch that comes at least this long after the last one, and where
   * the run stops to go on later.
   */
  readonly intervalMs: number;
  /** Within an epoch, one is written after the first step that comes at least this long after the last. Default: none. */
  readonly withinEpochMs?: number;
}

export interface TrainedModel {
  readonly parameters: readonly ParameterSpec[];
  readonly weights: Weights;
  /** The same, as graphs are best compiled with them. */
  readonly fixed: FrozenWeights;
  readonly stats: TrainingStats;
  /** Outputs of the model with these weights for each dev text. */
  readonly devOutputs: readonly TextOutputs[];
}

/**
 * Trains until the last epoch, or until the main metric has not risen for a while; the best epoch's weights are kept, or
 * those of a pretrained encoder for retrieval, if no epoch is better.
 * @throws TrainingError if training diverges; AbortedError when the signal fires
 */
export async function runTrainingLoop(input: LoopInput): Promise<TrainedModel> {
  const { task, encoder, frozenBackbone: plan } = input;
  const learner = await createLearner(input);
  const loop = new TrainingLoop(input, learner);
  try {
    const trained = await loop.run();
    const whole = plan && wholeModel(task.head, encoder, trained.weights, input.pretrained, plan);
    const { weights } = trained;
    return { parameters: task.head.parameters(encoder), fixed: { weights }, ...trained, ...whole };
  } finally {
    await learner.release();
    await loop.release();
  }
}

export function createLearner(input: Omit<LoopInput, 'progress' | 'checkpoint'>): Promise<TaskLearner> {
  const { task, hyperparameters, frozenBackbone: plan } = input;
  const { batchSize, language } = hyperparameters;
  const head = trainedHead(task.head, plan);
  const learning = { ...input, ...(plan && learningOptions(plan)), head, options: hyperparameters };
  return createTaskLearner({ ...learning, batchSize, language });
}

type EpochSums = Omit<NonNullable<TrainingState['epoch']>, 'batches'>;

const NO_SUMS: EpochSums = { loss: 0, examples: 0, seconds: 0 };

class TrainingLoop {
  readonly #input: LoopInput;
  readonly #learning: TaskLearner;
  #evaluator: Evaluator | undefined;
  readonly #totalSteps: number;
  #stats: TrainingStats;
  #bestWeights: Weights = new Map();
  #best: { readonly epoch: number; readonly value: number } | undefined;
  #sums: EpochSums = NO_SUMS;
  /** Where the learner stood before the step in progress. */
  #position: LearnerState;
  #savedAt = performance.now();

  constructor(input: LoopInput, learning: TaskLearner) {
    const { batchSize, epochs } = input.hyperparameters;
    this.#input = input;
    this.#learning = learning;
    this.#totalSteps = epochs * learning.learner.stepsPerEpoch;
    this.#stats = emptyStats(batchSize, input.task.mainMetric);
    this.#position = learning.learner.state;
  }

  async run(): Promise<Omit<TrainedModel, 'parameters' | 'fixed'>> {
    if (!(await this.#restore())) {
      await this.#fitHead();
      await this.#judgeUntrained();
    }
    await this.#train().catch(async (thrown: unknown) => {
      const goesOn = this.#input.signal.reason === GOES_ON_LATER && thrown instanceof AbortedError;
      // A disk that is full must not keep the run from stopping; an earlier checkpoint is still there then.
      if (goesOn) await this.#save().catch(() => undefined);
      throw thrown;
    });
    await this.#learning.engine.store.setWeights(this.#bestWeights);
    const devOutputs = await this.#devOutputs();
    return { weights: this.#bestWeights, stats: this.#stats, devOutputs };
  }

  async release(): Promise<void> {
    await this.#evaluator?.release();
  }

  async #train(): Promise<void> {
    const { epochs } = this.#input.hyperparameters;
    const patience = patienceFor(epochs);
    while (this.#stats.epoch < epochs && this.#stats.epoch - (this.#best?.epoch ?? 0) < patience) {
      await this.#epoch();
      await this.#saveAfter(this.#input.checkpoint.intervalMs);
    }
  }

  async #epoch(): Promise<void> {
    const { task, progress } = this.#input;
    const startedAt = performance.now() - 1000 * this.#sums.seconds;
    await this.#trainEpoch(startedAt);
    progress.evaluating();
    const scores = await task.evaluate(await this.#devOutputs(), this.#input.signal);
    const elapsedSeconds = (performance.now() - startedAt) / 1000;
    const { loss, examples } = this.#sums;
    this.#stats = withEpoch(this.#stats, { elapsedSeconds, loss: loss / examples, scores });
    this.#sums = NO_SUMS;
    if (this.#isBest(scores.value)) await this.#keepBest(scores.value);
    progress.epochEnded(this.#stats, task.examples?.dev ?? task.dev.length, task.positive);
  }

  async #trainEpoch(startedAt: number): Promise<void> {
    const { hyperparameters, signal, progress, checkpoint } = this.#input;
    const { learner } = this.#learning;
    const { epoch } = this.#stats;
    const schedule = {
      peak: hyperparameters.learningRate,
      totalSteps: this.#totalSteps,
      warmupFraction: WARMUP_FRACTION,
    };
    while (learner.state.epoch === epoch) {
      // A run blocks its thread; a request to stop only arrives when the event loop turns.
      await nextTurn();
      if (signal.aborted) throw new AbortedError('the training');
      const step = await learner.step(linearLearningRate(learner.state.steps, schedule));
      const loss = this.#sums.loss + step.examples * step.loss;
      const examples = this.#sums.examples + step.examples;
      this.#sums = { loss, examples, seconds: (performance.now() - startedAt) / 1000 };
      this.#position = learner.state;
      const { steps } = learner.state;
      progress.stepped({ epoch, step: steps, steps: this.#totalSteps, loss: loss / examples });
      await this.#saveAfter(checkpoint.withinEpochMs ?? Number.POSITIVE_INFINITY);
    }
  }

  async #devOutputs(): Promise<TextOutputs[]> {
    const { dev, signal, task, encoder, executor, frozenBackbone: plan } = this.#input;
    const head = trainedHead(task.head, plan);
    this.#evaluator ??= await Evaluator.create(executor, head, encoder, plan?.frozen);
    return this.#evaluator.outputs(dev, this.#learning.engine.parameterFeeds, signal);
  }

  /**
   * The vectors of a pretrained encoder rank passages before any training, and few questions may spoil them: they are kept
   * unless training does better. What ends in a layer that has to be learned first has nothing to keep.
   */
  async #judgeUntrained(): Promise<void> {
    const { task, pretrained, signal } = this.#input;
    if (pretrained === undefined || task.head.kind !== 'pairs') return;
    const { value } = await task.evaluate(await this.#devOutputs(), signal);
    await this.#keepBest(value);
  }

  /** Whether an epoch is better than the best before; by more than a standard error, if that is the untrained encoder. */
  #isBest(value: number): boolean {
    if (this.#best === undefined) return true;
    const { epoch, value: before } = this.#best;
    const examples = this.#input.task.examples?.dev ?? this.#input.task.dev.length;
    // Of a mean of numbers from 0 to 1, this is the largest standard error.
    const margin = epoch === 0 ? Math.sqrt((before * (1 - before)) / Math.max(1, examples)) : 0;
    return value > before + margin;
  }

  async #keepBest(value: number): Promise<void> {
    this.#best = { epoch: this.#stats.epoch, value };
    this.#bestWeights = await this.#learning.engine.store.copyWeights();
  }

  /**
   * Fits the layer that ends the head, if one does, to what a pretrained encoder says of the texts already. A checkpoint's
   * own head stays.
   */
  async #fitHead(): Promise<void> {
    const { task, pretrained, frozenBackbone: plan, hyperparameters } = this.#input;
    const head = trainedHead(task.head, plan);
    if (pretrained === undefined || head.kind !== 'rows' || task.continuesHead) return;
    const end = head.linearEnd?.(this.#input.encoder);
    if (end === undefined) return;
    const { parameterFeeds: parameters, store } = this.#learning.engine;
    const fit = { ...this.#input, head, end, parameters, frozen: plan?.frozen };
    await store.setWeights(await fitLinearEnd({ ...fit, options: hyperparameters }));
  }

  async #restore(): Promise<boolean> {
    const { file, fingerprint } = this.#input.checkpoint;
    const checkpoint = await readCheckpoint(file);
    if (checkpoint === undefined) return false;
    const state = trainingStateSchema.safeParse(checkpoint.state).data;
    if (state === undefined || !isSameTraining(state.fingerprint, fingerprint)) return false;
    const { engine, learner } = this.#learning;
    try {
      await restoreParameters(checkpoint, engine.store);
    } catch (thrown) {
      if (thrown instanceof TrainingError) return false; // a checkpoint of another model
      throw thrown;
    }
    const { stats, steps, dropout, epoch = { batches: 0, ...NO_SUMS } } = state;
    const { batches, ...sums } = epoch;
    // An epoch may have been trained to its end and not been evaluated yet.
    const isWhole = batches === learner.stepsPerEpoch;
    const place = isWhole ? { epoch: stats.epoch + 1, batch: 0 } : { epoch: stats.epoch, batch: batches };
    learner.state = { ...place, steps, dropout };
    this.#position = learner.state;
    this.#sums = sums;
    this.#stats = stats;
    this.#best = state.best;
    const best = checkpointTensors(checkpoint, 'best');
    this.#bestWeights = new Map([...best].map(([name, { values }]) => [name, values]));
    return true;
  }

  /** Writes a checkpoint if the last one, or the start, is at least so long ago. */
  async #saveAfter(milliseconds: number): Promise<void> {
    if (performance.now() - this.#savedAt < milliseconds) return;
    this.#savedAt = performance.now();
    await this.#save();
  }

  async #save(): Promise<void> {
    const { file, fingerprint } = this.#input.checkpoint;
    const { learner, engine } = this.#learning;
    const { epoch, batch, steps, dropout } = this.#position;
    const batches = epoch > this.#stats.epoch ? learner.stepsPerEpoch : batch;
    const state: TrainingState = {
      fingerprint,
      stats: this.#stats,
      steps,
      ...(batches > 0 && { epoch: { batches, ...this.#sums } }),
      dropout,
      ...(this.#best && { best: this.#best }),
    };
    await saveCheckpoint(file, engine.store, { state, best: this.#bestWeights });
    this.#input.progress.saved(this.#stats.epoch);
  }
}

/** Whether two fingerprints say the same; the order of their fields differs between versions of this package. */
function isSameTraining(saved: string, present: string): boolean {
  return saved === present || isDeepStrictEqual(JSON.parse(saved), JSON.parse(present));
}

/** `training_stats` before the first epoch. @param mainMetric undefined for retrieval, whose metric is topk. */
export function emptyStats(batchSize: number, mainMetric: 'accuracy' | 'f1' | undefined): TrainingStats {
  return {
    batch_size: batchSize,
    ...(mainMetric && { main_eval_metric: mainMetric }),
    epoch: 0,
    metrics: { elapsed_time: [], training: { loss: [] }, validation: {} },
  };
}

/** The statistics with one more epoch. @param epoch its mean training loss, and its scores on dev. */
export function withEpoch(
  stats: TrainingStats,
  { elapsedSeconds, loss, scores }: { readonly elapsedSeconds: number; readonly loss: number; readonly scores: Scores },
): TrainingStats {
  const { elapsed_time, training, validation } = stats.metrics;
  const { accuracy, f1, topk } = scores;
  const metrics = {
    elapsed_time: [...elapsed_time, elapsedSeconds],
    training: { loss: [...training.loss, loss] },
    validation: {
      ...(accuracy !== undefined && { accuracy: [...(validation.accuracy ?? []), accuracy] }),
      ...(f1 !== undefined && { f1: [...(validation.f1 ?? []), f1] }),
      ...(topk !== undefined && { topk: [...(validation.topk ?? []), topk] }),
    },
  };
  const main = stats.main_eval_metric && metrics.validation[stats.main_eval_metric];
  return {
    ...stats,
    epoch: stats.epoch + 1,
    ...(main && { best_eval_metric_value: Math.max(...main) }),
    metrics,
  };
}
