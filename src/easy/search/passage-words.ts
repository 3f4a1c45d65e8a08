import { Bm25Index } from '../../lexical/index.js';
import { allAtOnce, type Steps } from '../../pauses.js';
import { contentWords } from './content-words.js';
import { bestSentences, PassageSentences } from './sentences.js';

/** How much a word that only asks counts beside one that says what a question is about. */
const FUNCTION_WORD_WEIGHT = 0.6;

/** What passages have of a question's words. */
export interface SharedWords {
  /** Of every passage, 0 where no word is shared. [passages] */
  readonly byWords: Float32Array;
  /** A bound on any passage's score for this question, above 0 unless it has no words. */
  readonly bestPossible: number;
}

/**
 * Passages by their words: BM25 of each as a whole, and of its best sentence, since most questions are answered by one
 * sentence, in which their words stand together. docs/easy.md has what either finds alone.
 */
export class PassageWords {
  readonly passages: Bm25Index;
  /** Of all passages, one after another. */
  readonly sentences: Bm25Index;
  /** Where the sentences of each passage begin, and where the last one's end. [passages + 1] */
  readonly starts: Int32Array;

  constructor({ passages, sentences, starts }: Pick<PassageWords, 'passages' | 'sentences' | 'starts'>) {
    this.passages = passages;
    this.sentences = sentences;
    this.starts = starts;
  }

  /** Blocks its thread for about 10 s per 100,000 passages of 100 words. */
  static fromPassages(texts: readonly string[], stem: boolean): PassageWords {
    return allAtOnce(PassageWords.indexing(texts, PassageSentences.of(texts), stem));
  }

  /** Reads all passages, step by step. @param stem whether to compare English words by their stems. */
  static *indexing(
    texts: readonly string[],
    sentences: PassageSentences,
    stem: boolean,
  ): Steps<PassageWords> {
    const passages = yield* Bm25Index.indexing(texts, { stem });
    return new PassageWords({
      passages,
      sentences: yield* Bm25Index.indexing(sentences.texts, { stem }),
      starts: sentences.starts,
    });
  }

  sharedWith(question: string): SharedWords {
    const content = contentWords(question);
    const [asWhole, withAll] = [this.passages.scores(content), this.passages.scores(question)];
    const best = bestSentences(this.sentences.scores(content), this.starts);
    const byWords = asWhole.map(
      (score, at) => score + FUNCTION_WORD_WEIGHT * (withAll[at] ?? 0) + (best[at] ?? 0),
    );
    return { byWords, bestPossible: this.#bestPossible(question, content) };
  }

  #bestPossible(question: string, content: string): number {
    return (
      this.passages.bestPossible(content) +
      FUNCTION_WORD_WEIGHT * this.passages.bestPossible(question) +
      this.sentences.bestPossible(content)
    );
  }
}
