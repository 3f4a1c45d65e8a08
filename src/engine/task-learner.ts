import { bareName, type Encoder, initialize, type ParameterSpec } from '../encoder/index.js';
import { type GraphExecutor, volume } from '../graph/index.js';
import { Random } from '../random.js';
import type { TextWindow } from '../text-reader/index.js';
import { type BatchGradients, type LearningOptions, longestOf } from './batch-gradients.js';
import { createEngine } from './create-engine.js';
import type { Engine } from './engine.js';
import { type FrozenWeights, isFrozen } from './frozen-weights.js';
import type { PairExamples, PairHead, RowHead, TrainingHead } from './head.js';
import type { Weights } from './learned-parameters.js';
import { Learner } from './learner.js';
import type { OptimizerKind } from './optimizer.js';
import { PairGradients } from './pair-gradients.js';
import { RowGradients } from './row-gradients.js';
import { withSurrogateLoss } from './surrogate-loss.js';

/** Bound on the gradients' joint norm unless a task has its own, as in BERT's fine-tuning. */
const MAX_GRADIENT_NORM = 1;

/** What an encoder and the head on it are trained for. */
export interface LearningTask {
  readonly executor: GraphExecutor;
  readonly head: TrainingHead;
  readonly encoder: Encoder;
  /**
   * Weights to start from, by the names of a bare encoder's parameters; all others are initialised at random, from the
   * seed. Default: none.
   */
  readonly pretrained?: Weights;
  /** All other parameters are trained. Default: none. */
  readonly frozen?: FrozenWeights;
  /** Default: AdamW. */
  readonly optimizer?: OptimizerKind;
  /** The texts to learn from. */
  readonly train: readonly TextWindow[];
  readonly options: LearningOptions;
  /** Language of the texts, as in training_config. */
  readonly language: string;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  /** Most examples of a batch. */
  readonly batchSize: number;
  /** Most tokens of one run, padding included; larger batches are split. Default 4,096. */
  readonly tokensPerRun?: number;
  readonly maxGradientNorm?: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** The engine and the learner of a task. */
export interface TaskLearner {
  readonly engine: Engine;
  readonly learner: Learner;
  /** Frees what the runtime holds for both. */
  release(): Promise<void>;
}

/**
 * Builds the engine for a task, initialises its parameters and prepares its examples.
 * @throws AbortedError when the signal fires
 */
export async function createTaskLearner(task: LearningTask): Promise<TaskLearner> {
  const { head } = task;
  const { engine, gradients } =
    head.kind === 'rows' ? await rowLearning(task, head) : await pairLearning(task, head);
  await fillParameters(engine, task);
  const { batchSize, seed, maxGradientNorm = MAX_GRADIENT_NORM } = task;
  return {
    engine,
    learner: new Learner({ engine, gradients, batchSize, seed, maxGradientNorm }),
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
  const { batchSize } = task;
  const engine = await createEngine({ ...engineOptions(task), head, batchSize });
  return { engine, gradients: new RowGradients({ ...task, engine }, head) };
}

async function pairLearning(task: LearningTask, head: PairHead): Promise<Learning> {
  const { executor, language, signal } = task;
  const examples = await head.examples({ language, signal });
  const batchSize = task.batchSize * textsOf(examples);
  const options = { ...engineOptions(task), head: withSurrogateLoss(head), batchSize };
  const engine = await createEngine({ ...options, split: true, forward: true });
  return { engine, gradients: await PairGradients.create({ ...task, engine }, head, examples, executor) };
}

/** Texts of the largest example. */
const textsOf = ({ rows }: PairExamples): number =>
  rows.reduce((most, { length }) => Math.max(most, length), 1);

function engineOptions({
  executor,
  encoder,
  head,
  frozen,
  optimizer,
  train,
  seed,
  tokensPerRun,
}: LearningTask) {
  const trainable = head.parameters(encoder).filter(({ name }) => !frozen || !isFrozen(frozen, name));
  return {
    executor,
    encoder,
    trainable,
    longest: longestOf(train),
    seed,
    ...(frozen && { frozen }),
    ...(optimizer && { optimizer }),
    ...(tokensPerRun !== undefined && { tokensPerRun }),
  };
}

/**
 * Fills the parameters from the pretrained weights, or draws them from the seed, one after the other, where
 * there are none.
 */
async function fillParameters(
  { store }: Engine,
  { head, encoder, pretrained, frozen, seed }: LearningTask,
): Promise<void> {
  const random = Random.fromSeed(seed, 0);
  for (const spec of head.parameters(encoder)) {
    if (frozen && isFrozen(frozen, spec.name)) continue;
    const weights = pretrained?.get(bareName(encoder, spec.name)) ?? drawn(spec, random);
    await store.setWeights(new Map([[spec.name, weights]]));
  }
}

function drawn(spec: ParameterSpec, random: Random): Float32Array {
  const values = new Float32Array(volume(spec.shape));
  initialize(spec, values, () => random.normal());
  return values;
}
