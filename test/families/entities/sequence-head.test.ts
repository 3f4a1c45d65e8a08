import { describe, expect, it } from 'vitest';
import { sequenceHead } from '../../../src/families/entities/training.js';
import type { TextWindow } from '../../../src/text/index.js';
import { tinyEncoder } from '../../training/loop-input.js';

const tags = ['O', 'B-X', 'I-X', 'B-Y'];
/** Six words, of which one is of a rare tag. */
const head = sequenceHead({
  tags,
  train: [
    { words: ['aa', 'bb', 'cc'], tags: [0, 1, 2] },
    { words: ['dd', 'ee', 'ff'], tags: [0, 0, 3] },
  ],
  dev: [],
  warnings: [],
});

/** [CLS], the pieces that begin at these places of the text, [SEP]. */
function windowOf(row: number, ...starts: readonly number[]): TextWindow {
  const length = starts.length + 2;
  const sequenceIds = new Int32Array(length)
    .fill(0)
    .fill(-1, 0, 1)
    .fill(-1, length - 1);
  const offsets = Int32Array.from([0, 0, ...starts.flatMap((start) => [start, start + 1]), 0, 0]);
  return {
    row,
    encoding: {
      ids: new Int32Array(length),
      typeIds: new Int32Array(length),
      sequenceIds,
      offsets,
      truncated: 0,
    },
  };
}

/** The targets of [token, row], tag by tag, and the weight. */
function targetsOf(batch: readonly TextWindow[], options = { labelSmoothing: 0, balanced: false }) {
  const { feeds, weight } = head.targets(batch, options);
  const { dims = [], data = [] } = feeds.targets ?? {};
  const [, rows = 0, width = 0] = dims;
  const at = (token: number, row: number) => {
    const start = (token * rows + row) * width;
    return Array.from({ length: width }, (_, tag) => Number(data[start + tag]));
  };
  const sum = Array.from(data, Number).reduce((total, value) => total + value, 0);
  return { dims, at, weight, sum };
}

describe('targets of a batch of sentences', () => {
  it('are shares of the labelled tokens: the first piece of each word', () => {
    // The first sentence has bb in two pieces; the second lost its last word to another window.
    const { dims, at, weight, sum } = targetsOf([windowOf(0, 0, 3, 4, 6), windowOf(1, 0, 3)]);
    expect(dims).toEqual([6, 2, 4]);
    expect(weight).toBe(5);
    expect(at(2, 0)).toEqual([0, expect.closeTo(1 / 5, 6), 0, 0]);
    expect(at(4, 0)).toEqual([0, 0, expect.closeTo(1 / 5, 6), 0]);
    expect(at(2, 1)).toEqual([expect.closeTo(1 / 5, 6), 0, 0, 0]);
    for (const [token, row] of [
      [0, 0],
      [3, 0],
      [5, 0],
      [3, 1],
      [5, 1],
    ] as const)
      expect(at(token, row)).toEqual([0, 0, 0, 0]);
    expect(sum).toBeCloseTo(1, 6);
  });

  it('spread their smoothing over all tags', () => {
    const { at, sum } = targetsOf([windowOf(1, 6)], { labelSmoothing: 0.2, balanced: false });
    expect(at(1, 0)).toEqual([0.05, 0.05, 0.05, 0.85].map((share) => expect.closeTo(share, 6)));
    expect(sum).toBeCloseTo(1, 6);
  });

  it('weight tags by how rare they are if asked to', () => {
    // Of 6 words in 4 tags 3 are O: they weigh 6 / (4 · 3); B-Y occurs once and weighs 6 / 4.
    const { at, weight } = targetsOf([windowOf(1, 3, 6)], { labelSmoothing: 0, balanced: true });
    expect(weight).toBeCloseTo(2, 6);
    expect(at(1, 0)[0]).toBeCloseTo(0.25, 6);
    expect(at(2, 0)[3]).toBeCloseTo(0.75, 6);
  });

  it('are 0, with a weight to divide by, if no word begins in the batch', () => {
    const { sum, weight } = targetsOf([windowOf(0, 1)].slice(1).concat(windowOf(0)));
    expect(sum).toBe(0);
    expect(weight).toBeGreaterThan(0);
    expect(weight).toBeLessThan(1e-3);
  });
});

describe('the tokens that the last layer is fitted to', () => {
  it('are those with targets, each with what it has in the whole batch', () => {
    const batch = [windowOf(0, 0, 3, 4, 6), windowOf(1, 0, 3)];
    const options = { labelSmoothing: 0.2, balanced: true };
    const labelled = head.linearEnd?.(tinyEncoder(20, 0))?.labelledTokens?.(batch, options);
    expect(labelled?.places).toEqual([
      [1, 2, 4],
      [1, 2],
    ]);
    const { at } = targetsOf(batch, options);
    const { dims, data = [] } = labelled?.feeds.targets ?? {};
    expect(dims).toEqual([5, 4]);
    const expected = [at(1, 0), at(2, 0), at(4, 0), at(1, 1), at(2, 1)];
    expect(Array.from(data, Number)).toEqual(expected.flat());
  });

  it('are none where a layer at random comes before the last one', () => {
    const { tokenHead, ...plain } = tinyEncoder(20, 0);
    const inner = tokenHead.parameters(2);
    expect(head.linearEnd?.({ ...plain, tokenHead: { ...tokenHead, inner } })).toBeUndefined();
  });
});
