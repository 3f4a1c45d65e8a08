import type { Topk } from '../../contract/index.js';
import { listedMistakes, type Mistake, type ModelEvaluation } from '../../models/index.js';
import { mapSteps, type Steps } from '../../system/index.js';
import { type JudgedCandidates, type RetrievalWeights, rankCandidates, rankOfAnswer } from './calibration.js';
import type { RetrievalDataset } from './retrieval-dataset.js';

const RECIPROCAL_RANKS = 10;

/** 1 is the best. Equal scores count as better ones: nothing is gained by scoring all alike. ∞ for no position. */
export function pessimisticRank(scores: ArrayLike<number>, position: number): number {
  const own = scores[position];
  if (own === undefined) return Number.POSITIVE_INFINITY;
  let rank = 0;
  for (let other = 0; other < scores.length; other += 1) {
    // Negated, so that a NaN counts as better too.
    if (!((scores[other] ?? Number.NaN) < own)) rank += 1;
  }
  return rank;
}

/** The share of questions whose passage is among the first 1, 3, 5, 10, 20 and 100; 0 if there are no questions. */
export function topkScores(ranks: readonly number[]): Topk {
  const share = (k: number) => ranks.filter((rank) => rank <= k).length / Math.max(1, ranks.length);
  return { 1: share(1), 3: share(3), 5: share(5), 10: share(10), 20: share(20), 100: share(100) };
}

/** MRR@10: the mean of 1 / rank, 0 for ranks beyond 10. */
export function meanReciprocalRank(ranks: readonly number[]): number {
  const sum = ranks.reduce((total, rank) => total + (rank <= RECIPROCAL_RANKS ? 1 / rank : 0), 0);
  return sum / Math.max(1, ranks.length);
}

export function* retrievalEvaluation(
  { passages, dev }: Pick<RetrievalDataset, 'passages' | 'dev'>,
  judged: readonly JudgedCandidates[],
  weights: RetrievalWeights,
): Steps<ModelEvaluation> {
  const ranks = yield* mapSteps(judged, (question) => rankOfAnswer(question, weights));
  const mistakes = yield* mapSteps(dev, ({ question, passage }, row): Mistake[] => {
    const candidates = judged[row]?.candidates;
    const best = candidates && rankCandidates(candidates, weights)[0];
    if (best === undefined || best.id === passage) return [];
    const named = (id: number) => [passages[id] ?? ''];
    return [{ text: question, expected: named(passage), predicted: named(best.id), score: best.score }];
  });
  return {
    format: 1,
    rows: dev.length,
    retrieval: { topk: topkScores(ranks), mrr: meanReciprocalRank(ranks) },
    mistakes: listedMistakes(mistakes.flat()),
  };
}
