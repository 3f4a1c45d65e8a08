import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scoreBelowTop, topScores } from '../../src/system/number-arrays.js';

/** Few different values, so that equal ones are common. */
const scores = fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 60 }).map((values) => Float32Array.from(values));

/** So many that the bar is found before the heap is filled; equal ones and outliers are common. */
const manyScores = fc
  .array(fc.oneof(fc.integer({ min: -5, max: 5 }), fc.float({ noNaN: true })), {
    minLength: 80,
    maxLength: 200,
  })
  .map((values) => Float32Array.from(values));

function sortedScores(values: Float32Array) {
  return Array.from(values, (score, id) => ({ id, score })).sort((a, b) => b.score - a.score || a.id - b.id);
}

describe('topScores', () => {
  it('gives what sorting would put first of those above a bar if many are left out', () => {
    fc.assert(
      fc.property(
        manyScores,
        fc.integer({ min: 0, max: 10 }),
        fc.constantFrom(Number.NEGATIVE_INFINITY, -2, 0, 4, Number.POSITIVE_INFINITY),
        (values, k, above) => {
          // Infinite scores count like any other, except for −∞.
          const expected = sortedScores(values).filter(({ score }) => score > above);
          expect(topScores(values, k, above)).toEqual(expected.slice(0, k));
        },
      ),
    );
  });

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

describe('scoreBelowTop', () => {
  it('has at least k scores above it, and few more', () => {
    const values = Float32Array.from({ length: 5000 }, (_, id) => Math.sin(id));
    for (const k of [1, 10, 100]) {
      const above = values.filter((score) => score > scoreBelowTop(values, k)).length;
      expect(above).toBeGreaterThanOrEqual(k);
      expect(above).toBeLessThan(2 * k + 250);
    }
  });

  it('is −∞ where there is nothing to tell apart', () => {
    expect(scoreBelowTop(new Float32Array(9), 2)).toBe(Number.NEGATIVE_INFINITY);
    expect(scoreBelowTop(Float32Array.of(1, Number.NaN, 3), 1)).toBe(Number.NEGATIVE_INFINITY);
    expect(scoreBelowTop(Float32Array.of(1, Number.POSITIVE_INFINITY), 1)).toBe(Number.NEGATIVE_INFINITY);
  });
});
