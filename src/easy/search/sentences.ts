import { allAtOnce, type Steps } from '../../pauses.js';

let segmenter: Intl.Segmenter | undefined;

/** The sentences of a text, by Unicode's rules (UAX 29); a text with none is its own. */
export function sentencesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'sentence' });
  const sentences = [...segmenter.segment(text)].flatMap(({ segment }) => segment.trim() || []);
  return sentences.length === 0 ? [text] : sentences;
}

/** The sentences of several passages. */
export class PassageSentences {
  /** Of all passages, one after another. */
  readonly texts: readonly string[];
  /** Where the sentences of each passage begin, and where the last one's end. [passages + 1] */
  readonly starts: Int32Array;

  private constructor(texts: readonly string[], starts: Int32Array) {
    this.texts = texts;
    this.starts = starts;
  }

  static of(passages: readonly string[]): PassageSentences {
    return allAtOnce(PassageSentences.dividing(passages));
  }

  /** Divides all passages, step by step. */
  static *dividing(passages: readonly string[]): Steps<PassageSentences> {
    const starts = new Int32Array(passages.length + 1);
    const texts: string[] = [];
    for (const [at, passage] of passages.entries()) {
      yield;
      for (const sentence of sentencesOf(passage)) texts.push(sentence);
      starts[at + 1] = texts.length;
    }
    return new PassageSentences(texts, starts);
  }
}

/**
 * What each passage's best sentence has. [passages]
 * @param values of all sentences.
 * @param starts as in {@link PassageSentences}.
 */
export function bestSentences(values: Float32Array, starts: Int32Array): Float32Array {
  const best = new Float32Array(starts.length - 1).fill(Number.NEGATIVE_INFINITY);
  for (let passage = 0; passage < best.length; passage += 1) {
    const end = starts[passage + 1] ?? 0;
    for (let at = starts[passage] ?? 0; at < end; at += 1) {
      best[passage] = Math.max(best[passage] ?? 0, values[at] ?? 0);
    }
  }
  return best;
}
