import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashTable } from '../../src/lexical/hash-table.js';
import { TfIdf } from '../../src/lexical/tf-idf.js';
import { runToEnd } from '../../src/system/pauses.js';

const words = { lowercase: true, words: true, characters: null } as const;
const texts = ['the cat sat', 'the dog sat down', 'a cat'];

describe('TF-IDF, by hand', () => {
  const tfIdf = runToEnd(TfIdf.fit(texts, words, 100));

  it('weighs each n-gram by ln((1 + n) / (1 + df)) + 1', () => {
    // In order of appearance: the, cat, the cat, sat, cat sat, dog, …; "the", "cat" and "sat" are in two of three texts.
    const twice = Math.log(4 / 3) + 1;
    const once = Math.log(4 / 2) + 1;
    expect([...tfIdf.weights.subarray(0, 6)].map((each) => each.toFixed(5))).toEqual(
      [twice, twice, once, twice, once, once].map((each) => each.toFixed(5)),
    );
  });

  it('counts a repeated word by 1 + ln tf and scales to length 1', () => {
    // Known n-grams of "the cat the sat": the (twice), cat, the cat, sat.
    const twice = Math.log(4 / 3) + 1;
    const weights = [(1 + Math.LN2) * twice, twice, Math.LN2 + 1, twice];
    const length = Math.hypot(...weights);
    const { ids, values } = tfIdf.vector('the cat the sat');
    const byId = [...ids.keys()].sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0)).map((at) => values[at] ?? 0);
    expect(byId).toHaveLength(4);
    for (const [at, weight] of weights.entries()) expect(byId[at]).toBeCloseTo(weight / length, 6);
  });

  it('leaves out n-grams that no text of the fit has', () => {
    expect(tfIdf.vector('zebra').ids).toHaveLength(0);
    expect(tfIdf.vector('').ids).toHaveLength(0);
  });

  it('keeps the n-grams of the most texts if there are too many', () => {
    const few = runToEnd(TfIdf.fit(texts, words, 3));
    expect(few.size).toBe(3);
    expect(few.vector('the').ids).toHaveLength(1);
    expect(few.vector('down').ids).toHaveLength(0);
  });

  it('gives words and characters a length of 1 each', () => {
    const both = runToEnd(TfIdf.fit(texts, { ...words, characters: { shortest: 2, longest: 3 } }, 1000));
    const { values } = both.vector('the cat');
    expect(values.reduce((sum, value) => sum + value ** 2, 0)).toBeCloseTo(2, 5);
  });
});

describe('HashTable', () => {
  it('numbers hashes as a Map would, in order of appearance', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 3000 }), (hashes) => {
        const table = new HashTable(2);
        const model = new Map<number, number>();
        for (const hash of hashes) {
          if (!model.has(hash)) model.set(hash, model.size);
          expect(table.add(hash)).toBe(model.get(hash));
        }
        expect([...table.hashes()]).toEqual([...model.keys()]);
        for (const [hash, number] of model) expect(table.find(hash)).toBe(number);
        expect(table.find(hashes.reduce((sum, hash) => sum ^ hash, 12345))).toBe(
          model.get(hashes.reduce((sum, hash) => sum ^ hash, 12345)) ?? -1,
        );
      }),
      { numRuns: 50 },
    );
  });
});
