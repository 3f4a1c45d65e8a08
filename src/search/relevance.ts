import { Bm25Index } from '../lexical/index.js';
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

/** The highest value among each passage's sentences. [passages] @param starts as in {@link PassageSentences} */
export function bestSentences(values: Float32Array, starts: readonly number[]): Float32Array {
  const best = new Float32Array(starts.length - 1).fill(Number.NEGATIVE_INFINITY);
  for (let passage = 0; passage < best.length; passage += 1) {
    const end = starts[passage + 1] ?? 0;
    for (let at = starts[passage] ?? 0; at < end; at += 1) {
      best[passage] = Math.max(best[passage] ?? 0, values[at] ?? 0);
    }
  }
  return best;
}

/** The weight of a BM25 score over all words of the question, relative to one over its content words. */
const FUNCTION_WORD_WEIGHT = 0.6;

interface SharedWords {
  /** A score for each passage, 0 if no word is shared. [passages] */
  readonly byWords: Float32Array;
  /** An upper bound of the scores for this question, above 0 unless the question has no words. */
  readonly bestPossible: number;
}

/**
 * Passages by their words: BM25 of the whole passage plus BM25 of its best sentence, since one sentence answers most
 * questions and has their words together. docs/search.md has the figures of either alone. Deleted passages keep their
 * ids, without a score.
 */
export class PassageWords {
  readonly passages: Bm25Index;
  readonly sentences: Bm25Index;
  readonly #starts: number[];

  constructor({ passages, sentences, starts }: Pick<PassageWords, 'passages' | 'sentences' | 'starts'>) {
    this.passages = passages;
    this.sentences = sentences;
    this.#starts = [...starts];
  }

  /** Blocks its thread for about 10 s per 100,000 passages of 100 words. */
  static fromPassages(texts: readonly string[], stem: boolean): PassageWords {
    return runToEnd(PassageWords.indexing(texts, PassageSentences.of(texts), stem));
  }

  /** Indexes all passages, step by step. @param stem whether to compare English words by their stems. */
  static *indexing(texts: readonly string[], sentences: PassageSentences, stem: boolean): Steps<PassageWords> {
    const passages = yield* Bm25Index.indexing(texts, { stem });
    return new PassageWords({
      passages,
      sentences: yield* Bm25Index.indexing(sentences.texts, { stem }),
      starts: sentences.starts,
    });
  }

  /** As in {@link PassageSentences}. */
  get starts(): readonly number[] {
    return this.#starts;
  }

  /** The passage gets the next id, and so do its sentences. */
  add(passage: string, sentences: readonly string[]): void {
    this.passages.add(passage);
    for (const sentence of sentences) this.sentences.add(sentence);
    this.#starts.push(this.sentences.size);
  }

  /** @param passage its text */
  delete(id: number, passage: string): void {
    const start = this.#starts[id] ?? 0;
    this.passages.delete(id, passage);
    for (const [at, sentence] of sentencesOf(passage).entries()) this.sentences.delete(start + at, sentence);
  }

  /** The passages that are not deleted, numbered anew in their order. @param left their ids, ascending */
  *compacting(left: readonly number[]): Steps<PassageWords> {
    const starts = [0];
    for (const id of left) {
      starts.push((starts.at(-1) ?? 0) + (this.#starts[id + 1] ?? 0) - (this.#starts[id] ?? 0));
    }
    const passages = yield* this.passages.compacting();
    return new PassageWords({ passages, sentences: yield* this.sentences.compacting(), starts });
  }

  sharedWith(question: string): SharedWords {
    const content = contentWords(question);
    const [asWhole, withAll] = [this.passages.scores(content), this.passages.scores(question)];
    const best = bestSentences(this.sentences.scores(content), this.#starts);
    const byWords = asWhole.map((score, at) => score + FUNCTION_WORD_WEIGHT * (withAll[at] ?? 0) + (best[at] ?? 0));
    const bestPossible =
      this.passages.bestPossible(content) +
      FUNCTION_WORD_WEIGHT * this.passages.bestPossible(question) +
      this.sentences.bestPossible(content);
    return { byWords, bestPossible };
  }
}

export interface Evidence extends SharedWords {
  /** The cosine of the question and each passage's best sentence, or the similarity that the encoder defines. [passages] */
  readonly cosines: Float32Array;
}

/** The weight of one standard deviation of the cosines, relative to the best BM25 score (docs/search.md). */
const COSINE_WEIGHT = 0.2;

/**
 * The probability that a passage answers: a logistic regression on {@link Features}. Fitted by
 * `npm run bench -- bare-search <datasets folder> --fit` to questions about 5 to 1,000 paragraphs or sentences, at least
 * half of which none of these answer (docs/search.md).
 */
const LOGISTIC = { intercept: -3.6, share: 8.14, lead: 13.1, cosineLead: 0.717 };

interface Features {
  /** Its score by words, as a share of the best possible. */
  readonly share: number;
  /** That share minus the share of the best other passage. */
  readonly lead: number;
  /** Its cosine minus that of the best other passage, in standard deviations of all cosines. */
  readonly cosineLead: number;
}

/**
 * The best k passages, best first and equal ones by id, each with the probability that it answers. The probabilities need
 * not sum to 1: if no passage answers, all are low.
 * @param among the only ids that may be found. Default: all
 */
export function rankPassages(evidence: Evidence, k: number, among?: readonly number[]): Scored[] {
  let lowest = 1;
  return rankedPassages(evidence, k, among).map(({ id, features: { share, lead, cosineLead } }) => {
    const logit = LOGISTIC.intercept + LOGISTIC.share * share + LOGISTIC.lead * lead + LOGISTIC.cosineLead * cosineLead;
    // No passage is more probable than one that ranks before it.
    lowest = Math.min(lowest, 1 / (1 + Math.exp(-logit)));
    return { id, score: lowest };
  });
}

interface RankedPassage {
  readonly id: number;
  readonly features: Features;
}

/** The order of {@link rankPassages}, with the features. */
export function rankedPassages(evidence: Evidence, k: number, among?: readonly number[]): RankedPassage[] {
  const { bestPossible } = evidence;
  const { mean, deviation } = spread(evidence.cosines);
  const chosen = (values: Float32Array) => (among ? Float32Array.from(among, (id) => values[id] ?? 0) : values);
  const [byWords, cosines] = [chosen(evidence.byWords), chosen(evidence.cosines)];
  const [bestWords, bestCosines] = [topScores(byWords, 2), topScores(cosines, 2)];
  const highest = bestWords[0]?.score ?? 0;
  const ranks = byWords.map(
    (score, at) => quotient(score, highest) + COSINE_WEIGHT * quotient((cosines[at] ?? 0) - mean, deviation),
  );
  return topScores(ranks, k).map(({ id: at }) => ({
    id: among?.[at] ?? at,
    features: {
      share: quotient(byWords[at] ?? 0, bestPossible),
      lead: quotient((byWords[at] ?? 0) - bestOther(bestWords, at, 0), bestPossible),
      cosineLead: quotient((cosines[at] ?? 0) - bestOther(bestCosines, at, mean), deviation),
    },
  }));
}

/** The best score of any other passage. @param alone the value if there is no other. */
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
