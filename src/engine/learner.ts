import { bareName, type Encoder, initialize } from '../encoder/index.js';
import { type GraphExecutor, volume } from '../graph/index.js';
import { Random } from '../system/index.js';
import type { TextWindow } from '../text/index.js';
import {
  type BatchGradients,
  type LearningOptions,
  PairGradients,
  RowGradients,
  withSurrogateLoss,
} from './batch-gradients.js';
import { lengthBatches, longestOf } from './batches.js';
import { createEngine, type Engine, type EngineOptions, type MaskState } from './engine.js';
import type { PairHead, RowHead, TrainingHead } from './head.js';
import { type FrozenWeights, isFrozen, type Weights } from './parameters.js';

/** Bound on the gradients' joint norm unless a task has its own, as in BERT's fine-tuning. */
const MAX_GRADIENT_NORM = 1;

interface LearningTask {
  readonly executor: GraphExecutor;
  readonly head: TrainingHead;
  readonly encoder: Encoder;
  /** Weights to start from, by the names of a bare encoder's parameters; others start at random. Default: none. */
  readonly pretrained?: Weights;
  /** All other parameters are trained. Default: none. */
  readonly frozen?: FrozenWeights;
  readonly train: readonly TextWindow[];
  readonly options: LearningOptions;
  readonly language: string;
  readonly maskId: number;
  readonly batchSize: number;
  readonly tokensPerRun?: number;
  readonly maxGradientNorm?: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

export interface TaskLearner {
  readonly engine: Engine;
  readonly learner: Learner;
  release(): Promise<void>;
}

/** @throws AbortedError when the signal fires */
export async function createTaskLearner(task: LearningTask): Promise<TaskLearner> {
  const { head } = task;
  const { engine, gradients } = head.kind === 'rows' ? await rowLearning(task, head) : await pairLearning(task, head);
  await fillParameters(engine, task);
  return {
    engine,
    learner: new Learner(engine, gradients, task),
    async release() {
      await engine.release();
      await gradients.release?.();
    },
  };
}

interface Learning {
  readonly engine: Engine;
  readonly gradients: BatchGradients;
}

async function rowLearning(task: LearningTask, head: RowHead): Promise<Learning> {
  const engine = await createEngine({ ...engineOptions(task), head });
  return { engine, gradients: new RowGradients({ ...task, engine }, head) };
}

async function pairLearning(task: LearningTask, head: PairHead): Promise<Learning> {
  const { executor, language, signal } = task;
  const examples = await head.examples({ language, signal });
  const texts = examples.rows.reduce((most, { length }) => Math.max(most, length), 1);
  const options = {
    ...engineOptions(task),
    head: withSurrogateLoss(head),
    batchSize: task.batchSize * texts,
  };
  const engine = await createEngine({ ...options, split: true, forward: true });
  return { engine, gradients: await PairGradients.create({ ...task, engine }, head, examples, executor) };
}

function engineOptions(task: LearningTask): Omit<EngineOptions, 'head'> {
  const { executor, encoder, head, frozen, train, batchSize, seed, tokensPerRun } = task;
  return {
    executor,
    encoder,
    trainable: head.parameters(encoder).filter(({ name }) => !frozen || !isFrozen(frozen, name)),
    longest: longestOf(train),
    batchSize,
    seed,
    ...(frozen && { frozen }),
    ...(tokensPerRun !== undefined && { tokensPerRun }),
  };
}

async function fillParameters(
  { store }: Engine,
  { head, encoder, pretrained, frozen, seed }: LearningTask,
): Promise<void> {
  const random = Random.fromSeed(seed, 0);
  for (const spec of head.parameters(encoder)) {
    if (frozen && isFrozen(frozen, spec.name)) continue;
    let weights = pretrained?.get(bareName(encoder, spec.name));
    if (weights === undefined) {
      weights = new Float32Array(volume(spec.shape));
      initialize(spec, weights, () => random.normal());
    }
    await store.setWeights(new Map([[spec.name, weights]]));
  }
}

/** State of a training run apart from weights and moments: its position, and all of its random state. */
export interface LearnerState {
  readonly epoch: number;
  /** Batches of the current epoch already trained on. */
  readonly batch: number;
  readonly steps: number;
  readonly dropout: MaskState;
}

/** Trains on examples, one batch per step, epoch after epoch. Can be stopped and resumed between any two steps. */
export class Learner {
  readonly #engine: Engine;
  readonly #gradients: BatchGradients;
  readonly #options: Pick<LearningTask, 'batchSize' | 'seed' | 'maxGradientNorm'>;
  #batches: readonly (readonly number[])[] = [];
  #epoch = 0;
  #batch = 0;

  constructor(
    engine: Engine,
    gradients: BatchGradients,
    options: Pick<LearningTask, 'batchSize' | 'seed' | 'maxGradientNorm'>,
  ) {
    this.#engine = engine;
    this.#gradients = gradients;
    this.#options = options;
    this.#shuffle();
  }

  get state(): LearnerState {
    const { steps, dropoutState } = this.#engine;
    return { epoch: this.#epoch, batch: this.#batch, steps, dropout: dropoutState };
  }

  /** Resumes from a state. Weights and moments belong to the store and are restored with it. */
  set state({ epoch, batch, steps, dropout }: LearnerState) {
    this.#engine.steps = steps;
    this.#engine.dropoutState = dropout;
    this.#epoch = epoch;
    this.#shuffle();
    this.#batch = batch;
  }

  get stepsPerEpoch(): number {
    return Math.ceil(this.#gradients.lengths.length / this.#options.batchSize);
  }

  /** One optimizer step on the next batch. @returns its mean loss. @throws TrainingError if training diverged */
  async step(learningRate: number): Promise<{ readonly loss: number; readonly examples: number }> {
    const { maxGradientNorm = MAX_GRADIENT_NORM } = this.#options;
    const batch = this.#batches[this.#batch] ?? [];
    const loss = await this.#gradients.compute(batch, this.#engine.steps);
    await this.#engine.step(learningRate, { maxGradientNorm });
    this.#batch += 1;
    if (this.#batch >= this.#batches.length) {
      this.#epoch += 1;
      this.#shuffle();
    }
    return { loss, examples: batch.length };
  }

  #shuffle(): void {
    const { batchSize, seed } = this.#options;
    this.#batch = 0;
    this.#batches = lengthBatches(this.#gradients.lengths, { batchSize, seed, epoch: this.#epoch });
  }
}

interface LinearSchedule {
  readonly peak: number;
  readonly totalSteps: number;
  /** Share of the steps that warm up, 0 to 1; rounded up to whole steps. Default 0.1. */
  readonly warmupFraction?: number;
}

/**
 * Linear warm-up to the peak, then linear decay to 0 (Devlin et al. 2019, appendix A.2). No step has rate 0:
 * the first has peak / (warm-up steps), the last peak / (decay steps).
 * @param step counted from 0; the rate is 0 from `totalSteps` on.
 */
export function linearLearningRate(step: number, { peak, totalSteps, warmupFraction = 0.1 }: LinearSchedule): number {
  const warmupSteps = Math.ceil(totalSteps * warmupFraction);
  if (step < warmupSteps) return (peak * (step + 1)) / warmupSteps;
  return peak * Math.max(0, (totalSteps - step) / (totalSteps - warmupSteps || 1));
}
