import { describe, expect, it } from 'vitest';
import { sequenceTask } from '../../../src/families/entities/training.js';
import { sentenceText } from '../../../src/families/entities/word-pieces.js';
import { loadTokenizer, type TextOutputs, trainWordPiece } from '../../../src/text/index.js';

const tags = ['O', 'B-PER', 'I-PER'];
const sentences = [
  { words: ['Ada', 'Lovelace', 'left'], tags: [1, 2, 0] },
  { words: ['nobody', 'saw', 'Ada'], tags: [0, 0, 1] },
];
const texts = sentences.map(({ words }) => sentenceText(words));
const tokenizer = loadTokenizer(trainWordPiece(texts, { vocabularySize: 100, lowercase: true }));
const task = sequenceTask({ tags, train: sentences, dev: sentences, warnings: [] });

/** An encoder that says O of every token. */
const nothingFound = texts.map((text): TextOutputs => {
  const encoding = tokenizer.encode(text);
  return [{ encoding, outputs: Float32Array.from(Array.from(encoding.ids, () => [5, 0, 0]).flat()) }];
});

describe('a sequence labelling task', () => {
  it('reports the metrics of its family: entity F1 and no accuracy, which most words outside entities raise', async () => {
    const { value, ...metrics } = await task.evaluate(nothingFound);
    expect(Object.keys(metrics)).toEqual(['f1']);
    expect(value).toBe(0);
  });

  it('keeps the accuracy of tags among the figures of its parts, for the report', async () => {
    const { signal } = new AbortController();
    const options = { lowercase: true, language: 'english', balanced: false, seed: 1, signal };
    const { blend } = await (await task.trainExpert(options)).finish(nothingFound);
    for (const part of [blend.encoder, blend.expert, blend.blend]) {
      expect(part.accuracy).toBeGreaterThanOrEqual(part.f1 ?? 1);
    }
  });
});
