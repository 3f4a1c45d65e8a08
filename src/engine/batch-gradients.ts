import type { Encoder } from '../encoder/index.js';
import { pause } from '../system/index.js';
import type { TextWindow } from '../text/index.js';
import { dropTokens, longestOf, padBatch, rowsPerRun } from './batches.js';
import type { Engine } from './engine.js';
import type { RowHead, TargetOptions } from './head.js';

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
  /** Maximum number of tokens per run, as the engine was made with. */
  readonly tokensPerRun?: number;
  readonly signal: AbortSignal;
}

/**
 * Gradients of a loss in which every text, or window of one, is an example of its own: a batch can be split
 * anywhere, and the gradients of its parts are summed.
 */
export class RowGradients implements BatchGradients {
  readonly lengths: readonly number[];
  readonly #input: GradientInput;
  readonly #head: RowHead;

  constructor(input: GradientInput, head: RowHead) {
    this.#input = input;
    this.#head = head;
    this.lengths = input.train.map(({ encoding }) => encoding.ids.length);
  }

  async compute(batch: readonly number[], step: number): Promise<number> {
    const { engine, encoder, train, options, maskId, seed, signal, tokensPerRun } = this.#input;
    const windows = batch.flatMap((example) => train[example] ?? []);
    const size = engine.accumulates ? rowsPerRun(encoder, longestOf(windows), tokensPerRun) : windows.length;
    let sum = 0;
    let total = 0;
    for (let start = 0; start < windows.length; start += size) {
      await pause(signal);
      const run = windows.slice(start, start + size);
      const targets = this.#head.targets(run, options);
      const encodings = run.map(({ encoding }) => encoding);
      const dropped = dropTokens(encodings, options.tokenDropout, maskId, seed, step, start);
      sum += targets.weight * (await engine.run(padBatch(dropped, encoder), targets));
      total += targets.weight;
      if (engine.accumulates) await engine.accumulate(targets.weight);
    }
    return sum / total;
  }
}
