import type { Encoder } from '../../../../src/encoder/index.js';
import { dropTokens } from '../../../../src/engine/index.js';
import type { SpecialTokenIds } from '../../../../src/tokenizer/index.js';
import { distillationSettings } from '../settings.js';
import { encodingOf, type LearningBatch, type Objective } from '../student/objective.js';
import {
  distillationFeeds,
  distillationHead,
  distillationParameters,
  type LossShares,
} from './distillation-head.js';
import type { TextTargets } from './target-shard.js';

export interface DistillationOptions {
  readonly encoder: Encoder;
  readonly specialTokens: Pick<SpecialTokenIds, 'mask'>;
  /** The teacher's targets for the training texts, and for the validation texts. */
  readonly train: readonly TextTargets[];
  readonly validation: readonly TextTargets[];
  readonly teacherWidth: number;
  /** Texts of a validation batch. */
  readonly batchSize: number;
  readonly seed: number;
}

/** Measures of validation: the loss of whole passages alone, and of spans alone. */
const measures: Readonly<Record<string, LossShares>> = {
  sentence: { sentence: 1 },
  spans: { sentence: 0 },
};

/** Trains a student to give the teacher's vectors although some of its tokens are masked. */
export function distillation(options: DistillationOptions): Objective {
  const { encoder, specialTokens, train, validation, teacherWidth, batchSize, seed } = options;
  const batchOf = (texts: readonly TextTargets[], shares: LossShares): LearningBatch => ({
    encodings: texts.map(({ ids }) => encodingOf(ids)),
    feeds: distillationFeeds(texts, teacherWidth, shares),
  });
  return {
    head: distillationHead(teacherWidth),
    parameters: distillationParameters(encoder, teacherWidth),
    lengths: train.map(({ ids }) => ids.length),
    longest: [...train, ...validation].reduce((most, { ids }) => Math.max(most, ids.length), 0),
    textsPerExample: 1,
    batch(examples, step) {
      const texts = examples.flatMap((example) => train[example] ?? []);
      const { encodings, feeds } = batchOf(texts, { sentence: distillationSettings.sentenceShare });
      const { maskedShare } = distillationSettings;
      return { encodings: dropTokens(encodings, maskedShare, specialTokens.mask, seed, step), feeds };
    },
    measures: Object.keys(measures),
    *validation(measure) {
      const shares = measures[measure];
      if (shares === undefined) throw new RangeError(`no measure ${measure}`);
      for (let start = 0; start < validation.length; start += batchSize) {
        yield batchOf(validation.slice(start, start + batchSize), shares);
      }
    },
  };
}
