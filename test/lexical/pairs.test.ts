import { describe, expect, it } from 'vitest';
import { encodeLinearExpert, LinearExpert, trainLinearExpert } from '../../src/lexical/index.js';
import { NGramHasher } from '../../src/lexical/tf-idf.js';
import { joinParts } from '../../src/text/index.js';

/** What the lexical expert reads of two texts. */

const words = { lowercase: true, words: true, characters: null } as const;

function hashesOf(first: string, second: string): ReadonlySet<number> {
  const { hashes, end } = new NGramHasher({ ...words, pairs: true }).hash(joinParts(first, second));
  return new Set(hashes.subarray(0, end));
}

describe('the n-grams of a pair', () => {
  it('say which side a word is on', () => {
    expect(hashesOf('red', 'blue')).not.toEqual(hashesOf('blue', 'red'));
  });

  it('say of a word whether both texts have it, and how much they share', () => {
    const [apart, alike] = [hashesOf('red', 'blue'), hashesOf('red', 'red')];
    // On each side, and as one that a single text has.
    expect(apart.size).toBe(4);
    // On each side, as one that both have, and eight steps of overlap.
    expect(alike.size).toBe(3 + 8);
    // "red" on the first side; that both have it is another n-gram than that one has it.
    expect([...apart].filter((hash) => alike.has(hash))).toHaveLength(1);
    const half = hashesOf('red', 'red house');
    // Of red, house and the pair of both words, a third is shared: two of eight steps.
    expect([...half].filter((hash) => alike.has(hash)).length).toBe(3 + 2);
  });
});

describe('the lexical expert of pairs', () => {
  it('learns that two texts share words, of words that it has never seen, and keeps it in its file', async () => {
    const pairs = ['green', 'house', 'river', 'stone', 'cloud', 'paper', 'light', 'water'].flatMap((word, at, all) => [
      { text: joinParts(`the ${word}`, `a ${word}`), active: [0] },
      { text: joinParts(`the ${word}`, `a ${all[(at + 3) % all.length]}`), active: [] },
    ]);
    const options = { outputs: 1, lowercase: true, seed: 1, pairs: true };
    const trained = await trainLinearExpert(
      pairs.map(({ text }) => text),
      pairs,
      options,
    );
    const expert = LinearExpert.decode(encodeLinearExpert(trained), 'the expert');
    const marginOf = (first: string, second: string) => expert.read(joinParts(first, second)).margins[0] ?? 0;
    expect(marginOf('the bridge', 'a bridge')).toBeGreaterThan(0);
    expect(marginOf('the bridge', 'a window')).toBeLessThan(0);
  });
});
