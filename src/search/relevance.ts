import type { Bm25Index } from '../lexical/index.js';
import { runToEnd, type Scored, type Steps, topScores } from '../system/index.js';

/** English words that tell how something is asked, not what about. */
const FUNCTION_WORDS = new Set(
  `a about all also am an and any are as at be been being but by can could did do does doing for from get gets give had has
  have having he her here him his how i if in into is it its just let like many may me might more most much must my no nor
  not of on or our over please shall she should so some such tell than that the their them then there these they this those
  to too under up us very was we were what when where which while who whom whose why will with would you your`.split(
    /\s+/,
  ),
);

/**
 * A question without its function words; the whole question if nothing else is in it. Whether a passage has these words
 * tells nothing about whether it answers, and few passages have many of them.
 */
export function contentWords(question: string): string {
  const words = question.match(/[\p{L}\p{N}\p{M}'’-]+/gu) ?? [];
  const content = words.filter((word) => !FUNCTION_WORDS.has(word.toLowerCase()));
  return content.length === 0 ? question : content.join(' ');
}

let segmenter: Intl.Segmenter | undefined;

/** The sentences of a text, by Unicode's rules (UAX 29); a text without any is one sentence. */
export function sentencesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'sentence' });
  const sentences = [...segmenter.segment(text)].flatMap(({ segment }) => segment.trim() || []);
  return sentences.length === 0 ? [text] : sentences;
}

export class PassageSentences {
  /** The sentences of all passages, one passage after another. */
  readonly texts: readonly string[];
  /** Where the sentences of each passage start, and where the last one's end. [passages + 1] */
  readonly starts: readonly number[];

  private constructor(texts: readonly string[], starts: readonly number[]) {
    this.texts = texts;
    this.starts = starts;
  }

  static of(passages: readonly string[]): PassageSentences {
    return runToEnd(PassageSentences.dividing(passages));
  }

  static *dividing(passages: readonly string[]): Steps<PassageSentences> {
    const starts = [0];
    const texts: string[] = [];
    for (const passage of passages) {
      yield;
      for (const sentence of sentencesOf(passage)) texts.push(sentence);
      starts.push(texts.length);
    }
    return new PassageSentences(texts, starts);
  }
}

/** The weight of a BM25 score over all words of the question, relative to one over its content words. */
const FUNCTION_WORD_WEIGHT = 0.6;

/** What the words of passages say about a question. */
export interface SharedWords {
  /** A score for each passage, 0 if no word is shared. [passages] */
  readonly byWords: Float32Array;
  /** An upper bound of the scores for this question, above 0 unless the question has no words. */
  readonly bestPossible: number;
}

/** BM25 of the words that say what the question is about, and of all its words. */
export function sharedWords(passages: Bm25Index, question: string): SharedWords {
  const content = contentWords(question);
  const withAll = passages.scores(question);
  return {
    byWords: passages.scores(content).map((score, at) => score + FUNCTION_WORD_WEIGHT * (withAll[at] ?? 0)),
    bestPossible: passages.bestPossible(content) + FUNCTION_WORD_WEIGHT * passages.bestPossible(question),
  };
}

export interface Evidence extends SharedWords {
  /** How similar each passage's most similar sentence is to the question. [passages] */
  readonly bestSentences: Float32Array;
  /** How similar the passage as a whole is. [passages] */
  readonly wholes: Float32Array;
}

/** The weight of one standard deviation of nearness, relative to the best possible BM25 score squared (docs/search.md). */
const NEARNESS_WEIGHT = 0.015;

/**
 * The probability that a passage answers: a logistic regression on {@link Features}. Fitted by
 * `npm run bench -- bare-search <datasets folder> --fit` to questions about 5 to 1,000 paragraphs or sentences, at least
 * half of which none of these answer (docs/search.md).
 */
const LOGISTIC = { intercept: -3.39, share: 6.25, lead: 14.1, nearnessLead: 0.696 };

interface Features {
  /** Its score by words, as a share of the best possible. */
  readonly share: number;
  /** That share minus the share of the best other passage. */
  readonly lead: number;
  /** How much nearer it is than the best other passage, in standard deviations of all. */
  readonly nearnessLead: number;
}

/**
 * The best k passages, best first and equal ones by id, each with the probability that it answers. The probabilities need
 * not sum to 1: if no passage answers, all are low.
 * @param among the only ids that may be found. Default: all
 */
export function rankPassages(evidence: Evidence, k: number, among?: readonly number[]): Scored[] {
  let lowest = 1;
  return rankedPassages(evidence, k, among).map(({ id, features: { share, lead, nearnessLead } }) => {
    const { intercept, ...weights } = LOGISTIC;
    const logit = intercept + weights.share * share + weights.lead * lead + weights.nearnessLead * nearnessLead;
    // No passage is more probable than one that ranks before it.
    lowest = Math.min(lowest, 1 / (1 + Math.exp(-logit)));
    return { id, score: lowest };
  });
}

interface RankedPassage {
  readonly id: number;
  readonly features: Features;
}

/**
 * The order of {@link rankPassages}, with the features. Where a question shares few of its words with any passage, the vectors
 * decide: words count by the square of their share of the best possible score.
 */
export function rankedPassages(evidence: Evidence, k: number, among?: readonly number[]): RankedPassage[] {
  const { byWords, bestPossible } = evidence;
  const [best, whole] = [standardized(evidence.bestSentences), standardized(evidence.wholes)];
  const ids = among ?? [...byWords.keys()];
  const shares = Float32Array.from(ids, (id) => quotient(byWords[id] ?? 0, bestPossible));
  const nearness = Float32Array.from(ids, (id) => ((best[id] ?? 0) + (whole[id] ?? 0)) / 2);
  const [topShares, topNearness] = [topScores(shares, 2), topScores(nearness, 2)];
  const ranks = shares.map((share, at) => share ** 2 + NEARNESS_WEIGHT * (nearness[at] ?? 0));
  return topScores(ranks, k).map(({ id: at }) => ({
    id: ids[at] ?? 0,
    features: {
      share: shares[at] ?? 0,
      lead: (shares[at] ?? 0) - bestOther(topShares, at),
      nearnessLead: (nearness[at] ?? 0) - bestOther(topNearness, at),
    },
  }));
}

/** The best score of any other passage; 0 if there is none. */
function bestOther([first, second]: readonly Scored[], at: number): number {
  return (first?.id === at ? second?.score : first?.score) ?? 0;
}

function quotient(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

/** Standard deviations above the mean. */
function standardized(values: Float32Array): Float32Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length);
  const deviation = Math.sqrt(square);
  return values.map((value) => quotient(value - mean, deviation));
}
