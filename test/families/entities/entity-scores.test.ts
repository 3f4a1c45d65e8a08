import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spansOf } from '../../../src/families/entities/bio-tags.js';
import { entityScores } from '../../../src/families/entities/evaluation.js';

function scores(predicted: readonly string[], actual: readonly string[]) {
  const split = (lines: readonly string[]) => lines.map((line) => line.split(' '));
  return entityScores(split(predicted), split(actual));
}

describe('scores of entities', () => {
  it('agree with a case worked by hand', () => {
    const actual = ['B-PER I-PER O B-LOC', 'B-ORG O O', 'O B-PER B-PER O'];
    const predicted = ['B-PER I-PER O B-ORG', 'B-ORG I-ORG O', 'O B-PER I-PER O'];
    const { types, ...all } = scores(predicted, actual);
    // True: PER 0-2, LOC 3-4; ORG 0-1; PER 1-2, PER 2-3. Predicted: PER 0-2, ORG 3-4; ORG 0-2; PER 1-3.
    // Only the first is right; 8 of 11 tags are.
    expect(all).toEqual({
      precision: 1 / 4,
      recall: 1 / 5,
      f1: expect.closeTo(2 / 9, 12),
      support: 5,
      predicted: 4,
      accuracy: 8 / 11,
    });
    expect([...types]).toEqual([
      ['LOC', { precision: 0, recall: 0, f1: 0, support: 1, predicted: 0 }],
      ['ORG', { precision: 0, recall: 0, f1: 0, support: 1, predicted: 2 }],
      ['PER', { precision: 1 / 2, recall: 1 / 3, f1: expect.closeTo(0.4, 12), support: 3, predicted: 2 }],
    ]);
  });

  it.each([
    ['all right', ['B-a I-a O'], ['B-a I-a O'], [1, 1, 1, 1]],
    ['nothing predicted', ['O O'], ['B-a O'], [0, 0, 0, 1 / 2]],
    ['nothing to find', ['B-a O'], ['O O'], [0, 0, 0, 1 / 2]],
    ['no entities at all', ['O O'], ['O O'], [0, 0, 0, 1]],
    ['I- for B- is the same entity, but not the same tag', ['I-a I-a O'], ['B-a I-a O'], [1, 1, 1, 2 / 3]],
    ['an entity that is too short', ['B-a O O'], ['B-a I-a O'], [0, 0, 0, 2 / 3]],
    ['an entity that is too long', ['B-a I-a I-a'], ['B-a I-a O'], [0, 0, 0, 2 / 3]],
    ['an entity of another type', ['B-b I-b'], ['B-a I-a'], [0, 0, 0, 0]],
    ['two entities taken for one', ['B-a I-a'], ['B-a B-a'], [0, 0, 0, 1 / 2]],
    ['a type that changes within', ['B-a I-b'], ['B-a I-a'], [0, 0, 0, 1 / 2]],
    [
      'an entity at the end of one sentence and the start of the next',
      ['B-a', 'I-a'],
      ['B-a', 'B-a'],
      [1, 1, 1, 1 / 2],
    ],
  ])('%s', (_, predicted, actual, [precision, recall, f1, accuracy]) => {
    expect(scores(predicted, actual)).toMatchObject({ precision, recall, f1, accuracy });
  });

  it('of no sentences are 0', () => {
    expect(entityScores([], [])).toMatchObject({ f1: 0, accuracy: 0, support: 0 });
  });

  it('are refused for sentences of different lengths', () => {
    expect(() => scores(['O'], ['O O'])).toThrow('sentence 0 has 2 tags, but 1 predicted ones were given');
  });

  it('agree with the intersection of sets of spans', () => {
    const tag = fc.constantFrom('O', 'O', 'B-a', 'I-a', 'B-b', 'I-b');
    const pairs = fc.array(fc.array(fc.tuple(tag, tag), { maxLength: 10 }), { maxLength: 6 });
    const keys = (sentences: readonly (readonly string[])[], type?: string) =>
      new Set(
        sentences.flatMap((tags, sentence) =>
          spansOf(tags)
            .filter((span) => type === undefined || span.type === type)
            .map((span) => JSON.stringify([sentence, span])),
        ),
      );
    fc.assert(
      fc.property(pairs, (sentences) => {
        const predicted = sentences.map((sentence) => sentence.map(([guess]) => guess));
        const actual = sentences.map((sentence) => sentence.map(([, truth]) => truth));
        const { types, ...all } = entityScores(predicted, actual);
        for (const [type, figures] of [[undefined, all], ...types] as const) {
          const [guesses, truths] = [keys(predicted, type), keys(actual, type)];
          const shared = [...guesses].filter((key) => truths.has(key)).length;
          expect(figures.support).toBe(truths.size);
          expect(figures.predicted).toBe(guesses.size);
          expect(figures.precision).toBe(guesses.size === 0 ? 0 : shared / guesses.size);
          expect(figures.recall).toBe(truths.size === 0 ? 0 : shared / truths.size);
          const both = guesses.size + truths.size;
          expect(figures.f1).toBeCloseTo(both === 0 ? 0 : (2 * shared) / both, 12);
        }
      }),
      { numRuns: 300 },
    );
  });
});
