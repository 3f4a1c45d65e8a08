import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PieceTrie } from '../../src/text/piece-trie.js';

const word = fc.string({ unit: fc.constantFrom('a', 'b', '#', 'é'), minLength: 1, maxLength: 5 });

describe('PieceTrie', () => {
  it('finds the same piece at every place of a word as trying all lengths', () => {
    fc.assert(
      fc.property(fc.uniqueArray(word), word, fc.constantFrom('##', '#', ''), (pieces, text, prefix) => {
        const vocabulary = new Map(pieces.map((piece, id) => [piece, id]));
        const trie = new PieceTrie(vocabulary, prefix);
        for (let start = 0; start < text.length; start++) {
          const end = trie.longest(unitsOf(text), start, text.length);
          const expected = longestByTrying(vocabulary, text, start, prefix);
          expect(end).toBe(expected);
          if (end > start) expect(trie.id).toBe(vocabulary.get(prefixAt(start, prefix) + text.slice(start, end)));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('reads no further than the given length', () => {
    const trie = new PieceTrie(new Map([['ab', 7]]), '##');
    expect(trie.longest(unitsOf('ab'), 0, 1)).toBe(0);
    expect(trie.longest(unitsOf('ab'), 0, 2)).toBe(2);
  });

  it('keeps apart the edges of thousands of pieces', () => {
    const pieces = Array.from({ length: 20_000 }, (_, id) => id.toString(3));
    const trie = new PieceTrie(new Map(pieces.map((piece, id) => [piece, id])), '##');
    const found = pieces.map((piece) => trie.longest(unitsOf(piece), 0, piece.length) && trie.id);
    expect(found).toEqual(pieces.map((_, id) => id));
  });
});

function unitsOf(text: string): Uint16Array {
  return Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
}

function prefixAt(start: number, prefix: string): string {
  return start === 0 ? '' : prefix;
}

function longestByTrying(vocabulary: ReadonlyMap<string, number>, text: string, start: number, prefix: string): number {
  let end = text.length;
  while (end > start && !vocabulary.has(prefixAt(start, prefix) + text.slice(start, end))) end--;
  return end;
}
