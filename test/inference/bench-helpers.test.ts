import { describe, expect, it } from 'vitest';
import { slope } from '../../bench/inference/alone/memory.js';
import { arrivals } from '../../bench/inference/alone/time.js';
import { differences } from '../../bench/inference/compare.js';
import { Random } from '../../src/system/numbers.js';

describe('the slope of a series', () => {
  it('is that of the line through the values', () => {
    expect(slope([5, 7, 9, 11])).toBeCloseTo(2, 12);
  });

  // Middle 1.5; (−1.5·1 − 0.5·2 + 0.5·2 + 1.5·4) / (2.25 + 0.25 + 0.25 + 2.25) = 4.5 / 5.
  it('is least squares where the values are on no line', () => {
    expect(slope([1, 2, 2, 4])).toBeCloseTo(0.9, 12);
  });
});

describe('random arrivals', () => {
  const times = arrivals(200, 100, Random.fromSeed(4));

  it('come in order, within the time, as many as the rate says', () => {
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(100_000);
    // Five standard deviations of a Poisson count of 20,000.
    expect(Math.abs(times.length - 20_000)).toBeLessThan(5 * Math.sqrt(20_000));
  });

  // The variance of a Poisson count is its mean; of regular arrivals it would be about 0.
  it('are as irregular as a Poisson process', () => {
    const counts = Array.from({ length: 1000 }, () => 0);
    for (const time of times) counts[Math.min(999, Math.floor(time / 100))] = (counts[Math.floor(time / 100)] ?? 0) + 1;
    const mean = times.length / 1000;
    const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / 1000;
    expect(variance / mean).toBeGreaterThan(0.8);
    expect(variance / mean).toBeLessThan(1.2);
  });
});

describe('differences between the answers of two libraries', () => {
  it('are those of the numbers that both name', () => {
    expect(differences([{ bad: 0.25, good: 0.75 }], [{ good: 0.5, other: 3 }])).toEqual([0.25]);
  });

  it('are not a number where a text has no number in common', () => {
    expect(differences([{ good: 1 }, { good: 1 }], [{ good: 1 }])).toEqual([0, Number.NaN]);
  });
});
