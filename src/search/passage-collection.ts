import { ModelFolderError, ValidationError } from '../contract/index.js';
import { unitVector, VectorIndex } from '../families/index.js';
import { Bm25Index } from '../lexical/index.js';
import type { SentenceConfig } from '../models/index.js';
import type { Steps } from '../system/index.js';
import { type Evidence, PassageSentences, sentencesOf, sharedWords } from './relevance.js';
import type { Passage } from './search.js';

/** A passage, and what the application keeps with it. */
export interface StoredPassage<Data> {
  readonly id: string;
  readonly text: string;
  readonly data?: Data | undefined;
}

/** How vectors are compared. */
export interface Comparison {
  /** From a dot product. */
  readonly score: (product: number) => number;
  /** Whether the similarity of a whole passage is the sum of its sentences' over the norm of their sum, or their mean. */
  readonly dividesByNorm: boolean;
}

/** The share of passages that are not deleted. */
const LEAST_LEFT = 0.5;

interface Parts<Data> {
  readonly passages: readonly StoredPassage<Data>[];
  readonly words: Bm25Index;
  /** As in {@link PassageSentences}. */
  readonly starts: readonly number[];
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
  #words: Bm25Index;
  /** As in {@link PassageSentences}, by place. */
  #starts: number[];
  #vectors: VectorIndex | undefined;
  /** Norms of the sums of sentence vectors, by place, of the first passages whose sentences all have vectors. */
  #norms: number[] = [];
  /** The last sentences. All but the first {@link #given} have no vectors yet. */
  #waiting: string[];
  #given = 0;

  constructor({ passages, words, starts, vectors, waiting }: Parts<Data>) {
    this.#passages = [...passages];
    for (const [place, { id }] of passages.entries()) this.#places.set(id, place);
    this.#words = words;
    this.#starts = [...starts];
    this.#vectors = vectors;
    this.#waiting = [...waiting];
    this.#addNorms();
  }

  /** @param stem whether to compare English words by their stems */
  static *indexing<Data>(passages: readonly StoredPassage<Data>[], stem: boolean): Steps<PassageCollection<Data>> {
    const texts = passages.map(({ text }) => text);
    const sentences = yield* PassageSentences.dividing(texts);
    const words = yield* Bm25Index.indexing(texts, { stem });
    return new PassageCollection({
      passages,
      words,
      starts: sentences.starts,
      vectors: undefined,
      waiting: sentences.texts,
    });
  }

  get size(): number {
    return this.#places.size;
  }

  /** Number of sentences, those of deleted passages too. */
  get sentences(): number {
    return this.#starts.at(-1) ?? 0;
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
    this.#words.add(passage.text);
    this.#starts.push(this.sentences + sentences.length);
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
    return this.#waiting.length - this.#given;
  }

  firstWaiting(most: number): readonly string[] {
    return this.#waiting.slice(this.#given, this.#given + most);
  }

  /** The vectors of the first sentences that had none. */
  addVectors(vectors: readonly Float32Array[]): void {
    this.#vectors = (this.#vectors ?? VectorIndex.empty(vectors[0]?.length ?? 1)).with(vectors, this.sentences);
    this.#given += vectors.length;
    // Rarely, since it copies the others.
    if (this.#given > this.waiting) {
      this.#waiting = this.#waiting.slice(this.#given);
      this.#given = 0;
    }
    this.#addNorms();
  }

  #addNorms(): void {
    for (let place = this.#norms.length; place < this.#passages.length; place += 1) {
      const [start = 0, end = 0] = this.#starts.slice(place, place + 2);
      if (this.#vectors === undefined || end > this.#vectors.size) return;
      this.#norms.push(this.#vectors.normOfSum(start, end));
    }
  }

