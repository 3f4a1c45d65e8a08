import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meanReciprocalRank, pessimisticRank, topkScores } from '../../../src/families/retrieval/evaluation.js';

describe('pessimisticRank', () => {
  it('counts the better ones, and every equal one as better', () => {
    const scores = Float32Array.of(0.5, 0.9, 0.5, 0.1);
    expect([0, 1, 2, 3].map((position) => pessimisticRank(scores, position))).toEqual([3, 1, 3, 4]);
  });

  it('is the position after sorting if no two are equal', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: -99, max: 99 }), { minLength: 1 }), (values) => {
        const sorted = [...values].sort((a, b) => b - a);
        const scores = Float32Array.from(values);
        for (const [position, value] of values.entries()) {
          expect(pessimisticRank(scores, position)).toBe(sorted.indexOf(value) + 1);
        }
      }),
    );
  });

  it('puts all last if all are equal or none is a number', () => {
    expect(pessimisticRank(new Float32Array(7), 3)).toBe(7);
    expect(pessimisticRank(new Float32Array(7).fill(Number.NaN), 3)).toBe(7);
  });

  it('is infinite for what was not ranked', () => {
    expect(pessimisticRank(Float32Array.of(1), -1)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('topkScores', () => {
  it('gives the shares for 1, 3, 5, 10, 20 and 100', () => {
    const ranks = [1, 1, 2, 4, 10, 15, 60, 101, 5000, Number.POSITIVE_INFINITY];
    expect(topkScores(ranks)).toEqual({ 1: 0.2, 3: 0.3, 5: 0.4, 10: 0.5, 20: 0.6, 100: 0.7 });
  });

  it('is 0 without questions', () => {
    expect(topkScores([])).toEqual({ 1: 0, 3: 0, 5: 0, 10: 0, 20: 0, 100: 0 });
  });
});

describe('meanReciprocalRank', () => {
  it('is the mean of 1 / rank up to the tenth', () => {
    // (1 + 1/2 + 1/10 + 0 + 0) / 5
    expect(meanReciprocalRank([1, 2, 10, 11, Number.POSITIVE_INFINITY])).toBeCloseTo(0.32, 12);
  });
});
