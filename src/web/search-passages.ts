import type { ResultAsync } from 'neverthrow';
import { callResult, type OrchardError } from '../contract/index.js';
import type { SentenceConfig } from '../models/index.js';
import {
  type FoundPassage,
  type IndexProgress,
  isWanted,
  numbered,
  type Passage,
  PassageCollection,
  rankPassages,
  type SearchCallOptions,
  type Similarity,
  similarityOf,
} from '../search/index.js';
import { languageName } from '../training/index.js';
import { CallEnd, checked, refusal, requireQuery, requireText, requireWithin, type WebCallOptions } from './calls.js';

/** Options of `WebModel.search`. */
export interface WebSearchOptions extends WebCallOptions {
  /**
   * The language of the passages: an English name, or a code such as `en-GB`. English words are compared by their
   * stems. Default `english`.
   */
  readonly language?: string | undefined;
  /** Called while vectors are computed. */
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined;
}

/** Options of `WebSearchIndex.search`. */
export interface WebSearchCallOptions<Data = unknown>
  extends Omit<SearchCallOptions<Data>, 'rerank' | 'signal'>,
    WebCallOptions {}

/** Passages that can be searched by words (BM25) and by meaning (vectors of their sentences). */
export interface WebSearchIndex<Data = unknown> {
  /** Number of passages. */
  readonly size: number;
  /**
   * Finds the passages that best fit a question, best first; none if all score below `minScore`. Fails with a
   * ValidationError, also if `where` throws, an AbortedError, a DeadlineError, or a ClosedError if the model is closed.
   */
  search(query: string, options?: WebSearchCallOptions<Data>): ResultAsync<readonly FoundPassage<Data>[], OrchardError>;
}

/** What an index needs of its model. */
export interface IndexedModel {
  /** Of the indexing. */
  readonly end: CallEnd;
  readonly sentence: Pick<SentenceConfig, 'similarity'> | undefined;
  /** Of sentences of passages. */
  vectorsOf(texts: readonly string[]): Promise<readonly Float32Array[]>;
  /** Vectors of questions. */
  ask(questions: readonly string[], end: CallEnd): Promise<readonly Float32Array[]>;
}

const SENTENCES_AT_A_TIME = 128;
const MOST_FOUND = 1000;
const MAX_ID_CHARACTERS = 512;
const SEARCHING = 'searching passages';

export class WordsAndVectors<Data> implements WebSearchIndex<Data> {
  readonly #collection: PassageCollection<Data>;
  readonly #similarity: Similarity;
  readonly #ask: IndexedModel['ask'];

  private constructor(collection: PassageCollection<Data>, similarity: Similarity, ask: IndexedModel['ask']) {
    this.#collection = collection;
    this.#similarity = similarity;
    this.#ask = ask;
  }

  /** @throws ValidationError that names the passage, ModelFolderError for vectors that search can't compare */
  static async indexing<Data>(
    passages: Iterable<string | Passage<Data>>,
    { language = 'english', onProgress }: WebSearchOptions,
    { end, sentence = { similarity: 'cosine' }, vectorsOf, ask }: IndexedModel,
  ): Promise<WordsAndVectors<Data>> {
    if (typeof language !== 'string') throw refusal(['language'], 'give the name or the code of a language');
    if (onProgress !== undefined && typeof onProgress !== 'function') throw refusal(['onProgress'], 'give a function');
    const similarity = similarityOf({ name: 'the model', settings: sentence });
    const given = numbered(requirePassages(passages), 0, () => false);
    const isEnglish = languageName(language) === 'english';
    const collection = await end.inSlices(PassageCollection.indexing<Data>(given, isEnglish));
    while (collection.waiting > 0) {
      const vectors = await vectorsOf(collection.firstWaiting(SENTENCES_AT_A_TIME));
      collection.addVectors(vectors.map(similarity.stored));
      onProgress?.({ done: collection.sentences - collection.waiting, total: collection.sentences });
    }
    return new WordsAndVectors(collection, similarity, ask);
  }

  get size(): number {
    return this.#collection.size;
  }

  search(
    query: string,
    options: WebSearchCallOptions<Data> = {},
  ): ResultAsync<readonly FoundPassage<Data>[], OrchardError> {
    const work = async () => {
      const known = ['k', 'minScore', 'where', 'signal', 'deadlineMs'] as const;
      const { k = 10, minScore = 0, where } = checked(options, known);
      requireWithin('k', k, 1, MOST_FOUND, true);
      requireWithin('minScore', minScore, 0, 1);
      if (where !== undefined && typeof where !== 'function') throw refusal(['where'], 'give a function');
      const text = requireQuery(query, ['query']);
      const [vector] = await this.#ask([text], new CallEnd(SEARCHING, options));
      const { asked, score, dividesByNorm } = this.#similarity;
      const comparison = { dividesByNorm, score: (product: number) => (vector ? score(product, vector) : 0) };
      const { passages, evidence } = this.#collection.evidence(text, vector && asked(vector), comparison);
      const among = where && passages.flatMap((passage, at) => (isWanted(passage, where) ? at : []));
      return rankPassages(evidence, k, among).flatMap(({ id: index, score: probability }) => {
        const found = passages[index];
        if (found === undefined || probability < minScore) return [];
        const { text: passage, ...stored } = found;
        return { ...stored, passage, index, score: probability };
      });
    };
    return callResult(work(), SEARCHING);
  }
}

/** @throws ValidationError */
function requirePassages<Data>(given: Iterable<string | Passage<Data>>): Passage<Data>[] {
  const isList = typeof given === 'object' && given !== null && Symbol.iterator in given;
  if (!isList) throw refusal(['passages'], 'give an array of passages');
  const passages = Array.from(given, (each, at): Passage<Data> => {
    if (typeof each !== 'object' || each === null) return { text: requireText(each, ['passages', at]) };
    const { id, text } = checked(each, ['id', 'text', 'data']);
    requireText(text, ['passages', at, 'text']);
    const isId = typeof id === 'string' && id.length >= 1 && id.length <= MAX_ID_CHARACTERS;
    if (id === undefined || isId) return each;
    throw refusal(['passages', at, 'id'], `give a text of 1 to ${MAX_ID_CHARACTERS} characters`);
  });
  if (passages.length === 0) throw refusal(['passages'], 'give at least one passage');
  return passages;
}
