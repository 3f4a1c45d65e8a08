import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ndcg } from '../../../bench/accuracy/ndcg.js';
import { bootstrapped, share } from '../../../bench/catalogue/intervals.js';
import { countEntities, entitiesOf, f1, foundIn } from '../../../bench/catalogue/measure-tagger.js';

const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;

describe("Wilson's interval", () => {
  // p = 0.8, n = 10, z² = 3.841459: (0.8 + 0.192073 ± 1.959964 · √(0.016 + 0.00960365)) / 1.3841459.
  it('of 8 in 10 is 0.490 to 0.943', () => {
    const { value, low, high } = share(8, 10);
    expect(value).toBe(0.8);
    expect(low).toBeCloseTo(0.4902, 4);
    expect(high).toBeCloseTo(0.9433, 4);
  });

  it('of none in 10 begins at 0 and ends at z² / (n + z²)', () => {
    const { low, high } = share(0, 10);
    expect(low).toBeCloseTo(0, 12);
    expect(high).toBeCloseTo(3.841459 / 13.841459, 6);
  });

  it('holds its share and stays within 0 and 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 1, noNaN: true }), (rows, part) => {
        const { value, low, high } = share(Math.round(part * rows), rows);
        expect(low).toBeLessThanOrEqual(value + 1e-12);
        expect(high).toBeGreaterThanOrEqual(value - 1e-12);
        expect(low).toBeGreaterThan(-1e-12);
        expect(high).toBeLessThan(1 + 1e-12);
      }),
    );
  });
});

describe('the bootstrap interval', () => {
  it('has no width where all rows are alike', () => {
    expect(bootstrapped([0.5, 0.5, 0.5], mean)).toEqual({ value: 0.5, low: 0.5, high: 0.5 });
  });

  it('of a share comes close to the one that is computed', () => {
    const rows = Array.from({ length: 1000 }, (_, at) => (at < 700 ? 1 : 0));
    const [drawn, computed] = [bootstrapped(rows, mean), share(700, 1000)];
    expect(drawn.value).toBeCloseTo(0.7, 12);
    expect(drawn.low).toBeCloseTo(computed.low, 2);
    expect(drawn.high).toBeCloseTo(computed.high, 2);
  });

  it('is the same every time', () => {
    const rows = [1, 5, 2, 8];
    expect(bootstrapped(rows, mean)).toEqual(bootstrapped(rows, mean));
  });
});

describe('nDCG', () => {
  it('is 1 where the right passages come first, and 0 where none is ranked', () => {
    expect(ndcg([true, true, false], 2, 10)).toBe(1);
    expect(ndcg([false, false], 1, 10)).toBe(0);
  });

  it('discounts by the logarithm of the rank', () => {
    // One right passage at rank 3: 1 / log2(4) of 1.
    expect(ndcg([false, false, true], 1, 10)).toBeCloseTo(0.5, 12);
    // Two, at ranks 1 and 3: (1 + 0.5) / (1 + 1 / log2(3)).
    expect(ndcg([true, false, true], 2, 10)).toBeCloseTo(1.5 / (1 + 1 / Math.log2(3)), 12);
  });

  it('looks no farther than its ranks', () => {
    expect(ndcg([false, true], 1, 1)).toBe(0);
    expect(ndcg([true], 5, 1)).toBe(1);
  });
});

describe('entities by their characters', () => {
  it('stand where the words with spaces between them have them', () => {
    const words = ['Ada', 'Lovelace', 'met', 'Émile', 'in', 'Oslo'];
    const tags = ['B-PER', 'I-PER', 'O', 'B-PER', 'O', 'B-LOC'];
    const text = words.join(' ');
    const found = entitiesOf({ words, tags }).map((entity) => {
      const [type, start, end] = entity.split(' ');
      return `${type} ${text.slice(Number(start), Number(end))}`;
    });
    expect(found).toEqual(['PER Ada Lovelace', 'PER Émile', 'LOC Oslo']);
  });

  it('are right where type, beginning and end are', () => {
    const actual = ['PER 0 3', 'LOC 10 14'];
    const result = {
      labels: ['PER', 'LOC', 'ORG'],
      scores: [1, 1, 1],
      tokens: ['Ada', 'Oslo!', 'Oslo'],
      token_start_positions: [0, 10, 10],
    };
    expect(countEntities(actual, foundIn(result))).toEqual({ correct: 1, actual: 2, predicted: 3 });
  });

  it('give an F1 over all sentences together', () => {
    const counts = [
      { correct: 1, actual: 1, predicted: 1 },
      { correct: 0, actual: 0, predicted: 2 },
      { correct: 1, actual: 3, predicted: 1 },
    ];
    // Precision 2 / 4, recall 2 / 4.
    expect(f1(counts)).toBe(0.5);
    expect(f1([{ correct: 0, actual: 0, predicted: 0 }])).toBe(0);
  });
});
