import { mapSteps, type Scored, type Steps } from '../../system/index.js';
import { type Derivatives, newtonFit } from '../newton-fit.js';
import { softmax } from '../softmax.js';
import { pessimisticRank } from './evaluation.js';
import type { Candidates } from './passages.js';

/** The blended score is vector · cosine + bm25 · share of the best BM25 score. No weight is below 0. */
export interface RetrievalWeights {
  readonly vector: number;
  readonly bm25: number;
}

export interface JudgedCandidates {
  readonly candidates: Candidates;
  readonly passage: number;
}

/** Where fitting starts, and stays close to if questions are few; see docs/retrieval.md. */
const STARTING_WEIGHTS: RetrievalWeights = { vector: 10, bm25: 10 };
/** The smallest factor of a mixture: with 0, all passages would score the same. */
const MIN_SCALE = 0.01;
/** The shares of the vectors in the mixtures that are tried if the likeliest weights are no clear gain. */
const VECTOR_SHARES = [0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05];

/**
 * The likeliest weights if they put clearly more right passages first than the better expert alone (in a tie, BM25);
 * else the best mixture if that does; else the better expert alone. So the blend never follows a weak expert by chance.
 */
export function* fitRetrievalBlend(questions: readonly JudgedCandidates[]): Steps<RetrievalWeights> {
  const vector: RetrievalWeights = { ...STARTING_WEIGHTS, bm25: 0 };
  const bm25: RetrievalWeights = { ...STARTING_WEIGHTS, vector: 0 };
  const scaled = (direction: RetrievalWeights) => fitAlong(questions, [direction], MIN_SCALE);
  const better = (yield* countFirst(questions, vector)) > (yield* countFirst(questions, bm25)) ? vector : bm25;
  const alone = yield* scaled(better);
  const likeliest = yield* fitAlong(questions, [vector, bm25]);
  if (yield* isClearlyBetter(questions, likeliest, alone)) return likeliest;
  const mixtures: RetrievalWeights[] = [];
  for (const share of VECTOR_SHARES) mixtures.push(yield* scaled(sum([share, vector], [1 - share, bm25])));
  const mixture = yield* bestOf(questions, mixtures);
  return (yield* isClearlyBetter(questions, mixture, alone)) ? mixture : alone;
}

/** Whether the gain exceeds its standard error by chance, √n for n questions that one alone has right (McNemar 1947). */
function* isClearlyBetter(
  questions: readonly JudgedCandidates[],
  weights: RetrievalWeights,
  other: RetrievalWeights,
): Steps<boolean> {
  let won = 0;
  let lost = 0;
  for (const question of questions) {
    yield;
    const isFirst = rankOfAnswer(question, weights) === 1;
    const wasFirst = rankOfAnswer(question, other) === 1;
    if (isFirst && !wasFirst) won += 1;
    if (wasFirst && !isFirst) lost += 1;
  }
  return won - lost > Math.sqrt(won + lost);
}

/** Best first, equal ones by id, with probabilities that sum to 1. @param limit at least 1. Default: all */
export function rankCandidates(
  candidates: Candidates,
  weights: RetrievalWeights,
  limit = candidates.passages.length,
): Scored[] {
  const logits = blendedScores(candidates, weights);
  const probabilities = softmax(logits);
  // By logit, since very small probabilities round to equal ones; the sort is stable, and ids ascend.
  const order = [...logits.keys()].sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0)).slice(0, limit);
  return order.map((at) => ({ id: candidates.passages[at] ?? 0, score: probabilities[at] ?? 0 }));
}

export function rankOfAnswer({ candidates, passage }: JudgedCandidates, weights: RetrievalWeights): number {
  return pessimisticRank(blendedScores(candidates, weights), candidates.passages.indexOf(passage));
}

/** vector · cosine + bm25 · share of each candidate. [candidates] */
export function blendedScores({ cosines, bm25 }: Candidates, weights: RetrievalWeights): Float64Array {
  const scores = new Float64Array(cosines.length);
  for (let at = 0; at < scores.length; at += 1) {
    scores[at] = weights.vector * (cosines[at] ?? 0) + weights.bm25 * (bm25[at] ?? 0);
  }
  return scores;
}

function* countFirst(questions: readonly JudgedCandidates[], weights: RetrievalWeights): Steps<number> {
  const ranks = yield* mapSteps(questions, (question) => rankOfAnswer(question, weights));
  return ranks.filter((rank) => rank === 1).length;
}

/** The proposal that puts most right passages first; among equals, the one under which they are likeliest. */
function* bestOf(
  questions: readonly JudgedCandidates[],
  proposals: readonly RetrievalWeights[],
): Steps<RetrievalWeights> {
  const judged: { readonly weights: RetrievalWeights; readonly first: number; readonly loss: number }[] = [];
  for (const weights of proposals) {
    const first = yield* countFirst(questions, weights);
    judged.push({ weights, first, loss: logLoss(questions, weights) });
  }
  const [best] = judged.sort((a, b) => b.first - a.first || a.loss - b.loss);
  return best?.weights ?? STARTING_WEIGHTS;
}

/** The sum of −log p of the right passages, over the questions where it is a candidate. */
function logLoss(questions: readonly JudgedCandidates[], weights: RetrievalWeights): number {
  return questions.reduce((loss, { candidates, passage }) => {
    const right = candidates.passages.indexOf(passage);
    const probability = softmax(blendedScores(candidates, weights))[right];
    return probability === undefined ? loss : loss - Math.log(Math.max(probability, Number.MIN_VALUE));
  }, 0);
}

/** Fits weights = Σ tᵢ · directionᵢ, no t below `least`; every t starts at 1. */
function* fitAlong(
  questions: readonly JudgedCandidates[],
  directions: readonly RetrievalWeights[],
  least = 0,
): Steps<RetrievalWeights> {
  const weightsOf = (values: readonly number[]) =>
    sum(...directions.map((direction, at) => [values[at] ?? 0, direction] as const));
  const numbers = directions.map(() => ({ start: 1, scale: 1, least }));
  const values = yield* newtonFit(numbers, (current, at) =>
    derivatives(questions, weightsOf(current), directions[at] ?? STARTING_WEIGHTS),
  );
  return weightsOf(values);
}

function sum(...terms: readonly (readonly [factor: number, weights: RetrievalWeights])[]): RetrievalWeights {
  return {
    vector: terms.reduce((total, [factor, { vector }]) => total + factor * vector, 0),
    bm25: terms.reduce((total, [factor, { bm25 }]) => total + factor * bm25, 0),
  };
}

/** First and second derivative of the log-loss along a direction: mean minus right score, and the scores' variance. */
function* derivatives(
  questions: readonly JudgedCandidates[],
  weights: RetrievalWeights,
  direction: RetrievalWeights,
): Steps<Derivatives> {
  let slope = 0;
  let curvature = 0;
  for (const { candidates, passage } of questions) {
    yield;
    const right = candidates.passages.indexOf(passage);
    if (right === -1) continue;
    const probabilities = softmax(blendedScores(candidates, weights));
    const features = blendedScores(candidates, direction);
    let mean = 0;
    let square = 0;
    for (const [at, probability] of probabilities.entries()) {
      const feature = features[at] ?? 0;
      mean += probability * feature;
      square += probability * feature * feature;
    }
    slope += mean - (features[right] ?? 0);
    curvature += square - mean * mean;
  }
  return { slope, curvature };
}
