import type { ResultAsync } from 'neverthrow';
import { callResult, type OrchardError, ValidationError } from '../contract/index.js';
import { unitVector } from '../families/index.js';
import { type FoundPassage, PassageCollection, rankPassages } from '../search/index.js';
import { runToEnd } from '../system/index.js';

/** Options of `WebModel.search`. */
export interface WebSearchOptions {
  /** English words are compared by their stems. Default `english`. */
  readonly language?: 'english' | 'other' | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `WebSearchIndex.search`. */
export interface WebSearchCallOptions {
  /** Number of passages to find, 1 to 1,000. Default 10. */
  readonly k?: number | undefined;
  /** Leaves out passages with a lower score, 0 to 1. Default 0. */
  readonly minScore?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Passages that can be searched by words (BM25) and by meaning (vectors of their sentences). */
export interface WebSearchIndex {
  /** Number of passages. */
  readonly size: number;
  /** The passages that best fit a question, best first. Fails with a ValidationError, an AbortedError, or a ClosedError if the model is closed. */
  search(question: string, options?: WebSearchCallOptions): ResultAsync<readonly FoundPassage[], OrchardError>;
}

type VectorsOf = (texts: readonly string[], signal: AbortSignal | undefined) => Promise<readonly Float32Array[]>;

const SENTENCES_AT_A_TIME = 128;
const MOST_FOUND = 1000;
const COSINE = { score: (product: number) => product, dividesByNorm: true };

export class WordsAndVectors implements WebSearchIndex {
  readonly #collection: PassageCollection<undefined>;
  readonly #vectorsOf: VectorsOf;

  constructor(texts: readonly string[], language: 'english' | 'other', vectorsOf: VectorsOf) {
    const passages = texts.map((text, at) => ({ id: String(at), text }));
    this.#collection = runToEnd(PassageCollection.indexing<undefined>(passages, language === 'english'));
    this.#vectorsOf = vectorsOf;
  }

  get size(): number {
    return this.#collection.size;
  }

  /** Of all sentences. */
  async addVectors(vectorsOf: (texts: readonly string[]) => Promise<readonly Float32Array[]>): Promise<void> {
    while (this.#collection.waiting > 0) {
      this.#collection.addVectors(await vectorsOf(this.#collection.firstWaiting(SENTENCES_AT_A_TIME)));
    }
  }

  search(question: string, options: WebSearchCallOptions = {}): ResultAsync<readonly FoundPassage[], OrchardError> {
    const work = async () => {
      const { k = 10, minScore = 0, signal } = options;
      requireWithin('k', k, 1, MOST_FOUND);
      requireWithin('minScore', minScore, 0, 1);
      const [vector] = await this.#vectorsOf([question], signal);
      const { passages, evidence } = this.#collection.evidence(question, vector && unitVector(vector), COSINE);
      return rankPassages(evidence, Math.floor(k), undefined).flatMap(({ id: index, score }) => {
        const found = passages[index];
        if (found === undefined || score < minScore) return [];
        return [{ id: found.id, passage: found.text, index, score }];
      });
    };
    return callResult(work(), 'searching passages');
  }
}

function requireWithin(name: string, value: number, least: number, most: number): void {
  if (typeof value === 'number' && value >= least && value <= most) return;
  throw new ValidationError([{ loc: [name], msg: `give a number from ${least} to ${most}`, type: 'out_of_range' }]);
}
