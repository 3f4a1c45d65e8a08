import { describe, expect, it } from 'vitest';
import { firstPieces, sentencePlaces, sentenceText, wordOutputs } from '../../../src/families/entities/word-pieces.js';
import { type Encoding, loadTokenizer, type TextOutputs } from '../../../src/text/index.js';
import { hubTokenizers } from '../../text/hub-tokenizers.js';

/** [CLS], a token for each span, [SEP]. */
function encodingOf(...spans: readonly (readonly [start: number, end: number])[]): Encoding {
  const length = spans.length + 2;
  const sequenceIds = new Int32Array(length);
  sequenceIds[0] = -1;
  sequenceIds[length - 1] = -1;
  return {
    ids: new Int32Array(length),
    typeIds: new Int32Array(length),
    sequenceIds,
    offsets: Int32Array.from([0, 0, ...spans.flat(), 0, 0]),
    truncated: 0,
  };
}

const pairs = (encoding: Encoding, words: Parameters<typeof firstPieces>[1]) =>
  firstPieces(encoding, words).map(({ word, token }) => [word, token]);

describe('sentencePlaces', () => {
  it('says where the words of the text are', () => {
    const words = ['Ada', 'was', '東京', '👍🏽', 'in'];
    const text = sentenceText(words);
    expect(text).toBe('Ada was 東京 👍🏽 in');
    for (const { text: word, start } of sentencePlaces(words)) {
      expect(text.slice(start, start + word.length)).toBe(word);
    }
  });
});

describe('firstPieces', () => {
  // 0         1
  // 0123456789012345
  // Lovelace met Bob
  const words = sentencePlaces(['Lovelace', 'met', 'Bob']);

  it('is the first of the pieces of each word', () => {
    expect(pairs(encodingOf([0, 4], [4, 6], [6, 8], [9, 12], [13, 16]), words)).toEqual([
      [0, 1],
      [1, 4],
      [2, 5],
    ]);
  });

  it('belongs to the word after the space that it begins with', () => {
    expect(pairs(encodingOf([0, 8], [8, 12], [12, 14], [14, 16]), words)).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
    // A piece for the space alone, as SentencePiece has them, and a window that begins with one.
    expect(pairs(encodingOf([0, 8], [8, 9], [9, 12]), words)).toEqual([
      [0, 1],
      [1, 3],
    ]);
    expect(pairs(encodingOf([8, 12], [12, 16]), words)).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it.each(Object.entries(hubTokenizers))('finds every word with the tokenizer of %s', (_, json) => {
    const written = ['The', 'cats', 'of', '東京', "don't", 'sleep', '🙂', '.', '<', '–', 'été', 'x'];
    const tokenizer = loadTokenizer(json);
    const encoding = tokenizer.encode(sentenceText(written));
    const places = sentencePlaces(written);
    const found = firstPieces(encoding, places);
    expect(found.map(({ word }) => word)).toEqual([...written.keys()]);
    for (const { word, token } of found) {
      const { start = 0, text = '' } = places[word] ?? {};
      const [from = 0, to = 0] = encoding.offsets?.subarray(2 * token, 2 * token + 2) ?? [];
      expect(from).toBeLessThan(start + text.length);
      expect(to).toBeGreaterThan(start);
    }
  });

  it('leaves out a word that the tokenizer dropped', () => {
    expect(pairs(encodingOf([0, 8], [13, 16]), words)).toEqual([
      [0, 1],
      [2, 2],
    ]);
    expect(pairs(encodingOf([9, 12]), words)).toEqual([[1, 1]]);
    expect(pairs(encodingOf(), words)).toEqual([]);
  });

  it('takes the first remaining piece if the tokenizer drops the beginning of a word', () => {
    expect(pairs(encodingOf([1, 4], [4, 8], [10, 12], [13, 16]), words)).toEqual([
      [0, 1],
      [1, 3],
      [2, 4],
    ]);
  });

  it('leaves out a word in which a window begins, however many of its pieces follow', () => {
    const long = sentencePlaces(['In', 'Lovelaceville', 'now']);
    expect(pairs(encodingOf([7, 9], [9, 12], [12, 16], [17, 20]), long)).toEqual([[2, 4]]);
    expect(pairs(encodingOf([3, 7], [7, 16]), long)).toEqual([[1, 1]]);
  });

  it('gives none without offsets', () => {
    expect(firstPieces({ ...encodingOf([0, 8]), offsets: null }, words)).toEqual([]);
  });
});

describe('wordOutputs', () => {
  /** Each token's two outputs tell the window and the token. */
  const windowOf = (window: number, encoding: Encoding) => ({
    encoding,
    outputs: Float32Array.from(
      encoding.ids.length === 0 ? [] : [...encoding.ids.keys()].flatMap((token) => [window, token]),
    ),
  });

  it('are those of the first pieces; 0 for words that have none', () => {
    const words = sentencePlaces(['Ada', 'met', 'Bob']);
    const windows: TextOutputs = [windowOf(1, encodingOf([0, 2], [2, 3], [8, 11]))];
    expect([...wordOutputs(windows, words, 2)]).toEqual([1, 1, 0, 0, 1, 3]);
  });

  it('come from the window in which the word is farthest from an edge', () => {
    const words = sentencePlaces(['a', 'b', 'c', 'd', 'e', 'f']);
    const spans = words.map(({ start }): [number, number] => [start, start + 1]);
    const windows = [windowOf(1, encodingOf(...spans.slice(0, 4))), windowOf(2, encodingOf(...spans.slice(2)))];
    // c is the third of four in the first window (distance 2) and the first of four in the second; d the other way round.
    expect([...wordOutputs(windows, words, 2)]).toEqual([1, 1, 1, 2, 1, 3, 2, 2, 2, 3, 2, 4]);
  });
});
