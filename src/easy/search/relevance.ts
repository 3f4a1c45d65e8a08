/** How passages are ranked where nothing was trained, and how likely one answers a question. */
import { type Scored, topScores } from '../../top-scores.js';

/** What two experts say of every passage. Arrays are [passages]. */
export interface Evidence {
  /** BM25, 0 where no word is shared. */
  readonly bm25: Float32Array;
  /** A bound on any passage's BM25 for this question, above 0 unless it has no words. */
  readonly bestPossible: number;
  /** Of question and passage. */
  readonly cosines: Float32Array;
}

/**
 * How much a standard deviation of the cosines counts beside a BM25 score as a share of the best. Measured on SQuAD 1.1
 * with `npm run bench:bare-search` (docs/easy.md): from 0.05 to 0.2 makes no difference.
 */
const COSINE_WEIGHT = 0.1;

/**
 * The probability that a passage answers the question: logistic regression on 24,000 questions of SQuAD 1.1, asked of 10 to
 * 1,000 paragraphs, half of the questions having no answer among them (docs/easy.md, `npm run bench:bare-search -- --fit`).
 */
const LOGISTIC = { intercept: -3.85, share: 5.67, lead: 18.1, cosine: 0.146 };

/**
 * The passages by both experts, best first, equal ones by id, each with the probability that it answers. The probabilities
 * of different passages don't depend on each other: all are low where none answers.
 * @param k how many.
 */
export function rankPassages(evidence: Evidence, k: number): Scored[] {
  const { bm25, bestPossible, cosines } = evidence;
  const [best, second] = topScores(bm25, 2);
  const highest = best?.score ?? 0;
  const scaled = standardized(cosines);
  const ranks = bm25.map((score, id) => share(score, highest) + COSINE_WEIGHT * (scaled[id] ?? 0));
  let lowest = 1;
  return topScores(ranks, k).map(({ id }) => {
    const own = bm25[id] ?? 0;
    const other = id === best?.id ? (second?.score ?? 0) : highest;
    const { intercept, share: ofShare, lead, cosine } = LOGISTIC;
    const logit =
      intercept +
      ofShare * share(own, bestPossible) +
      lead * share(own - other, bestPossible) +
      cosine * (scaled[id] ?? 0);
    // No passage is likelier than one that ranks before it.
    lowest = Math.min(lowest, 1 / (1 + Math.exp(-logit)));
    return { id, score: lowest };
  });
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

/** Values in standard deviations from their mean; zeros where all are the same. */
function standardized(values: Float32Array): Float32Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length);
  const deviation = Math.sqrt(square);
  return values.map((value) => share(value - mean, deviation));
}
