import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { characterKind, isUnspaced, NGramHasher, type NGramOptions } from '../../src/lexical/tf-idf.js';

const words: NGramOptions = { lowercase: true, words: true, characters: null };
const characters: NGramOptions = { lowercase: true, words: false, characters: { shortest: 2, longest: 3 } };

function hashesOf(text: string, options: NGramOptions): number[] {
  const { hashes, end } = new NGramHasher(options).hash(text);
  return [...hashes.subarray(0, end)];
}

/** How many hashes two texts share. */
function shared(a: string, b: string, options: NGramOptions): number {
  const others = new Set(hashesOf(b, options));
  return [...new Set(hashesOf(a, options))].filter((hash) => others.has(hash)).length;
}

describe('n-grams of words', () => {
  it('are the words and the pairs of neighbours', () => {
    // the, cat, sat, the cat, cat sat
    expect(hashesOf('the cat sat', words)).toHaveLength(5);
    expect(shared('the cat sat', 'the cat', words)).toBe(3);
    expect(shared('the cat', 'cat the', words)).toBe(2);
  });

  it('are also triples of neighbours if asked for', () => {
    const triples = { ...words, triples: true };
    expect(hashesOf('the cat sat', triples)).toHaveLength(6);
    expect(hashesOf('the cat sat on', triples)).toHaveLength(9);
    expect(shared('a big red cat', 'one big red cat', triples)).toBe(6);
    // The triples of these have the same words, in another order.
    expect(shared('the cat sat', 'sat the cat', triples)).toBe(4);
    expect(new Set(hashesOf('a a a a', triples)).size).toBe(3);
  });

  it('leave punctuation out, but keep signs that mean something', () => {
    expect(hashesOf('one, two.', words)).toEqual(hashesOf('one two', words));
    for (const sign of ['!', '?', '%', '$', '€', '🙂']) {
      expect(hashesOf(`one ${sign}`, words), sign).toHaveLength(3);
    }
  });

  it('fold case only if asked to', () => {
    expect(hashesOf('The CAT', words)).toEqual(hashesOf('the cat', words));
    expect(shared('The CAT', 'the cat', { ...words, lowercase: false })).toBe(0);
  });
});

describe('n-grams of characters', () => {
  it('stay inside a word and one space at each end of it', () => {
    // " ab ": " a", "ab", "b ", " ab", "ab "
    expect(hashesOf('ab', characters)).toHaveLength(5);
    // "ab" and "cd" side by side share nothing with their neighbour.
    expect(hashesOf('ab cd', characters)).toEqual([...hashesOf('ab', characters), ...hashesOf('cd', characters)]);
  });

  it('treat every kind and number of spaces alike', () => {
    expect(hashesOf('ab \t\n cd ', characters)).toEqual(hashesOf('ab cd', characters));
  });

  it('count an astral character as one', () => {
    // " 🙂 ": " 🙂", "🙂 ", " 🙂 "
    expect(hashesOf('🙂', characters)).toHaveLength(3);
  });
});

describe('any text', () => {
  it('has hashes that depend on nothing but itself, however long the texts before it were', () => {
    const hasher = new NGramHasher({ ...characters, words: true });
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), fc.string({ maxLength: 40 }), (before, text) => {
        hasher.hash(before);
        const { hashes, end } = hasher.hash(text);
        expect([...hashes.subarray(0, end)]).toEqual(hashesOf(text, hasher.options));
      }),
    );
  });

  it('has none if it is empty', () => {
    expect(hashesOf('', { ...characters, words: true })).toEqual([]);
  });
});

describe('n-grams of any text', () => {
  const combine = (hash: number, value: number) => {
    const mixed = Math.imul(hash ^ value, 0x9e3779b1);
    return mixed ^ (mixed >>> 15);
  };

  /** Of each word between white space, with a space at each end. */
  function slowCharacters(text: string, shortest: number, longest: number): number[] {
    return text.split(/\s+/u).flatMap((word) => {
      if (word === '') return [];
      const codePoints = [0x20, ...Array.from(word, (character) => character.codePointAt(0) ?? 0), 0x20];
      return codePoints.flatMap((_, first) =>
        Array.from({ length: longest - shortest + 1 }, (_, at) => codePoints.slice(first, first + shortest + at))
          .filter((slice, at) => slice.length === shortest + at)
          .map((slice) => slice.reduce(combine, 0x1b56c4e9)),
      );
    });
  }

  it('are those of characters that a slow count gives', () => {
    const lengths = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 4 }));
    const unit = fc.constantFrom('a', 'b', '-', ' ', '\n', '\u3000', '東', '🙂', '\ud83d');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), lengths, (text, [shortest, more]) => {
        const options = { lowercase: false, words: false, characters: { shortest, longest: shortest + more } };
        expect(hashesOf(text, options)).toEqual(slowCharacters(text, shortest, shortest + more));
      }),
    );
  });
});

describe('the kinds of ASCII characters', () => {
  it('are those of the patterns of Unicode', () => {
    for (let code = 0; code < 128; code += 1) {
      const character = String.fromCharCode(code);
      const isWord = /[\p{L}\p{N}\p{M}_]/u.test(character);
      const expected = /\s/u.test(character) ? 1 : isWord ? 2 : /[\p{S}!?%]/u.test(character) ? 3 : 4;
      expect(characterKind(code), character).toBe(expected);
    }
  });
});

describe('scripts without spaces', () => {
  it('are recognized by the letters of most texts', () => {
    expect(isUnspaced(['今週は午前五時に起こして', 'OK Google'])).toBe(true);
    expect(isUnspaced(['ปลุกฉันตอนหกโมงเช้า'])).toBe(true);
    expect(isUnspaced(['wake me up', '起こして'])).toBe(false);
    expect(isUnspaced(['알람 맞춰 줘'])).toBe(false);
    expect(isUnspaced([])).toBe(false);
  });
});
