import type { Steps } from '../system/index.js';
import { HashTable } from './hash-table.js';
import { NGramHasher, type NGramOptions, type PlacedNGrams } from './n-grams.js';

/** Longer buffers are released at the next text, so that one huge text doesn't take up memory for good. */
const MAX_KEPT_FEATURES = 1 << 16;

/** The features of a text, in no particular order. */
export interface SparseVector {
  /** Both are overwritten by the next text. */
  readonly ids: Int32Array;
  readonly values: Float32Array;
  /** The share of the text's n-grams, repeated ones as often as they occur, that are features; 0 of a text without any. */
  readonly coverage: number;
}

/** A feature where it stands in a text, in code points of the text as it is read. */
interface FeatureOccurrence {
  readonly id: number;
  /** Its share of the feature's value: each occurrence has the same. */
  readonly value: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Turns texts into vectors over hashed n-grams: (1 + ln tf) · weight, where the weight is idf = ln((1 + n) /
 * (1 + df)) + 1 unless others are given. The part of the words and the part of the characters are each scaled
 * to length 1 (Salton & Buckley 1988; smoothed as in scikit-learn's TfidfVectorizer).
 */
export class TfIdf {
  readonly #hasher: NGramHasher;
  readonly #table: HashTable;
  readonly #counts: Float32Array;
  #ids = new Int32Array(1024);
  #values = new Float32Array(1024);
  /** N-grams of the last text that are features. */
  #found = 0;

  /**
   * @param hashes the features, by id.
   * @param weights of the features.
   */
  constructor(
    readonly options: NGramOptions,
    readonly hashes: Int32Array,
    readonly weights: Float32Array,
  ) {
    this.#hasher = new NGramHasher(options);
    this.#table = HashTable.of(hashes);
    this.#counts = new Float32Array(hashes.length);
  }

  /** Chooses the n-grams that are in the most texts, at most `maxFeatures`, and weights them by idf. */
  static *fit(texts: readonly string[], options: NGramOptions, maxFeatures: number): Steps<TfIdf> {
    const { hashes, frequencies } = yield* countTexts(texts, options);
    const kept = chooseFeatures(frequencies, maxFeatures);
    const idf = (id: number) => Math.log((1 + texts.length) / (1 + (frequencies[id] ?? 0))) + 1;
    return new TfIdf(
      options,
      kept.map((id) => hashes[id] ?? 0),
      Float32Array.from(kept, idf),
    );
  }

  /** The same features with other weights. */
  withWeights(weights: Float32Array): TfIdf {
    return new TfIdf(this.options, this.hashes, weights);
  }

  /** How many distinct hashes there are: as many as features, unless one occurs twice. */
  get distinct(): number {
    return this.#table.size;
  }

  /** How many features there are. */
  get size(): number {
    return this.hashes.length;
  }

  /** @returns views that the next call overwrites; n-grams that aren't features are left out. */
  vector(text: string): SparseVector {
    const { hashes, wordsEnd, end } = this.#hasher.hash(text);
    this.#makeRoom(end);
    this.#found = 0;
    const words = this.#weigh(hashes, 0, wordsEnd, 0);
    const all = this.#weigh(hashes, wordsEnd, end, words);
    const coverage = end === 0 ? 0 : this.#found / end;
    return { ids: this.#ids.subarray(0, all), values: this.#values.subarray(0, all), coverage };
  }

  /** The features of a text one by one where they stand; their values sum to those of {@link TfIdf.vector}. */
  occurrences(text: string): FeatureOccurrence[] {
    const placed = this.#hasher.locate(text);
    this.#makeRoom(placed.end);
    const words = this.#placed(placed, 0, placed.wordsEnd);
    return [...words, ...this.#placed(placed, placed.wordsEnd, placed.end)];
  }

  /** Of the n-grams in [first, last). */
  #placed({ hashes, starts, ends }: PlacedNGrams, first: number, last: number): FeatureOccurrence[] {
    const features = this.#weigh(hashes, first, last, 0);
    const values = new Map<number, number>();
    for (let at = 0; at < features; at += 1) values.set(this.#ids[at] ?? 0, this.#values[at] ?? 0);
    const found: Omit<FeatureOccurrence, 'value'>[] = [];
    const counts = new Map<number, number>();
    for (let at = first; at < last; at += 1) {
      const id = this.#table.find(hashes[at] ?? 0);
      if (id < 0) continue;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      found.push({ id, start: starts[at] ?? 0, end: ends[at] ?? 0 });
    }
    return found.map((each) => ({
      ...each,
      value: (values.get(each.id) ?? 0) / (counts.get(each.id) ?? 1),
    }));
  }

  #makeRoom(end: number): void {
    if (this.#ids.length < end || this.#ids.length > Math.max(MAX_KEPT_FEATURES, 2 * end)) {
      this.#ids = new Int32Array(2 * end);
      this.#values = new Float32Array(2 * end);
    }
  }

  /**
   * Adds the n-grams in [start, end) as features from `first` on, scaled to length 1.
   * @returns the new end.
   */
  #weigh(hashes: Int32Array, start: number, end: number, first: number): number {
    const counts = this.#counts;
    const ids = this.#ids;
    const values = this.#values;
    const { weights } = this;
    const found = this.#table.findAll(hashes, start, end, ids, first);
    this.#found += found - first;
    let last = first;
    for (let at = first; at < found; at += 1) {
      const id = ids[at] ?? 0;
      const count = counts[id] ?? 0;
      counts[id] = count + 1;
      if (count > 0) continue;
      ids[last] = id;
      last += 1;
    }
    let squares = 0;
    for (let at = first; at < last; at += 1) {
      const id = ids[at] ?? 0;
      const value = dampedCount(counts[id] ?? 1) * (weights[id] ?? 0);
      counts[id] = 0;
      values[at] = value;
      squares += value * value;
    }
    const scale = squares > 0 ? 1 / Math.sqrt(squares) : 0;
    for (let at = first; at < last; at += 1) values[at] = (values[at] ?? 0) * scale;
    return last;
  }
}

/** 1 + ln of the counts that nearly all n-grams have. */
const DAMPED_COUNTS = Float64Array.from({ length: 64 }, (_, count) => 1 + Math.log(count));

function dampedCount(count: number): number {
  return DAMPED_COUNTS[count] ?? 1 + Math.log(count);
}

interface TextFrequencies {
  readonly hashes: Int32Array;
  /** In how many texts each hash occurs. */
  readonly frequencies: Int32Array;
}

function* countTexts(texts: readonly string[], options: NGramOptions): Steps<TextFrequencies> {
  const hasher = new NGramHasher(options);
  const table = new HashTable(1 << 16);
  let frequencies = new Int32Array(1 << 16);
  /** The index of the last text in which each hash was seen, plus one. */
  let seenIn = new Int32Array(1 << 16);
  for (const [index, text] of texts.entries()) {
    yield;
    const { hashes, end } = hasher.hash(text);
    for (let at = 0; at < end; at += 1) {
      const id = table.add(hashes[at] ?? 0);
      if (id >= frequencies.length) {
        frequencies = grown(frequencies);
        seenIn = grown(seenIn);
      }
      if (seenIn[id] === index + 1) continue;
      seenIn[id] = index + 1;
      frequencies[id] = (frequencies[id] ?? 0) + 1;
    }
  }
  return { hashes: table.hashes(), frequencies: frequencies.subarray(0, table.size) };
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}

/** The ids of the most frequent features, ascending. */
function chooseFeatures(frequencies: Int32Array, maxFeatures: number): Int32Array {
  const ids = Int32Array.from(frequencies.keys());
  if (ids.length <= maxFeatures) return ids;
  ids.sort((a, b) => (frequencies[b] ?? 0) - (frequencies[a] ?? 0) || a - b);
  return ids.slice(0, maxFeatures).sort();
}
