import type { Encoder } from '../encoder/index.js';
import type { TextWindow } from '../text-reader/index.js';
import type { Engine } from './engine.js';
import type { TargetOptions } from './head.js';

/** Computes the gradients of a batch of training examples, for the engine's next step. */
export interface BatchGradients {
  /** Length of each example in tokens; batches are made of examples of similar length. */
  readonly lengths: readonly number[];
  /**
   * Computes the gradients of one batch, split into several runs if it would take too much memory.
   * @param batch indices of the batch's examples.
   * @param step optimizer steps taken so far; together with the seed it decides which tokens are masked.
   * @returns the mean loss.
   * @throws AbortedError between two runs when the signal fires
   */
  compute(batch: readonly number[], step: number): Promise<number>;
  /** Frees the runtime's resources. */
  release?(): Promise<void>;
}

export interface LearningOptions extends TargetOptions {
  /** Share of the tokens that are replaced by [MASK] at each step. */
  readonly tokenDropout: number;
}

/** What gradients are computed from, for every kind of example. */
export interface GradientInput {
  readonly engine: Engine;
  readonly encoder: Encoder;
  readonly train: readonly TextWindow[];
  readonly options: LearningOptions;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** The longest of some windows, in tokens. */
export function longestOf(windows: readonly TextWindow[]): number {
  return windows.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
}
