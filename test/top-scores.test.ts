import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { topScores } from '../src/top-scores.js';

/** Few different values, so that equal ones are common. */
const scores = fc
  .array(fc.integer({ min: -5, max: 5 }), { maxLength: 60 })
  .map((values) => Float32Array.from(values));

describe('topScores', () => {
  it('gives what sorting all of them would put first, equal ones by id', () => {
    fc.assert(
      fc.property(scores, fc.integer({ min: 0, max: 70 }), (values, k) => {
        const sorted = Array.from(values, (score, id) => ({ id, score })).sort(
          (a, b) => b.score - a.score || a.id - b.id,
        );
        expect(topScores(values, k)).toEqual(sorted.slice(0, k));
      }),
    );
  });

  it('counts only scores above a bar', () => {
    expect(topScores(Float32Array.of(0, 2, -1, 0, 1), 5, 0)).toEqual([
      { id: 1, score: 2 },
      { id: 4, score: 1 },
    ]);
  });

  it('skips NaN', () => {
    expect(topScores(Float32Array.of(Number.NaN, 1), 2)).toEqual([{ id: 1, score: 1 }]);
  });
});
