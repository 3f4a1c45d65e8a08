import fc from 'fast-check';
import MiniSearch from 'minisearch';
import { describe, expect, it } from 'vitest';
import { Bm25Index, encodeBm25 } from '../../src/lexical/index.js';
import { decodeSafetensors, encodeSafetensors } from '../../src/models/index.js';
import { failureOf } from '../support/outcomes.js';

const K1 = 1.2;
const B = 0.75;
const PLAIN = { stem: false, k1: K1, b: B };

/** Texts over few words, so that words are shared and come more than once. */
const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 12 }).map((words) => words.join(' '));
const passages = fc.array(text, { maxLength: 12 });

/** BM25 as it is written down, without an index. */
function plainScores(texts: readonly string[], query: string): number[] {
  const split = (given: string) => given.split(' ').filter((word) => word !== '');
  const documents = texts.map(split);
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length);
  return documents.map((words) =>
    split(query).reduce((score, term) => {
      const containing = documents.filter((each) => each.includes(term)).length;
      const idf = Math.log(1 + (documents.length - containing + 0.5) / (containing + 0.5));
      const frequency = words.filter((word) => word === term).length;
      if (frequency === 0) return score;
      return score + (idf * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + (B * words.length) / mean));
    }, 0),
  );
}

const idsOf = (found: readonly { id: number }[]) => found.map(({ id }) => id);

describe('Bm25Index', () => {
  it('gives the scores of a plain BM25 over every passage', () => {
    fc.assert(
      fc.property(passages, text, (texts, query) => {
        const scores = Bm25Index.fromPassages(texts, PLAIN).scores(query);
        const expected = plainScores(texts, query);
        expect(scores).toHaveLength(texts.length);
        for (const [id, score] of scores.entries()) expect(score).toBeCloseTo(expected[id] ?? Number.NaN, 4);
      }),
    );
  });

  it('gives the score worked out by hand', () => {
    // Three passages of 2, 4 and 3 words, 3 on average; "cat" in two of them: idf = ln(1 + 1.5 / 2.5) = 0.4700.
    const index = Bm25Index.fromPassages(['cat sat', 'cat cat dog ran', 'a red fox'], PLAIN);
    const [first, second, third] = index.scores('cat');
    // 0.4700 · 1 · 2.2 / (1 + 1.2 · (0.25 + 0.75 · 2/3)) = 1.0340 / 1.9
    expect(first).toBeCloseTo(0.5442, 4);
    // 0.4700 · 2 · 2.2 / (2 + 1.2 · (0.25 + 0.75 · 4/3)) = 2.0680 / 3.5
    expect(second).toBeCloseTo(0.5909, 4);
    expect(third).toBe(0);
  });

  it('ranks as MiniSearch does with plain BM25', () => {
    // MiniSearch takes the number of different words for a passage's length, so none comes twice in one.
    const texts = [
      'the oil crisis began in october when members proclaimed an embargo',
      'price of oil had risen globally by the end',
      'members of the orchestra played in october',
      'a crisis of confidence',
      'prices of wheat and oil rose together in that crisis october',
    ];
    const other = new MiniSearch({ fields: ['text'], searchOptions: { bm25: { k: K1, b: B, d: 0 } } });
    other.addAll(texts.map((each, id) => ({ id, text: each })));
    const index = Bm25Index.fromPassages(texts, PLAIN);
    for (const query of ['oil', 'embargo october', 'crisis of oil', 'the members of october']) {
      // MiniSearch multiplies by the number of different words that match; that is taken back.
      const theirs = other
        .search(query)
        .map(({ id, score, queryTerms }) => ({ id, score: score / queryTerms.length }))
        .sort((a, b) => b.score - a.score);
      const ours = index.search(query);
      expect(idsOf(ours)).toEqual(idsOf(theirs));
      for (const [rank, { score }] of ours.entries()) expect(score).toBeCloseTo(theirs[rank]?.score ?? 0, 4);
    }
  });

  it('searches for the best that share a word, equal ones by id, as many as asked for', () => {
    const index = Bm25Index.fromPassages(['x y', 'z', 'x x', 'x y'], PLAIN);
    expect(idsOf(index.search('x'))).toEqual([2, 0, 3]);
    expect(idsOf(index.search('x', 2))).toEqual([2, 0]);
    expect(index.search('unknown')).toEqual([]);
  });

  it('compares English words by their stems if asked to', () => {
    const texts = ['the runners were running', 'a walk'];
    expect(idsOf(Bm25Index.fromPassages(texts, { stem: true }).search('Run'))).toEqual([0]);
    expect(Bm25Index.fromPassages(texts, { stem: false }).search('Run')).toEqual([]);
  });

  it('finds words in scripts without spaces', () => {
    const index = Bm25Index.fromPassages(['東京都庁舎', '大阪城', '京都御所'], { stem: false });
    expect(idsOf(index.search('京都はどこですか'))).toEqual([2, 0]);
  });

  it('counts very frequent words as 127 times, which changes a score by less than a hundredth', () => {
    const texts = ['often '.repeat(300), 'other word'];
    const [score] = Bm25Index.fromPassages(texts, PLAIN).scores('often');
    const [expected = Number.NaN] = plainScores(texts, 'often');
    expect(Math.abs((score ?? 0) / expected - 1)).toBeLessThan(0.01);
  });

  it('may be empty, or hold passages without words', () => {
    expect(Bm25Index.fromPassages([], PLAIN).search('x')).toEqual([]);
    expect(Bm25Index.fromPassages(['', '…'], PLAIN).search('x')).toEqual([]);
  });
});

