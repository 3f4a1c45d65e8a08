import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lengthGroups, type RunSize } from '../../src/inference/encoder-runs.js';

const RUN_COST = 22;
const cost = ({ rows, tokens }: RunSize) => RUN_COST + rows * tokens;
const options = { maxTokens: 4096, cost };

function costOf(groups: readonly (readonly number[])[], lengths: readonly number[]): number {
  return groups.reduce(
    (sum, group) => sum + RUN_COST + group.length * Math.max(...group.map((at) => lengths[at] ?? 0)),
    0,
  );
}

/** The cheapest cost over every way to cut the sorted lengths, by brute force. */
function cheapest(sorted: readonly number[]): number {
  if (sorted.length === 0) return 0;
  return Math.min(...sorted.map((longest, last) => RUN_COST + (last + 1) * longest + cheapest(sorted.slice(last + 1))));
}

describe('lengthGroups', () => {
  it('runs short and long texts apart, each among texts of similar length', () => {
    expect(lengthGroups([200, 5, 190, 6], options)).toEqual([
      [1, 3],
      [2, 0],
    ]);
  });

  it('keeps texts of one length together, and one text as it is', () => {
    expect(lengthGroups([9, 9, 9], options)).toEqual([[0, 1, 2]]);
    expect(lengthGroups([7], options)).toEqual([[0]]);
    expect(lengthGroups([], options)).toEqual([]);
  });

  it('takes every text once, at the least cost of all possible cuts', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 10 }), (lengths) => {
        const groups = lengthGroups(lengths, { maxTokens: Number.POSITIVE_INFINITY, cost });
        expect(groups.flat().sort((a, b) => a - b)).toEqual([...lengths.keys()]);
        expect(costOf(groups, lengths)).toBe(cheapest([...lengths].sort((a, b) => a - b)));
      }),
    );
  });

  it('never fills a run beyond the bound, except by a single text', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 99 }), { maxLength: 60 }), (lengths) => {
        for (const group of lengthGroups(lengths, { maxTokens: 128, cost })) {
          const padded = group.length * Math.max(...group.map((at) => lengths[at] ?? 0));
          expect(group.length === 1 || padded <= 128).toBe(true);
        }
      }),
    );
  });
});
