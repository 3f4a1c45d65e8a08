import type { Kernels } from '../kernels/index.js';
import type { ParameterStore } from './parameter-store.js';

export interface StepOptions {
  /** Scales all gradients down together so that their joint Euclidean norm is at most this. Default: no bound. */
  readonly maxGradientNorm?: number;
}

/** A rule that turns gradients into new weights. What it keeps for each weight lies in the store's slots. */
export interface OptimizerKind {
  /** Names of the numbers that it keeps for each weight; a checkpoint stores them by these names. */
  readonly slots: readonly string[];
  /** @param store made with these slots. @param kernels loaded over the store's arena. */
  create(store: ParameterStore, kernels: Kernels): Optimizer;
}

export interface Optimizer {
  /** Steps taken; set when a training goes on from a checkpoint. */
  steps: number;
  /**
   * Updates every weight from the store's gradients, and starts a new sum where the store accumulates them.
   * @returns the Euclidean norm of all gradients before clipping.
   * @throws TrainingError, with nothing changed, where that isn't finite
   */
  step(learningRate: number, options?: StepOptions): number;
}
