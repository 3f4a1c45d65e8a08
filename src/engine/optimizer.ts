import type { Kernels } from '../kernels/index.js';
import type { ParameterStore } from './parameter-store.js';

export interface StepOptions {
  /**
   * Scales all gradients down together so that their joint Euclidean norm is at most this. Default: no bound.
   */
  readonly maxGradientNorm?: number;
}

/** An update rule, such as AdamW. Its state for each weight lies in the store's slots. */
export interface OptimizerKind {
  /** Names of the arrays that it keeps beside the weights; checkpoints store them under these names. */
  readonly slots: readonly string[];
  /** @param store made with these slots. @param kernels loaded over the store's arena. */
  create(store: ParameterStore, kernels: Kernels): Optimizer;
}

export interface Optimizer {
  /** Steps taken; set when training is resumed from a checkpoint. */
  steps: number;
  /**
   * Updates every weight from the store's gradients. If the store accumulates them, it then starts a new sum.
   * @returns the Euclidean norm of all gradients before clipping.
   * @throws TrainingError if that norm isn't finite; nothing is changed then
   */
  step(learningRate: number, options?: StepOptions): number;
}
