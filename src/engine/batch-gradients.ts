import type { BertConfig } from '../encoder/index.js';
import type { TextWindow } from '../text-reader/index.js';
import type { GradientEngine } from './gradient-engine.js';
import type { TargetOptions } from './head.js';

/** How the gradients of a batch of training examples get into the parameter store. */
export interface BatchGradients {
  /** Tokens of each example, for batches of like length. */
  readonly lengths: readonly number[];
  /**
   * Computes the gradients of one batch, in several runs where memory asks for it.
   * @param batch numbers of examples.
   * @param step optimizer steps taken so far: with the seed, decides what is hidden from the model.
   * @returns the mean loss.
   */
  compute(batch: readonly number[], step: number): Promise<number>;
  /** Frees what the runtime holds for it. */
  release?(): Promise<void>;
}

export interface LearningOptions extends TargetOptions {
  /** Share of the tokens that each step hides from the model. */
  readonly tokenDropout: number;
}

/** What gradients are computed from, whatever the kind of example. */
export interface GradientInput {
  readonly engine: GradientEngine;
  readonly encoder: BertConfig;
  readonly train: readonly TextWindow[];
  readonly options: LearningOptions;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  readonly seed: number;
}

/** The longest of some windows, in tokens. */
export function longestOf(windows: readonly TextWindow[]): number {
  return windows.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
}
