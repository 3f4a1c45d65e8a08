import { pause } from '../pauses.js';
import { type BatchGradients, type GradientInput, longestOf } from './batch-gradients.js';
import type { RowHead } from './head.js';
import { padBatch } from './padded-batch.js';
import { rowsPerRun } from './step-memory.js';
import { dropTokens } from './token-dropout.js';

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
    const { engine, encoder, train, options, maskId, seed, signal } = this.#input;
    const windows = batch.flatMap((example) => train[example] ?? []);
    const size = engine.accumulates ? rowsPerRun(encoder, longestOf(windows)) : windows.length;
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
