import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareTexts } from '../../src/inference/share-texts.js';

describe('sharing texts among workers', () => {
  it('gives every text to exactly one of at most as many parts as asked for, none empty', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(2000), { maxLength: 40 }),
        fc.integer({ min: 1, max: 6 }),
        (lengths, parts) => {
          const shared = shareTexts(lengths, parts);
          expect(shared.flat().sort((a, b) => a - b)).toEqual([...lengths.keys()]);
          expect(shared.length).toBeLessThanOrEqual(parts);
          for (const part of shared) expect(part).not.toHaveLength(0);
        },
      ),
    );
  });

  it('puts texts of similar length together', () => {
    expect(shareTexts([1000, 10, 1020, 12, 11, 990], 2)).toEqual([
      [1, 4, 3, 5],
      [0, 2],
    ]);
  });

  it('balances characters, not the number of texts', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(500), { minLength: 2, maxLength: 40 }), (lengths) => {
        const work = (part: readonly number[] = []) =>
          part.reduce((sum, position) => sum + 20 + (lengths[position] ?? 0), 0);
        const [first, second] = shareTexts(lengths, 2);
        const largest = 20 + Math.max(...lengths);
        expect(Math.abs(work(first) - work(second))).toBeLessThanOrEqual(largest);
      }),
    );
  });

  it('gives a lone text to one worker, and empty texts to all', () => {
    expect(shareTexts([300], 4)).toEqual([[0]]);
    expect(shareTexts([0, 0], 2)).toEqual([[0], [1]]);
  });
});
