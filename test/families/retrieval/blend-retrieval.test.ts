import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fitRetrievalBlend as fitRetrievalBlendSteps,
  type JudgedCandidates,
  rankCandidates,
  rankOfAnswer,
} from '../../../src/families/retrieval/calibration.js';
import { Random } from '../../../src/system/numbers.js';
import { atOnce } from '../../support/at-once.js';

const fitRetrievalBlend = atOnce(fitRetrievalBlendSteps);

/** A question with these scores, a passage each. */
function question(
  cosines: readonly number[],
  bm25: readonly number[],
  passage: number,
  passages = Int32Array.from(cosines, (_, id) => id),
): JudgedCandidates {
  const candidates = { passages, cosines: Float32Array.from(cosines), bm25: Float32Array.from(bm25) };
  return { candidates, passage };
}

/** Scores that are noise but for the right passage, which each expert lifts by its own amount. */
function noisyQuestions(count: number, lift: { vector: number; bm25: number }, seed: number): JudgedCandidates[] {
  const random = Random.fromSeed(seed);
  return Array.from({ length: count }, () => {
    const right = random.integer(8);
    const scores = (by: number) =>
      Array.from({ length: 8 }, (_, id) => 0.15 * random.normal() + (id === right ? by : 0));
    return question(scores(lift.vector), scores(lift.bm25), right);
  });
}

const top1 = (questions: readonly JudgedCandidates[], weights: { vector: number; bm25: number }) =>
  questions.filter((each) => rankOfAnswer(each, weights) === 1).length;

describe('fitRetrievalBlend', () => {
  it('never ranks fewer answers first than the better expert alone, and has no weight below 0', () => {
    const score = fc.integer({ min: 0, max: 4 }).map((quarters) => quarters / 4);
    const scores = fc.array(score, { minLength: 4, maxLength: 4 });
    const judged = fc
      .tuple(scores, scores, fc.integer({ min: 0, max: 4 }))
      .map(([cosines, bm25, passage]) => question(cosines, bm25, passage));
    fc.assert(
      fc.property(fc.array(judged, { maxLength: 25 }), (questions) => {
        const weights = fitRetrievalBlend(questions);
        const alone = [top1(questions, { vector: 1, bm25: 0 }), top1(questions, { vector: 0, bm25: 1 })];
        expect(top1(questions, weights)).toBeGreaterThanOrEqual(Math.max(...alone));
        expect(Math.min(weights.vector, weights.bm25)).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 60 },
    );
  });

  it('ranks more answers first than either expert if both know something', () => {
    const fitted = fitRetrievalBlend(noisyQuestions(300, { vector: 0.3, bm25: 0.3 }, 1));
    const unseen = noisyQuestions(300, { vector: 0.3, bm25: 0.3 }, 2);
    const alone = [top1(unseen, { vector: 1, bm25: 0 }), top1(unseen, { vector: 0, bm25: 1 })];
    expect(top1(unseen, fitted)).toBeGreaterThan(Math.max(...alone) + 10);
  });

  it('ignores an expert that knows nothing', () => {
    const { vector, bm25 } = fitRetrievalBlend(noisyQuestions(400, { vector: 0.4, bm25: 0 }, 3));
    expect(bm25).toBeLessThan(0.15 * vector);
  });

  it('finds the weights under which answers were drawn', () => {
    // Two passages; the first is right with probability 1 / (1 + exp(−4 · 0.25)) = 0.731, as at a weight of 4.
    const questions = Array.from({ length: 1000 }, (_, n) => question([0.25, 0], [0, 0], n < 731 ? 0 : 1));
    expect(fitRetrievalBlend(questions).vector).toBeCloseTo(4, 0);
  });

  it('leaves the answer to BM25 if the vectors are no clear gain', () => {
    expect(fitRetrievalBlend([])).toMatchObject({ vector: 0 });
    const found = question([0.5, 0], [0, 1], 0);
    const lost = question([0, 0.5], [0.3, 0], 0);
    const times = (count: number, each: JudgedCandidates) => Array.from({ length: count }, () => each);
    const { vector, bm25 } = fitRetrievalBlend([...times(10, found), ...times(10, lost)]);
    expect(vector).toBe(0);
    expect(bm25).toBeGreaterThan(0);
  });

  it('stays near its start with few questions', () => {
    const start = fitRetrievalBlend([]);
    // One question that BM25 gets wrong lowers its weight, and doesn't end it.
    const { bm25 } = fitRetrievalBlend([question([0, 0], [0, 0.2], 0)]);
    expect(bm25).toBeLessThan(start.bm25);
    expect(bm25).toBeGreaterThan(start.bm25 / 2);
  });

  it('learns nothing from questions whose passage no expert proposed', () => {
    expect(fitRetrievalBlend([question([1, 0], [1, 0], 7)])).toEqual(fitRetrievalBlend([]));
  });
});

describe('rankCandidates', () => {
  it('gives probabilities, best first', () => {
    const { candidates } = question([0.1, 0.2, 0], [1, 0, 0.5], 0, Int32Array.of(4, 8, 9));
    const ranked = rankCandidates(candidates, { vector: 10, bm25: 2 });
    expect(ranked.map(({ id }) => id)).toEqual([4, 8, 9]);
    // Logits 3, 2 and 1.
    const [e1, e2, e3] = [Math.exp(3), Math.exp(2), Math.exp(1)];
    for (const [at, expected] of [e1, e2, e3].entries()) {
      expect(ranked[at]?.score).toBeCloseTo(expected / (e1 + e2 + e3), 6);
    }
  });

  it('puts equal ones in the order of their ids', () => {
    const { candidates } = question([0, 0, 0], [0, 0, 0], 0, Int32Array.of(2, 5, 9));
    const ranked = rankCandidates(candidates, { vector: 1, bm25: 1 });
    expect(ranked.map(({ id }) => id)).toEqual([2, 5, 9]);
    expect(ranked[0]?.score).toBeCloseTo(1 / 3, 12);
  });

  it('gives the first of all if only so many are asked for', () => {
    const values = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 12 }), (cosines, limit) => {
        const passages = Int32Array.from(cosines, (_, at) => 3 * at);
        const zeros = cosines.map(() => 0);
        const { candidates } = question(cosines, zeros, 0, passages);
        const weights = { vector: 1, bm25: 1 };
        const sorted = [...cosines.keys()].sort((a, b) => (cosines[b] ?? 0) - (cosines[a] ?? 0) || a - b);
        const ranked = rankCandidates(candidates, weights, limit);
        expect(ranked.map(({ id }) => id)).toEqual(sorted.slice(0, limit).map((at) => 3 * at));
        expect(ranked).toEqual(rankCandidates(candidates, weights).slice(0, limit));
      }),
    );
  });

  it('is as certain as it is right', () => {
    const weights = fitRetrievalBlend(noisyQuestions(1000, { vector: 0.2, bm25: 0.25 }, 4));
    const unseen = noisyQuestions(1000, { vector: 0.2, bm25: 0.25 }, 5);
    const claimed = unseen.reduce(
      (sum, { candidates }) => sum + (rankCandidates(candidates, weights)[0]?.score ?? 0),
      0,
    );
    expect(Math.abs(claimed - top1(unseen, weights)) / 1000).toBeLessThan(0.05);
  });
});
