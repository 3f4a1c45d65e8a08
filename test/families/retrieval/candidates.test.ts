import { describe, expect, it } from 'vitest';
import { VectorIndex } from '../../../src/families/index.js';
import { CANDIDATES_OF_EACH, findCandidates } from '../../../src/families/retrieval/passages.js';
import { Bm25Index } from '../../../src/lexical/index.js';

/** Passages on a quarter of the unit circle, from [1, 0] on; only the last few hold the word. */
const COUNT = 250;
const WORDS_FROM = 245;
const vectors = VectorIndex.fromVectors(
  Float32Array.from({ length: COUNT }, (_, id) => id).reduce(
    (all, id) => {
      const angle = (id / COUNT) * (Math.PI / 2);
      all.set([Math.cos(angle), Math.sin(angle)], 2 * id);
      return all;
    },
    new Float32Array(2 * COUNT),
  ),
  2,
);
const bm25 = Bm25Index.fromPassages(
  Array.from({ length: COUNT }, (_, id) => (id >= WORDS_FROM ? 'oil '.repeat(id - WORDS_FROM + 1) : 'water')),
  { stem: false },
);

describe('findCandidates', () => {
  const { passages, cosines, bm25: shares } = findCandidates('oil', Float32Array.of(1, 0), { vectors, bm25 });

  it('takes the best of each expert, in the order of their ids', () => {
    expect(passages).toHaveLength(CANDIDATES_OF_EACH + COUNT - WORDS_FROM);
    expect([...passages.slice(0, 3), ...passages.slice(-5)]).toEqual([0, 1, 2, 245, 246, 247, 248, 249]);
  });

  it('gives the cosine of every candidate, even of those that BM25 proposed', () => {
    expect(cosines[0]).toBeCloseTo(1, 6);
    expect(cosines.at(-1)).toBeCloseTo(Math.cos((249 / COUNT) * (Math.PI / 2)), 6);
  });

  it('gives BM25 as a share of the best score, 0 if no word is shared', () => {
    expect(Math.max(...shares)).toBe(1);
    expect(shares[0]).toBe(0);
    const scores = bm25.scores('oil');
    expect(shares.at(-5)).toBeCloseTo((scores[245] ?? 0) / Math.max(...scores), 6);
  });

  it('relies on the vectors alone if no passage shares a word', () => {
    const found = findCandidates('gas', Float32Array.of(1, 0), { vectors, bm25 });
    expect(found.passages).toHaveLength(CANDIDATES_OF_EACH);
    expect(found.bm25.every((share) => share === 0)).toBe(true);
  });
});
