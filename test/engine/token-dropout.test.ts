import { describe, expect, it } from 'vitest';
import { dropTokens } from '../../src/engine/index.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

const tokenizer = loadTokenizer(englishTokenizer());
const { mask } = tokenizer.specialTokens;
const encodings = Array.from({ length: 100 }, () => tokenizer.encode('the old house by the sea '.repeat(5)));
const masked = (given: typeof encodings) => given.flatMap(({ ids }) => [...ids]).filter((id) => id === mask);

describe('dropped tokens', () => {
  it('are the share asked for, and become [MASK]', () => {
    const dropped = dropTokens(encodings, 0.2, mask, 1);
    const words = encodings.length * 30;
    // 600 of 3,000 in the mean, with a deviation of 22.
    expect(masked([...dropped]).length).toBeGreaterThan(0.17 * words);
    expect(masked([...dropped]).length).toBeLessThan(0.23 * words);
    for (const [row, { ids }] of dropped.entries()) {
      const before = encodings[row]?.ids ?? [];
      expect([...ids].map((id, at) => (id === mask ? before[at] : id))).toEqual([...before]);
    }
  });

  it('are never special tokens', () => {
    for (const { ids } of dropTokens(encodings, 0.99, mask, 1)) {
      expect([ids.at(0), ids.at(-1)]).toEqual([encodings[0]?.ids.at(0), encodings[0]?.ids.at(-1)]);
    }
  });

  it('are the same for the same seed and step, and others for another', () => {
    expect(dropTokens(encodings, 0.2, mask, 1, 7)).toEqual(dropTokens(encodings, 0.2, mask, 1, 7));
    expect(dropTokens(encodings, 0.2, mask, 1, 7)).not.toEqual(dropTokens(encodings, 0.2, mask, 1, 8));
  });

  it('are none at 0', () => {
    expect(dropTokens(encodings, 0, mask, 1)).toEqual(encodings);
  });
});
