import { describe, expect, it } from 'vitest';
import { fitTfIdf } from '../../src/lexical/tf-idf.js';
import { termWeights as termWeightsSteps } from '../../src/lexical/train-linear-expert.js';
import { runToEnd } from '../../src/system/pauses.js';
import { atOnce } from '../support/at-once.js';

const termWeights = atOnce(termWeightsSteps);

describe('termWeights, by hand', () => {
  // "good" in 2 of 2 texts with the label and 0 of 2 without; "film" in 1 of 2 and 1 of 2.
  const texts = ['good film', 'good', 'bad film', 'bad'];
  const words = { lowercase: true, words: true, characters: null } as const;
  const tfIdf = runToEnd(fitTfIdf(texts, words, 100));
  const weights = termWeights(
    tfIdf,
    texts,
    [[0], [0], [], []].map((active) => ({ active })),
    1,
  );
  const weightOf = (word: string) => weights[tfIdf.vector(word).ids[0] ?? -1];

  it('is the root of idf times the log ratio of the label', () => {
    const idf = Math.log(5 / 3) + 1;
    expect(weightOf('good')).toBeCloseTo(Math.sqrt(idf * Math.log(3 / 4 / (1 / 4))), 5);
    expect(weightOf('bad')).toBeCloseTo(Math.sqrt(idf * Math.log(3 / 4 / (1 / 4))), 5);
  });

  it('is 0 if a word says nothing about the label', () => {
    expect(weightOf('film')).toBe(0);
  });

  it('follows the label that the word says most about', () => {
    const several = termWeights(
      tfIdf,
      texts,
      [[0], [0, 1], [1], []].map((active) => ({ active })),
      2,
    );
    const id = tfIdf.vector('good').ids[0] ?? -1;
    expect(several[id]).toBeCloseTo(weights[id] ?? 0, 6);
  });
});
