import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashTable } from '../../src/lexical/hash-table.js';
import { fitTfIdf, NGramHasher } from '../../src/lexical/tf-idf.js';
import { runToEnd } from '../../src/system/pauses.js';

const words = { lowercase: true, words: true, characters: null } as const;
const texts = ['the cat sat', 'the dog sat down', 'a cat'];

describe('TF-IDF, by hand', () => {
  const tfIdf = runToEnd(fitTfIdf(texts, words, 100));

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
    const few = runToEnd(fitTfIdf(texts, words, 3));
    expect(few.size).toBe(3);
    expect(few.vector('the').ids).toHaveLength(1);
    expect(few.vector('down').ids).toHaveLength(0);
  });

  it('gives words and characters a length of 1 each', () => {
    const both = runToEnd(fitTfIdf(texts, { ...words, characters: { shortest: 2, longest: 3 } }, 1000));
    const { values } = both.vector('the cat');
    expect(values.reduce((sum, value) => sum + value ** 2, 0)).toBeCloseTo(2, 5);
  });
});

describe('TF-IDF of any text', () => {
  const options = { lowercase: true, words: true, triples: true, characters: { shortest: 1, longest: 3 } };
  const tfIdf = runToEnd(fitTfIdf(['a b c', 'b c d a', 'aa ab ba bb', 'c c c'], options, 60));

  /** Slow and simple: the first occurrence of a feature decides its place. */
  function expectedVector(text: string) {
    const { hashes, wordsEnd, end } = new NGramHasher(options).hash(text);
    const known = [...tfIdf.table.hashes()];
    const parts = [hashes.slice(0, wordsEnd), hashes.slice(wordsEnd, end)].map((part) => {
      const counts = new Map<number, number>();
      for (const hash of part) if (known.includes(hash)) counts.set(hash, (counts.get(hash) ?? 0) + 1);
      const ids = [...counts.keys()].map((hash) => known.indexOf(hash));
      const weighed = [...counts.values()].map(
        (count, at) => (1 + Math.log(count)) * (tfIdf.weights[ids[at] ?? 0] ?? 0),
      );
      let squares = 0;
      for (const value of weighed) squares += value * value;
      const values = Float32Array.from(weighed).map((value) => value * (1 / Math.sqrt(squares)));
      return { ids, values: [...values], found: [...counts.values()].reduce((sum, count) => sum + count, 0) };
    });
    const found = parts.reduce((sum, part) => sum + part.found, 0);
    return {
      ids: parts.flatMap(({ ids }) => ids),
      values: parts.flatMap(({ values }) => values),
      coverage: end === 0 ? 0 : found / end,
    };
  }

  function expectExact(text: string) {
    const { ids, values } = tfIdf.vector(text);
    expect({ ids: [...ids], values: [...values], coverage: tfIdf.coverage }).toEqual(expectedVector(text));
  }

  it('is that of a count by hand, to the bit', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd', ' ', 'z'), maxLength: 60 }), expectExact),
    );
  });

  it('is that also of texts with more n-grams than are looked up at once', () => {
    expectExact('a bb c zz ba '.repeat(1000));
    expectExact('a b');
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
