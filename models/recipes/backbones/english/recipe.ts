import { englishTokenizer } from '../../../../src/tokenizer/index.js';
import { distillation } from '../distillation/distillation.js';
import { readTargetShard } from '../distillation/target-shard.js';
import type { Recipe } from '../recipe.js';
import { learningSettings, SEED } from '../settings.js';

export const english: Recipe = {
  language: 'english',
  tokenizer: englishTokenizer,
  objective(work, encoder, { specialTokens }) {
    const { batchSize, validationExamples } = learningSettings;
    const texts = work.targetShards().flatMap(readTargetShard);
    const [first] = texts;
    if (first === undefined) throw new Error(`${work.path}: no targets; run the step "targets" first`);
    return distillation({
      encoder,
      specialTokens,
      train: texts.slice(validationExamples),
      validation: texts.slice(0, validationExamples),
      teacherWidth: first.vectors.length / (1 + first.spans.length),
      batchSize,
      seed: SEED,
    });
  },
  curve: { axis: '1 − cosine', measures: { sentence: 'passages', spans: 'spans' } },
};
