import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitTexts } from '../../src/inference/batch-scheduler.js';

describe('sharing texts among workers', () => {
  it('gives every text to exactly one of at most as many parts as asked for, none empty', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 2000 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 6 }),
        (work, parts) => {
          const shared = splitTexts(work, parts);
          expect(shared.flat().sort((a, b) => a - b)).toEqual([...work.keys()]);
          expect(shared.length).toBeLessThanOrEqual(parts);
          for (const part of shared) expect(part).not.toHaveLength(0);
        },
      ),
    );
  });

  it('puts texts of similar work together', () => {
    expect(splitTexts([1000, 10, 1020, 12, 11, 990], 2)).toEqual([
      [1, 4, 3, 5],
      [0, 2],
    ]);
  });

  it('balances work, not the number of texts', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 20, max: 520 }), { minLength: 2, maxLength: 40 }), (work) => {
        const sum = (part: readonly number[] = []) =>
          part.reduce((total, position) => total + (work[position] ?? 0), 0);
        const [first, second] = splitTexts(work, 2);
        expect(Math.abs(sum(first) - sum(second))).toBeLessThanOrEqual(Math.max(...work));
      }),
    );
  });

  it('gives a lone text to one worker, and equal texts to all', () => {
    expect(splitTexts([300], 4)).toEqual([[0]]);
    expect(splitTexts([20, 20], 2)).toEqual([[0], [1]]);
  });
});
