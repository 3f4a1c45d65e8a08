/** How passages are ranked where nothing was trained, and how likely one answers a question. */
import { type Scored, topScores } from '../../top-scores.js';
import type { SharedWords } from './passage-words.js';

/** What two experts say of every passage. Arrays are [passages]. */
export interface Evidence extends SharedWords {
  /** Of the question and each passage's best sentence. */
  readonly cosines: Float32Array;
}

/** How much a standard deviation of the cosines counts beside a BM25 score as a share of the best (docs/easy.md). */
const COSINE_WEIGHT = 0.2;

/**
 * The probability that a passage answers: a logistic regression on what a passage has of the question's words, how far it
 * is ahead of all others in that, and how far in cosine, in standard deviations. Fitted by
 * `npm run bench -- bare-search <datasets folder> --fit` to questions asked of 5 to 1,000 paragraphs or sentences, half of
 * them or more without an answer among these (docs/easy.md).
 */
const LOGISTIC = { intercept: -3.6, share: 8.14, lead: 13.1, cosineLead: 0.717 };

/** A passage as the regression sees it. */
export interface Features {
  /** What it has of the question's words, as a share of the best possible. */
  readonly share: number;
  /** That less what the best other passage has, as such a share. */
  readonly lead: number;
  /** Its cosine less that of the best other passage, in standard deviations of all. */
  readonly cosineLead: number;
}

/** A passage's place, and what speaks for it. */
export interface Ranked {
  readonly id: number;
  readonly features: Features;
}

/**
 * The passages by both experts, best first, equal ones by id, each with the probability that it answers. The probabilities
 * need not sum to 1: all are low where none answers.
 * @param k how many.
 */
export function rankPassages(evidence: Evidence, k: number): Scored[] {
  let lowest = 1;
  return rankedPassages(evidence, k).map(({ id, features: { share, lead, cosineLead } }) => {
    const logit =
      LOGISTIC.intercept + LOGISTIC.share * share + LOGISTIC.lead * lead + LOGISTIC.cosineLead * cosineLead;
    // No passage is likelier than one that ranks before it.
    lowest = Math.min(lowest, 1 / (1 + Math.exp(-logit)));
    return { id, score: lowest };
  });
}

/** The order that {@link rankPassages} gives, with what it judges by. */
export function rankedPassages(evidence: Evidence, k: number): Ranked[] {
  const { byWords, bestPossible, cosines } = evidence;
  const [bestWords, bestCosines] = [topScores(byWords, 2), topScores(cosines, 2)];
  const highest = bestWords[0]?.score ?? 0;
  const { mean, deviation } = spread(cosines);
  const ranks = byWords.map(
    (score, id) => quotient(score, highest) + COSINE_WEIGHT * quotient((cosines[id] ?? 0) - mean, deviation),
  );
  return topScores(ranks, k).map(({ id }) => ({
    id,
    features: {
      share: quotient(byWords[id] ?? 0, bestPossible),
      lead: quotient((byWords[id] ?? 0) - bestOther(bestWords, id, 0), bestPossible),
      cosineLead: quotient((cosines[id] ?? 0) - bestOther(bestCosines, id, mean), deviation),
    },
  }));
}

/** The best score of any other passage. @param alone what it counts as where there is no other. */
function bestOther([first, second]: readonly Scored[], id: number, alone: number): number {
  return (first?.id === id ? second?.score : first?.score) ?? alone;
}

function quotient(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

function spread(values: Float32Array): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length);
  return { mean, deviation: Math.sqrt(square) };
}
