import type { TextWindow } from '../families/index.js';

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

/** The longest of some windows, in tokens. */
export function longestOf(windows: readonly TextWindow[]): number {
  return windows.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
}
