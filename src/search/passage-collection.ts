import { VectorIndex } from '../families/index.js';
import type { Steps } from '../system/index.js';
import { bestSentences, type Evidence, PassageSentences, PassageWords, sentencesOf } from './relevance.js';

/** A passage, and what the application keeps with it. */
export interface StoredPassage<Data> {
  readonly id: string;
  readonly text: string;
  readonly data?: Data | undefined;
}

/** The share of passages that are not deleted. */
const LEAST_LEFT = 0.5;

interface Parts<Data> {
  readonly passages: readonly StoredPassage<Data>[];
  readonly words: PassageWords;
  readonly vectors: VectorIndex | undefined;
  /** The sentences without vectors. */
  readonly waiting: readonly string[];
}

/**
 * Passages with their words and the vectors of their sentences. Passages are found by their words at once; the vectors may
 * come later, in the order of the sentences. No method leaves it half changed.
 */
export class PassageCollection<Data> {
  /** By place; undefined where one was deleted. */
  #passages: (StoredPassage<Data> | undefined)[];
  #places = new Map<string, number>();
  #words: PassageWords;
  #vectors: VectorIndex | undefined;
  /** The last sentences, which have no vectors yet. */
  #waiting: string[];

  constructor({ passages, words, vectors, waiting }: Parts<Data>) {
    this.#passages = [...passages];
    for (const [place, { id }] of passages.entries()) this.#places.set(id, place);
    this.#words = words;
    this.#vectors = vectors;
    this.#waiting = [...waiting];
  }

  /** @param stem whether to compare English words by their stems */
  static *indexing<Data>(passages: readonly StoredPassage<Data>[], stem: boolean): Steps<PassageCollection<Data>> {
    const texts = passages.map(({ text }) => text);
    const sentences = yield* PassageSentences.dividing(texts);
    const words = yield* PassageWords.indexing(texts, sentences, stem);
    return new PassageCollection({ passages, words, vectors: undefined, waiting: sentences.texts });
  }

  get size(): number {
    return this.#places.size;
  }

  /** Number of sentences, those of deleted passages too. */
  get sentences(): number {
    return this.#words.sentences.size;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  get(id: string): StoredPassage<Data> | undefined {
    return this.#passages[this.#places.get(id) ?? -1];
  }

  /** In the order in which they were added. */
  get passages(): StoredPassage<Data>[] {
    return this.#passages.flatMap((passage) => passage ?? []);
  }

  add(passage: StoredPassage<Data>): void {
    const sentences = sentencesOf(passage.text);
    this.#places.set(passage.id, this.#passages.length);
    this.#passages.push(passage);
    this.#words.add(passage.text, sentences);
    this.#waiting.push(...sentences);
  }

  /** @returns whether there was one */
  delete(id: string): boolean {
    const place = this.#places.get(id);
    const passage = this.#passages[place ?? -1];
    if (place === undefined || passage === undefined) return false;
    this.#words.delete(place, passage.text);
    this.#passages[place] = undefined;
    this.#places.delete(id);
    return true;
  }

  /** Whether {@link compacting} is worth its time. */
  get isSparse(): boolean {
    return this.size < LEAST_LEFT * this.#passages.length;
  }

  /** Number of sentences that have no vectors yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  firstWaiting(most: number): readonly string[] {
    return this.#waiting.slice(0, most);
  }

  /** The vectors of the first sentences that had none. */
  addVectors(vectors: readonly Float32Array[]): void {
    this.#vectors = this.#vectors?.with(vectors) ?? VectorIndex.fromRows(vectors);
    this.#waiting.splice(0, vectors.length);
  }

  /** Forgets what deleted passages had. Only while no sentence waits and no passage is added or deleted. */
  *compacting(): Steps<void> {
    if (this.size === this.#passages.length) return;
    const left = [...this.#places.values()];
    const { starts } = this.#words;
    const sentences: number[] = [];
    for (const place of left) {
      for (let at = starts[place] ?? 0; at < (starts[place + 1] ?? 0); at += 1) sentences.push(at);
    }
    const words = yield* this.#words.compacting(left);
    this.#words = words;
    this.#vectors = sentences.length === 0 ? undefined : this.#vectors?.only(sentences);
    this.#passages = this.passages;
    this.#places = new Map(this.passages.map(({ id }, place) => [id, place]));
  }

  /**
   * The passages that are left, and what speaks for each. A passage none of whose sentences has a vector yet is as near
   * as the mean.
   * @param vector as vectors are compared. @param similarity from a dot product
   */
  evidence(
    question: string,
    vector: Float32Array | undefined,
    similarity: (product: number) => number,
  ): { readonly passages: readonly StoredPassage<Data>[]; readonly evidence: Evidence } {
    const { byWords, bestPossible } = this.#words.sharedWith(question);
    const products = vector === undefined ? undefined : this.#vectors?.scores(vector);
    const ofSentences = new Float32Array(this.sentences).fill(Number.NEGATIVE_INFINITY);
    if (products) for (let at = 0; at < products.length; at += 1) ofSentences[at] = similarity(products[at] ?? 0);
    const cosines = bestSentences(ofSentences, this.#words.starts);
    const isLeft = (_: number, place: number) => this.#passages[place] !== undefined;
    const left = (values: Float32Array) => (this.size === values.length ? values : values.filter(isLeft));
    const evidence = { byWords: left(byWords), bestPossible, cosines: withMean(left(cosines)) };
    return { passages: this.passages, evidence };
  }

  /** What is saved of them; after {@link compacting}, while no sentence waits. */
  get parts(): { readonly words: PassageWords; readonly vectors: VectorIndex | undefined } {
    return { words: this.#words, vectors: this.#vectors };
  }
}

/** −∞ stands for a value that isn't known, which becomes the mean of those that are. */
function withMean(values: Float32Array): Float32Array {
  const known = values.filter((value) => value > Number.NEGATIVE_INFINITY);
  if (known.length === values.length) return values;
  const mean = known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length);
  return values.map((value) => (value > Number.NEGATIVE_INFINITY ? value : mean));
}
