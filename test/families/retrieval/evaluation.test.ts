import { describe, expect, it } from 'vitest';
import { retrievalEvaluation as retrievalEvaluationSteps } from '../../../src/families/retrieval/evaluation.js';
import { MAX_MISTAKE_CHARACTERS, modelEvaluationSchema } from '../../../src/models/index.js';
import { atOnce } from '../../support/at-once.js';

const retrievalEvaluation = atOnce(retrievalEvaluationSteps);

const LONG = 'A passage that goes on. '.repeat(40);
const passages = ['Paris', 'Rome', LONG, 'Oslo'];

/** A question with cosines of some passages, by their ids. */
function judged(passage: number, cosines: Readonly<Record<number, number>>) {
  const ids = Object.keys(cosines).map(Number);
  return {
    passage,
    candidates: {
      passages: Int32Array.from(ids),
      cosines: Float32Array.from(Object.values(cosines)),
      bm25: new Float32Array(ids.length),
    },
  };
}

// Ranks 1, 2 and none: the third question's passage was put forward by nobody.
const evaluation = retrievalEvaluation(
  {
    passages,
    dev: [
      { question: 'France?', passage: 0 },
      { question: 'Italy?', passage: 1 },
      { question: 'Norway?', passage: 3 },
    ],
  },
  [judged(0, { 0: 1, 1: 0 }), judged(1, { 1: 0, 2: Math.log(4) }), judged(3, { 0: Math.log(9), 1: 0 })],
  { vector: 1, bm25: 1 },
);

describe('retrievalEvaluation, by hand', () => {
  it('counts how high the right passages are ranked', () => {
    expect(evaluation.retrieval).toEqual({
      topk: { 1: 1 / 3, 3: 2 / 3, 5: 2 / 3, 10: 2 / 3, 20: 2 / 3, 100: 2 / 3 },
      mrr: (1 + 1 / 2) / 3,
    });
    expect(evaluation.rows).toBe(3);
  });

  it('lists questions for which another passage came first, the surest ones first, with passages cut', () => {
    const [first, second, ...more] = evaluation.mistakes;
    expect(more).toEqual([]);
    expect(first).toEqual({
      text: 'Norway?',
      expected: ['Oslo'],
      predicted: ['Paris'],
      score: expect.closeTo(0.9, 5),
    });
    expect(second).toMatchObject({ text: 'Italy?', expected: ['Rome'], score: expect.closeTo(0.8, 5) });
    expect(second?.predicted[0]).toHaveLength(MAX_MISTAKE_CHARACTERS);
    expect(LONG.startsWith(second?.predicted[0]?.slice(0, -1) ?? '?')).toBe(true);
  });

  it('fits the schema of evaluation.json', () => {
    expect(modelEvaluationSchema.safeParse(JSON.parse(JSON.stringify(evaluation))).success).toBe(true);
  });
});
