import type { Encoder, ParameterSpec } from '../encoder/index.js';
import type { Feed, GraphExecutor } from '../graph/index.js';
import type { AdamWOptions, StepOptions } from './adamw.js';
import type { BatchBounds, PaddedBatch } from './batches.js';
import { DeviceEngine } from './device-engine.js';
import { GradientEngine } from './gradient-engine.js';
import type { LossHead, LossTargets } from './head.js';
import type { DropoutState } from './kernels/kernels.js';
import type { FrozenWeights, LearnedParameters } from './parameters.js';

export interface EngineOptions extends BatchBounds {
  readonly executor: GraphExecutor;
  readonly head: LossHead;
  readonly encoder: Encoder;
  readonly trainable: readonly ParameterSpec[];
  readonly frozen?: FrozenWeights;
  readonly adamW?: AdamWOptions;
  /** 32-bit integer that decides the dropout masks. */
  readonly seed: number;
  /** Whether {@link Engine.outputs} will be called. Default false. */
  readonly forward?: boolean;
}

/** Position in the stream of dropout masks, and which stream that is. */
export interface MaskState extends DropoutState {
  /**
   * `graph`: made in the training graph. Default: by a kernel, outside of it. The number of the position goes on in
   * whichever stream a run is resumed with, so that no mask of a stream comes twice.
   */
  readonly stream?: 'graph';
}

/** Computes loss and gradients of batches, and turns the gradients into AdamW steps. */
export interface Engine {
  readonly store: LearnedParameters;
  /** The trained parameters as feeds for other graphs that share the weights. */
  readonly parameterFeeds: Readonly<Record<string, Feed>>;
  /** Whether {@link Engine.accumulate} must be called after each run. */
  readonly accumulates: boolean;
  /** Part of a checkpoint; set when training is resumed from one. */
  dropoutState: MaskState;
  steps: number;
  /** Computes the loss of a batch, and its gradients for the next step. @returns the loss. */
  run(batch: PaddedBatch, targets: LossTargets): Promise<number>;
  /**
   * The head's outputs for a batch, with dropout: {@link Engine.run} from the same dropout state uses the same
   * masks. Only for heads with one row of outputs per text.
   * @returns [batch, outputs].
   * @throws RangeError if the engine was made without `forward`.
   */
  outputs(batch: PaddedBatch): Promise<Float32Array>;
  /**
   * Adds the last run's gradients to the sum that the next step averages.
   * @param weight what the run's mean loss was divided by, such as its number of rows.
   * @throws RangeError if no batch is split.
   */
  accumulate(weight: number): Promise<void>;
  /**
   * Updates every trained weight.
   * @returns the Euclidean norm of all gradients before clipping.
   * @throws TrainingError if that norm isn't finite; nothing is changed then
   */
  step(learningRate: number, options?: StepOptions): Promise<number>;
  release(): Promise<void>;
}

/** The engine for an executor: weights, gradients and moments stay in the executor's memory where it has one. */
export function createEngine(options: EngineOptions): Promise<Engine> {
  const { resident } = options.executor;
  return resident === undefined ? GradientEngine.create(options) : DeviceEngine.create(resident, options);
}
