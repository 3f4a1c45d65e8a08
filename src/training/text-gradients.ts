import type { BertConfig } from '../encoder/index.js';
import type { TextWindow, TrainingHead } from '../families/index.js';
import { type BatchGradients, longestOf } from './batch-gradients.js';
import type { GradientEngine } from './gradient-engine.js';
import type { Hyperparameters } from './hyperparameters.js';
import { padBatch } from './padded-batch.js';
import { rowsPerRun } from './step-memory.js';
import { dropTokens } from './token-dropout.js';

export interface GradientInput {
  readonly engine: GradientEngine;
  readonly head: TrainingHead;
  readonly encoder: BertConfig;
  readonly train: readonly TextWindow[];
  readonly hyperparameters: Hyperparameters;
  /** Id of [MASK], which takes the place of dropped tokens. */
  readonly maskId: number;
  readonly seed: number;
}

/** Every text, or window of one, is an example by itself. A batch may be cut anywhere, its gradients are summed. */
export class TextGradients implements BatchGradients {
  readonly lengths: readonly number[];

  constructor(private readonly input: GradientInput) {
    this.lengths = input.train.map(({ encoding }) => encoding.ids.length);
  }

  async compute(batch: readonly number[], step: number): Promise<number> {
    const { engine, head, encoder, train, hyperparameters, maskId, seed } = this.input;
    const windows = batch.flatMap((example) => train[example] ?? []);
    const size = engine.accumulates ? rowsPerRun(encoder, longestOf(windows)) : windows.length;
    let sum = 0;
    let total = 0;
    for (let start = 0; start < windows.length; start += size) {
      const run = windows.slice(start, start + size);
      const targets = head.targets(run, hyperparameters);
      const encodings = run.map(({ encoding }) => encoding);
      const dropped = dropTokens(encodings, hyperparameters.tokenDropout, maskId, seed, step, start);
      sum += targets.weight * (await engine.run(padBatch(dropped, encoder.pad_token_id), targets));
      total += targets.weight;
      if (engine.accumulates) engine.store.accumulateGradients(targets.weight);
    }
    return sum / total;
  }
}