describe('a stored Bm25Index', () => {
  it('answers as before', () => {
    fc.assert(
      fc.property(passages, text, (texts, query) => {
        const index = Bm25Index.fromPassages(texts, { stem: true, k1: 0.9, b: 0.4 });
        const read = Bm25Index.decode(encodeBm25(index), 'bm25.safetensors');
        expect(read.scores(query)).toEqual(index.scores(query));
      }),
    );
  });

  /** A sound file with one tensor or entry changed. */
  function spoiled(changes: Readonly<Record<string, Int32Array | Int8Array>>, metadata?: object): Uint8Array {
    const bytes = encodeBm25(Bm25Index.fromPassages(['a b', 'b c'], PLAIN));
    const { integers, metadata: sound } = decodeSafetensors(bytes, 'sound');
    const tensors = new Map(integers);
    for (const [name, values] of Object.entries(changes)) tensors.set(name, { shape: [values.length], values });
    return encodeSafetensors(tensors, metadata ? { bm25: JSON.stringify(metadata) } : sound);
  }

  it.each([
    ['no settings', spoiled({}, {}), 'its bm25 entry'],
    ['settings of a later version', spoiled({}, { ...PLAIN, fields: 2 }), 'its bm25 entry'],
    ['starts that go back', spoiled({ starts: Int32Array.of(0, 3, 2, 4) }), "its starts don't fit"],
    ['a start too few', spoiled({ starts: Int32Array.of(0, 1, 4) }), '3 terms need 4 starts'],
    ['a passage that is not there', spoiled({ passages: Int32Array.of(0, 0, 1, 2) }), 'beyond the 2'],
    ['frequencies too few', spoiled({ frequencies: Int8Array.of(1) }), 'differ in length'],
    ['frequencies below 1', spoiled({ frequencies: Int8Array.of(1, -1, 1, 1) }), 'no occurrence'],
    ['lengths below 0', spoiled({ lengths: Int32Array.of(2, -2) }), 'below 0'],
    ['a k1 of 1e300', spoiled({}, { ...PLAIN, k1: 1e300, b: 0.5 }), 'its bm25 entry'],
    ['lengths as bytes', spoiled({ lengths: Int8Array.of(2, 2) }), 'one of terms'],
    ['no safetensors at all', new Uint8Array(4), 'not a safetensors file'],
  ])('is refused with its name if it has %s', async (_, bytes, reason) => {
    const error = await failureOf('model_folder', () => Bm25Index.decode(bytes, 'bm25.safetensors'));
    expect(error.message).toContain('bm25.safetensors');
    expect(error.message).toContain(reason);
  });
});
