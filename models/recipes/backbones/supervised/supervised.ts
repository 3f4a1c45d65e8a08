import type { BertConfig } from '../../../../src/encoder/index.js';
import type { Tokenizer } from '../../../../src/tokenizer/index.js';
import { dropTokens } from '../../../../src/training/token-dropout.js';
import { MAX_PASSAGE_TOKENS, supervisedSettings } from '../settings.js';
import type { LearningBatch, Objective } from '../student/objective.js';
import type { LabelledRows } from './labelled-set.js';
import { type SetLabel, supervisedFeeds, supervisedHead, supervisedParameters } from './supervised-head.js';

export interface SupervisedOptions {
  readonly config: BertConfig;
  readonly tokenizer: Tokenizer;
  readonly labelled: LabelledRows;
  /** The first rows are never learned from. */
  readonly validationRows: number;
  readonly batchSize: number;
  readonly seed: number;
}

/** To tell the labels of many sets at once, each text among those of its own set. */
export function supervised(options: SupervisedOptions): Objective {
  const { config, tokenizer, labelled, validationRows, batchSize, seed } = options;
  const { rows, labelCounts } = labelled;
  const firsts = labelCounts.map((_, set) =>
    labelCounts.slice(0, set).reduce((sum, count) => sum + count, 0),
  );
  const labels = labelCounts.reduce((sum, count) => sum + count, 0);
  const all = rows.map(({ text, set, label }): Example => {
    const first = firsts[set] ?? 0;
    const encoding = tokenizer.encode(text, { maxLength: MAX_PASSAGE_TOKENS });
    return { encoding, first, end: first + (labelCounts[set] ?? 0), label: first + label };
  });
  const [validation, train] = [all.slice(0, validationRows), all.slice(validationRows)];
  const batchOf = (examples: readonly Example[]): LearningBatch => ({
    encodings: examples.map(({ encoding }) => encoding),
    feeds: supervisedFeeds(examples, labels),
  });
  return {
    head: supervisedHead(labels),
    parameters: supervisedParameters(config, labels),
    lengths: train.map(({ encoding }) => encoding.ids.length),
    longest: all.reduce((most, { encoding }) => Math.max(most, encoding.ids.length), 0),
    textsPerExample: 1,
    batch(examples, step) {
      const { encodings, feeds } = batchOf(examples.flatMap((example) => train[example] ?? []));
      const { mask } = tokenizer.specialTokens;
      return { encodings: dropTokens(encodings, supervisedSettings.maskedShare, mask, seed, step), feeds };
    },
    measures: ['labels'],
    *validation() {
      for (let start = 0; start < validation.length; start += batchSize) {
        yield batchOf(validation.slice(start, start + batchSize));
      }
    },
  };
}

interface Example extends SetLabel {
  readonly encoding: ReturnType<Tokenizer['encode']>;
}
