import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alignedSpans } from '../../models/recipes/backbones/distillation/aligned-spans.js';
import { type Encoding, loadTokenizer, type Tokenizer, trainWordPiece } from '../../src/text/index.js';

const tokenizerOf = (texts: readonly string[], vocabularySize: number): Tokenizer =>
  loadTokenizer(trainWordPiece(texts, { vocabularySize, lowercase: true }));

const words = ['unbelievable', 'playing', 'games', 'ing', 'play', 'believe'];
const coarse = tokenizerOf(Array(5).fill(words.join(' ')), 200);
const fine = tokenizerOf([words.join(' ')], 200);

/** Spans as the characters that they cover in the first tokenizer's and in the second's reading. */
function coveredBy(text: string, first: Tokenizer, second: Tokenizer): [string, string][] {
  const a = first.encode(text);
  const b = second.encode(text);
  const covered = ({ offsets }: typeof a, { start, end }: { start: number; end: number }) =>
    text.slice(offsets?.[2 * start], offsets?.[2 * end - 1]);
  return alignedSpans(a, b).map((span) => [covered(a, span.first), covered(b, span.second)]);
}

/** An encoding of tokens with these starts and ends. */
function madeEncoding(...spans: readonly (readonly [number, number])[]): Encoding {
  const none = new Int32Array(spans.length);
  return {
    ids: none,
    typeIds: none,
    sequenceIds: none,
    offsets: Int32Array.from(spans.flat()),
    truncated: 0,
  };
}

describe('aligned spans of two tokenizers', () => {
  it('makes one span of a word that the two split differently', () => {
    expect(coarse.encode('playing games').ids).toHaveLength(4);
    expect(fine.encode('playing games').ids.length).toBeGreaterThan(4);
    expect(coveredBy('playing games', coarse, fine)).toEqual([
      ['playing', 'playing'],
      ['games', 'games'],
    ]);
  });

  it('makes one span per piece if both split alike', () => {
    const pieces = fine.encode('playing').ids.length - 2;
    expect(alignedSpans(fine.encode('playing'), fine.encode('playing'))).toHaveLength(pieces);
  });

  it('leaves added tokens and the end that only one of them read out', () => {
    const spans = alignedSpans(coarse.encode('play play play'), coarse.encode('play play play', { maxLength: 4 }));
    expect(spans).toEqual([
      { first: { start: 1, end: 2 }, second: { start: 1, end: 2 } },
      { first: { start: 2, end: 3 }, second: { start: 2, end: 3 } },
    ]);
  });

  it('keeps pieces of one decomposed character together', () => {
    // 각 as ᄀ, ᅡ and ᆨ, which share its span, beside the whole character; then a letter.
    const decomposed = madeEncoding([0, 1], [0, 1], [0, 1], [1, 2]);
    expect(alignedSpans(decomposed, madeEncoding([0, 1], [1, 2]))).toEqual([
      { first: { start: 0, end: 3 }, second: { start: 0, end: 1 } },
      { first: { start: 3, end: 4 }, second: { start: 1, end: 2 } },
    ]);
  });

  it('skips what one of them did not read', () => {
    expect(alignedSpans(madeEncoding([0, 1], [1, 2], [2, 3]), madeEncoding([0, 1], [2, 3]))).toEqual([
      { first: { start: 0, end: 1 }, second: { start: 0, end: 1 } },
      { first: { start: 2, end: 3 }, second: { start: 1, end: 2 } },
    ]);
  });

  it('covers the same characters on both sides, in order, for any text', () => {
    const piece = fc.oneof(
      fc.constantFrom(...words, ' ', '한국어', 'naïve', '漢字', '👍🏽'),
      fc.string({ unit: 'grapheme' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const spans = alignedSpans(coarse.encode(text), fine.encode(text));
        for (const [a, b] of coveredBy(text, coarse, fine)) expect(a).toBe(b);
        for (const [at, { first, second }] of spans.entries()) {
          expect(first.start).toBeGreaterThanOrEqual(spans[at - 1]?.first.end ?? 1);
          expect(second.start).toBeGreaterThanOrEqual(spans[at - 1]?.second.end ?? 1);
          expect(first.end).toBeGreaterThan(first.start);
          expect(second.end).toBeGreaterThan(second.start);
        }
      }),
    );
  });

  it('leaves out no character that both read', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 8 }), (chosen) => {
        const text = chosen.join(' ');
        expect(
          coveredBy(text, coarse, fine)
            .map(([a]) => a)
            .join(''),
        ).toBe(chosen.join(''));
      }),
    );
  });
});