  /** Forgets what deleted passages had. Only while no sentence waits and no passage is added or deleted. */
  *compacting(): Steps<void> {
    if (this.size === this.#passages.length) return;
    const left = [...this.#places.values()];
    const sentences: number[] = [];
    const starts = [0];
    for (const place of left) {
      for (let at = this.#starts[place] ?? 0; at < (this.#starts[place + 1] ?? 0); at += 1) sentences.push(at);
      starts.push(sentences.length);
    }
    this.#words = yield* this.#words.compacting();
    this.#starts = starts;
    this.#vectors = sentences.length === 0 ? undefined : this.#vectors?.only(sentences);
    this.#norms = left.map((place) => this.#norms[place] ?? 0);
    this.#passages = this.passages;
    this.#places = new Map(this.passages.map(({ id }, place) => [id, place]));
  }

  /**
   * The passages that are left, and what speaks for each. A passage whose vectors are not there yet is as near as the mean.
   * @param vector of the question, as vectors are compared; undefined if no passage had a vector
   */
  evidence(
    question: string,
    vector: Float32Array | undefined,
    { score, dividesByNorm }: Comparison,
  ): { readonly passages: readonly StoredPassage<Data>[]; readonly evidence: Evidence } {
    const { byWords, bestPossible } = sharedWords(this.#words, question);
    const similarities = (vector && this.#vectors?.scores(vector).map(score)) ?? new Float32Array();
    const bestSentences = new Float32Array(byWords.length).fill(Number.NaN);
    const wholes = bestSentences.slice();
    for (const [place, norm] of (similarities.length > 0 ? this.#norms : []).entries()) {
      const ofPassage = similarities.subarray(this.#starts[place], this.#starts[place + 1]);
      const divisor = dividesByNorm ? norm : ofPassage.length;
      bestSentences[place] = ofPassage.reduce((best, value) => Math.max(best, value));
      wholes[place] = divisor === 0 ? 0 : ofPassage.reduce((sum, value) => sum + value) / divisor;
    }
    const isLeft = (_: number, place: number) => this.#passages[place] !== undefined;
    const left = (values: Float32Array) => (this.size === values.length ? values : values.filter(isLeft));
    const evidence = {
      byWords: left(byWords),
      bestPossible,
      bestSentences: withMean(left(bestSentences)),
      wholes: withMean(left(wholes)),
    };
    return { passages: this.passages, evidence };
  }

  /** What is saved of them; after {@link compacting}, while no sentence waits. */
  get parts(): Pick<Parts<Data>, 'words' | 'starts' | 'vectors'> {
    return { words: this.#words, starts: this.#starts, vectors: this.#vectors };
  }
}

/** Replaces unknown values, which are NaN, by the mean of the known ones. */
function withMean(values: Float32Array): Float32Array {
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === values.length) return values;
  const mean = known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length);
  return values.map((value) => (Number.isNaN(value) ? mean : value));
}

/**
 * With ids. @param added the number of passages that were added before. @param isTaken whether a passage of the index
 * has this id
 * @throws ValidationError for an id that another passage has
 */
export function numbered<Data>(
  given: readonly Passage<Data>[],
  added: number,
  isTaken: (id: string) => boolean,
): StoredPassage<Data>[] {
  const ids = new Set<string>();
  return given.map((passage, at) => {
    const id = passage.id ?? String(added + at);
    const isInIndex = isTaken(id);
    if (isInIndex || ids.has(id)) {
      const orReplace = isInIndex ? ', or replace the other passage with update()' : '';
      const msg = `another passage already has the id ${JSON.stringify(id)}; give each passage its own id${orReplace}`;
      throw new ValidationError([{ loc: ['passages', at, 'id'], msg, type: 'id_taken' }]);
    }
    ids.add(id);
    return { ...passage, id };
  });
}

/** @throws ValidationError if `where` throws, or returns anything but true or false */
export function isWanted<Data>(
  { id, data }: StoredPassage<Data>,
  where: (data: Data | undefined, id: string) => boolean,
): boolean {
  const refused = (msg: string) =>
    new ValidationError([{ loc: ['where'], msg: `passage ${JSON.stringify(id)}: ${msg}`, type: 'where' }]);
  let wanted: unknown;
  try {
    wanted = where(data, id);
  } catch (thrown) {
    throw refused(`it throws ${String(thrown)}`);
  }
  if (typeof wanted === 'boolean') return wanted;
  throw refused('it must return true or false, not a promise or another value');
}

/** How vectors are compared by dot products, which an index computes. */
export interface Similarity {
  stored(vector: Float32Array): Float32Array;
  asked(vector: Float32Array): Float32Array;
  /** @param product of both. */
  score(product: number, asked: Float32Array): number;
  /** As in {@link Comparison}. */
  readonly dividesByNorm: boolean;
}

const plain = (vector: Float32Array): Float32Array => vector;
const squares = (vector: Float32Array): number => vector.reduce((sum, value) => sum + value ** 2, 0);

const similarities: Readonly<Record<Exclude<SentenceConfig['similarity'], 'manhattan'>, Similarity>> = {
  cosine: { stored: unitVector, asked: unitVector, score: (product) => product, dividesByNorm: true },
  dot: { stored: plain, asked: plain, score: (product) => product, dividesByNorm: true },
  // −‖q − v‖, from [2q, −1]·[v, ‖v‖²] = ‖q‖² − ‖q − v‖².
  euclidean: {
    stored: (vector) => Float32Array.of(...vector, squares(vector)),
    asked: (vector) => Float32Array.of(...vector.map((value) => 2 * value), -1),
    score: (product, asked) => -Math.sqrt(Math.max(0, squares(asked) - product)),
    dividesByNorm: false,
  },
};

/** @throws ModelFolderError for a similarity that search doesn't compute */
export function similarityOf({
  name,
  settings,
}: {
  readonly name: string;
  readonly settings: Pick<SentenceConfig, 'similarity'>;
}): Similarity {
  const { similarity } = settings;
  if (similarity !== 'manhattan') return similarities[similarity];
  const reason = `similarity_fn_name: search can't compare vectors by manhattan; use ${Object.keys(similarities).join(', ')}`;
  throw new ModelFolderError(name, reason);
}
