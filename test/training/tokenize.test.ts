import { describe, expect, it } from 'vitest';
import { newEncoder } from '../../src/encoder/index.js';
import type { TaskDescription } from '../../src/families/index.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';
import { resolveHyperparameters } from '../../src/training/hyperparameters.js';
import { tokenize } from '../../src/training/run-training.js';

const model = { name: 'm', type: 'binary-text-classification', family: 'Papaya', size: 'mini' } as const;
const reviews = ['The delivery was wonderfully quick.', 'A disappointing and overpriced meal!'];

const description: TaskDescription = {
  id2label: {},
  label2id: {},
  labels: [],
  pooling: 'mean',
};

function tokenized(texts: readonly string[], config: Parameters<typeof resolveHyperparameters>[1] = {}) {
  return tokenize(
    { train: texts, dev: [], describe: () => description },
    { longTexts: 'truncate', marksCapitals: false },
    resolveHyperparameters(model, config, texts),
  );
}

describe('the vocabulary of a training run', () => {
  it('is the bundled English one, which has words that the training texts lack', async () => {
    const { tokenizerJson, vocabularySize, train, maskId } = await tokenized(reviews);
    expect(tokenizerJson).toEqual(englishTokenizer());
    for (const word of ['delivery', 'weather']) expect(tokenizerJson).toHaveProperty(['model', 'vocab', word]);
    const general = loadTokenizer(englishTokenizer());
    expect(vocabularySize).toBe(general.vocabularySize);
    expect(maskId).toBe(general.specialTokens.mask);
    expect(train.map(({ encoding }) => encoding.ids.length)).toEqual(
      reviews.map((text) => general.encode(text).ids.length),
    );
  });

  it.each([
    ['cased texts', reviews, { preprocessing: { lowercase: false } }],
    ['another language', reviews, { language: 'german' }],
    [
      'texts that are not what they are said to be',
      ['今週は午前五時に起こして', '金曜日の午前九時に起こしてください'],
      {},
    ],
  ] as const)('is learned from the training texts for %s', async (_, texts, config) => {
    const { tokenizerJson, vocabularySize } = await tokenized(texts, config);
    expect(vocabularySize).toBeLessThan(200);
    expect(tokenizerJson).not.toHaveProperty(['model', 'vocab', 'delivery']);
  });
});

describe('the defaults of a training run', () => {
  const rows = (count: number, text: string) => Array.from({ length: count }, () => text);
  const long = 'word '.repeat(40);

  it('take more and smaller steps on small datasets', () => {
    expect(resolveHyperparameters(model, {}, rows(300, long))).toMatchObject({ batchSize: 16, epochs: 30 });
    expect(resolveHyperparameters(model, {}, rows(20_000, long))).toMatchObject({ batchSize: 32, epochs: 3 });
    const veryLong = rows(20_000, 'word '.repeat(150));
    expect(resolveHyperparameters(model, {}, veryLong).epochs).toBe(2);
    expect(resolveHyperparameters(model, { batch_size: 8, num_epochs: 2 }, rows(300, long))).toMatchObject({
      batchSize: 8,
      epochs: 2,
    });
  });

  it('read more rows in all for entities than for labels, from a backbone', () => {
    const backbone = { encoder: newEncoder('mini', 100), lowercase: true, maxTokens: 512 };
    const entities = { ...model, type: 'named-entity-recognition', family: 'Grapefruit' } as const;
    const epochs = (asked: Parameters<typeof resolveHyperparameters>[0], count: number) =>
      resolveHyperparameters(asked, {}, rows(count, long), {}, backbone).epochs;
    expect([1000, 10_000, 20_000].map((count) => epochs(model, count))).toEqual([10, 4, 3]);
    expect([1000, 20_000, 100_000].map((count) => epochs(entities, count))).toEqual([10, 6, 3]);
  });

  it('mask fewer tokens of short texts', () => {
    expect(resolveHyperparameters(model, {}, rows(10, long)).tokenDropout).toBe(0.15);
    expect(resolveHyperparameters(model, {}, rows(10, 'turn on the light')).tokenDropout).toBe(0.05);
    expect(resolveHyperparameters(model, {}, rows(10, long), { tokenDropout: 0.3 }).tokenDropout).toBe(0.3);
  });

  it('smooth labels, but not where a row may have several', () => {
    expect(resolveHyperparameters(model, {}, rows(10, long)).labelSmoothing).toBe(0.1);
    const multilabel = { ...model, type: 'multilabel-text-classification' } as const;
    expect(resolveHyperparameters(multilabel, {}, rows(10, long)).labelSmoothing).toBe(0);
    const tuned = resolveHyperparameters(model, {}, rows(10, long), {
      labelSmoothing: 0,
      classWeights: 'balanced',
    });
    expect(tuned).toMatchObject({ labelSmoothing: 0, balanced: true });
  });
});
