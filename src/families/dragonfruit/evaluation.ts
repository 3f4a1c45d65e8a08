import { listedMistakes, type Mistake, type ModelEvaluation } from '../../model-folder/index.js';
import { mapSteps, type Steps } from '../../pauses.js';
import {
  type JudgedCandidates,
  type RetrievalWeights,
  rankCandidates,
  rankOfAnswer,
} from './blend-retrieval.js';
import type { RetrievalDataset } from './retrieval-dataset.js';
import { meanReciprocalRank, topkScores } from './topk-scores.js';

/**
 * How high the right passages are ranked, and the questions to which the model puts another passage first.
 * @param judged the dev questions, in their order.
 * @param weights of the finished model.
 */
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
