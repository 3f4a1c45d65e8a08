import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EncoderRuns, lengthGroups, type RunSize } from '../../src/inference/encoder-runs.js';

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

describe('the runs of a batch', () => {
  const unused = () => Promise.reject(new Error('nothing is computed'));
  const narrow = { inputs: [], outputs: [], bytes: 0, run: unused, release: unused };
  const output = { name: 'output', type: 'float32', shape: ['batch', 1] } as const;
  const window = (length: number) => {
    const ids = new Int32Array(length);
    return { row: 0, encoding: { ids, typeIds: ids, sequenceIds: ids, offsets: null, truncated: 0 } };
  };

  /** The lengths of the windows in each run. */
  function planned(lengths: readonly number[], isOnDevice = false): number[][] {
    const runs = new EncoderRuns({ narrow, openWide: undefined, output, pad: 0, isOnDevice });
    return runs.plan(lengths.map(window)).map((run) => run.map(({ encoding }) => encoding.ids.length));
  }

  it('are one where padding costs less than a second start', () => {
    // One run: 12 + 2 · 20 · (1 + 20 / 1500) = 52.5. Two: 24 + 10 · (1 + 10 / 1500) + 20 · (1 + 20 / 1500) = 54.3.
    expect(planned([10, 20])).toEqual([[10, 20]]);
    // 62.8 against 59.5.
    expect(planned([10, 25])).toEqual([[10], [25]]);
    expect(planned([7])).toEqual([[7]]);
  });

  it('count attention, which pads to the square', () => {
    // 485.7 against 487.5, and 493.4 against 491.3; by length alone, the second would be 434 against 435.
    expect(planned([200, 208])).toEqual([[200, 208]]);
    expect(planned([200, 211])).toEqual([[200], [211]]);
  });

  it('are fewer on a device, which waits for each', () => {
    expect(planned([10, 25], true)).toEqual([[10, 25]]);
    expect(planned([10, 230], true)).toEqual([[10], [230]]);
  });
});
