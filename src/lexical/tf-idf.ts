import type { Steps } from '../system/index.js';
import { combineHash, HashTable, largestIds, rememberedByCodePoint, withRoom } from './hash-table.js';

export interface NGramOptions {
  readonly lowercase: boolean;
  /** Words and pairs of consecutive words. */
  readonly words: boolean;
  /** Only with `words`. Default false. */
  readonly triples?: boolean | undefined;
  /** Inside a word and the spaces around it; null for none. */
  readonly characters: { readonly shortest: number; readonly longest: number } | null;
}

/** 32-bit hashes, repeated ones as often as they occur. */
interface NGramHashes {
  /** What comes after `end` is left over from earlier texts. */
  readonly hashes: Int32Array;
  /** Where the character n-grams start. */
  readonly wordsEnd: number;
  readonly end: number;
}

/** Places in code points of the text as it is read; one may be -1, or the text's length. */
interface PlacedNGrams extends NGramHashes {
  /** [n-grams] */
  readonly starts: Int32Array;
  /** Exclusive. [n-grams] */
  readonly ends: Int32Array;
}

/** Longer buffers are released at the next text. */
const MAX_KEPT_HASHES = 1 << 17;
const MAX_KEPT_CODE_POINTS = 1 << 15;
const INITIAL_HASHES = 4096;
const INITIAL_CODE_POINTS = 256;

const SPACE = 0x20;
const WORD_SEED = 0x2f0b4c47;
const PAIR_SEED = 0x6b43a9b5;
const TRIPLE_SEED = 0x3c6ef372;
const CHARACTER_SEED = 0x1b56c4e9;

/** Reuses its buffers, so that a text costs no allocation. */
export class NGramHasher {
  #codePoints = new Int32Array(INITIAL_CODE_POINTS);
  #hashes = new Int32Array(INITIAL_HASHES);
  #end = 0;
  /** Undefined while they are not asked for. */
  #places: { readonly starts: Int32Array; readonly ends: Int32Array } | undefined;

  constructor(readonly options: NGramOptions) {}

  /** Overwritten by the next call. */
  hash(text: string): NGramHashes {
    if (this.#hashes.length > MAX_KEPT_HASHES) this.#hashes = new Int32Array(INITIAL_HASHES);
    if (this.#codePoints.length > MAX_KEPT_CODE_POINTS) this.#codePoints = new Int32Array(INITIAL_CODE_POINTS);
    const length = this.#read(this.options.lowercase ? text.toLowerCase() : text);
    this.#end = 0;
    if (this.options.words) this.#hashWords(length, this.options.triples ?? false);
    const wordsEnd = this.#end;
    if (this.options.characters) this.#hashCharacters(length, this.options.characters);
    return { hashes: this.#hashes, wordsEnd, end: this.#end };
  }

  /** Takes twice as long as {@link NGramHasher.hash}. */
  locate(text: string): PlacedNGrams {
    const { end } = this.hash(text);
    const places = { starts: new Int32Array(end), ends: new Int32Array(end) };
    this.#places = places;
    try {
      return { ...this.hash(text), ...places };
    } finally {
      this.#places = undefined;
    }
  }

  /** Adds a space before and after. @returns how many code points. */
  #read(text: string): number {
    if (this.#codePoints.length < text.length + 2) this.#codePoints = new Int32Array(2 * text.length + 2);
    const codePoints = this.#codePoints;
    let length = 0;
    codePoints[length++] = SPACE;
    for (let at = 0; at < text.length; at += 1) {
      const codePoint = text.codePointAt(at) ?? SPACE;
      if (codePoint > 0xffff) at += 1;
      codePoints[length++] = codePoint;
    }
    codePoints[length++] = SPACE;
    return length;
  }

  /** A word is a run of letters, digits, marks and underscores; a symbol is a word of its own. */
  #hashWords(length: number, triples: boolean): void {
    this.#reserve(3 * length);
    const codePoints = this.#codePoints;
    let beforePrevious = 0;
    let previous = 0;
    let startBeforePrevious = 0;
    let startOfPrevious = 0;
    let at = 0;
    while (at < length) {
      const start = at;
      const kind = characterKind(codePoints[at] ?? SPACE);
      let hash = WORD_SEED;
      if (kind === CharacterKind.word) {
        while (at < length && characterKind(codePoints[at] ?? SPACE) === CharacterKind.word) {
          hash = combineHash(hash, codePoints[at] ?? SPACE);
          at += 1;
        }
      } else {
        if (kind === CharacterKind.symbol) hash = combineHash(hash, codePoints[at] ?? SPACE);
        at += 1;
      }
      if (hash === WORD_SEED) continue;
      this.#push(hash, start, at);
      if (previous !== 0) {
        this.#push(combineHash(combineHash(PAIR_SEED, previous), hash), startOfPrevious, at);
      }
      if (triples && beforePrevious !== 0) {
        const triple = combineHash(combineHash(combineHash(TRIPLE_SEED, beforePrevious), previous), hash);
        this.#push(triple, startBeforePrevious, at);
      }
      beforePrevious = previous;
      previous = hash;
      startBeforePrevious = startOfPrevious;
      startOfPrevious = start;
    }
  }

  /** As scikit-learn's `char_wb`: between spaces, with one space at each end. */
  #hashCharacters(length: number, { shortest, longest }: { shortest: number; longest: number }): void {
    this.#reserve(this.#end + length * (longest - shortest + 1) * 2);
    const codePoints = this.#codePoints;
    let start = 0;
    while (start < length - 1) {
      if (isSpace(codePoints[start + 1])) {
        start += 1;
        continue;
      }
      let end = start + 1;
      while (end < length - 1 && !isSpace(codePoints[end])) end += 1;
      this.#hashWord(start, end + 1, shortest, longest);
      start = end;
    }
  }

  #hashWord(start: number, end: number, shortest: number, longest: number): void {
    const codePoints = this.#codePoints;
    for (let first = start; first < end; first += 1) {
      let hash = CHARACTER_SEED;
      const last = Math.min(end, first + longest);
      for (let at = first; at < last; at += 1) {
        hash = combineHash(hash, at === start || at === end - 1 ? SPACE : (codePoints[at] ?? SPACE));
        if (at - first + 1 >= shortest) this.#push(hash, first, at + 1);
      }
    }
  }

  /** @param start and @param end in the code points that were read, the space before the text being the first. */
  #push(hash: number, start: number, end: number): void {
    this.#hashes[this.#end] = hash;
    if (this.#places !== undefined) {
      this.#places.starts[this.#end] = start - 1;
      this.#places.ends[this.#end] = end - 1;
    }
    this.#end += 1;
  }

  #reserve(count: number): void {
    this.#hashes = withRoom(this.#hashes, count);
  }
}

function isSpace(codePoint: number | undefined): boolean {
  return codePoint === undefined || characterKind(codePoint) === CharacterKind.space;
}

export const CharacterKind = { space: 1, word: 2, symbol: 3, other: 4 } as const;
const space = /\s/u;
const word = /[\p{L}\p{N}\p{M}_]/u;
/** Marks that carry meaning of their own. */
const symbol = /[\p{S}!?%]/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const letter = /\p{L}/u;

export const characterKind = rememberedByCodePoint((character) => {
  if (space.test(character)) return CharacterKind.space;
  if (word.test(character)) return CharacterKind.word;
  return symbol.test(character) ? CharacterKind.symbol : CharacterKind.other;
});

const TEXTS_TO_LOOK_AT = 1000;

/** Whether most letters belong to scripts without spaces between words. */
export function isUnspaced(texts: readonly string[]): boolean {
  let letters = 0;
  let unspacedLetters = 0;
  for (const text of texts.slice(0, TEXTS_TO_LOOK_AT)) {
    for (const character of text) {
      if (!letter.test(character)) continue;
      letters += 1;
      if (unspaced.test(character)) unspacedLetters += 1;
    }
  }
  return unspacedLetters > letters / 2;
}

const MAX_KEPT_FEATURES = 1 << 16;

export interface SparseVector {
  /** Overwritten by the next text. */
  readonly ids: Int32Array;
  readonly values: Float32Array;
  /** The share of the text's n-grams that are features. */
  readonly coverage: number;
}

interface FeatureOccurrence {
  readonly id: number;
  /** Its share of the feature's value. */
  readonly value: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** (1 + ln tf) · weight, by default ln((1 + n) / (1 + df)) + 1 (Salton & Buckley 1988; smoothed as scikit-learn). */
export class TfIdf {
  readonly #hasher: NGramHasher;
  readonly #counts: Float32Array;
  #ids = new Int32Array(1024);
  #values = new Float32Array(1024);
  #found = 0;

  constructor(
    readonly options: NGramOptions,
    readonly table: HashTable,
    readonly weights: Float32Array,
  ) {
    this.#hasher = new NGramHasher(options);
    this.#counts = new Float32Array(table.size);
  }

  /** The n-grams that are in the most texts, weighted by idf. */
  static *fit(texts: readonly string[], options: NGramOptions, maxFeatures: number): Steps<TfIdf> {
    const { hashes, frequencies } = yield* countTexts(texts, options);
    const kept = largestIds(frequencies, maxFeatures);
    const idf = (id: number) => Math.log((1 + texts.length) / (1 + (frequencies[id] ?? 0))) + 1;
    return new TfIdf(options, HashTable.of(kept.map((id) => hashes[id] ?? 0)), Float32Array.from(kept, idf));
  }

  withWeights(weights: Float32Array): TfIdf {
    return new TfIdf(this.options, this.table, weights);
  }

  get size(): number {
    return this.table.size;
  }

  /** Views that the next call overwrites. */
  vector(text: string): SparseVector {
    const { hashes, wordsEnd, end } = this.#hasher.hash(text);
    this.#makeRoom(end);
    this.#found = 0;
    const words = this.#weigh(hashes, 0, wordsEnd, 0);
    const all = this.#weigh(hashes, wordsEnd, end, words);
    const coverage = end === 0 ? 0 : this.#found / end;
    return { ids: this.#ids.subarray(0, all), values: this.#values.subarray(0, all), coverage };
  }

  /** Their values sum to those of {@link TfIdf.vector}. */
  occurrences(text: string): FeatureOccurrence[] {
    const placed = this.#hasher.locate(text);
    this.#makeRoom(placed.end);
    const words = this.#placed(placed, 0, placed.wordsEnd);
    return [...words, ...this.#placed(placed, placed.wordsEnd, placed.end)];
  }

  #placed({ hashes, starts, ends }: PlacedNGrams, first: number, last: number): FeatureOccurrence[] {
    const features = this.#weigh(hashes, first, last, 0);
    const values = new Map<number, number>();
    for (let at = 0; at < features; at += 1) values.set(this.#ids[at] ?? 0, this.#values[at] ?? 0);
    const found: Omit<FeatureOccurrence, 'value'>[] = [];
    const counts = new Map<number, number>();
    for (let at = first; at < last; at += 1) {
      const id = this.table.find(hashes[at] ?? 0);
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

  /** Scaled to length 1. @returns the new end. */
  #weigh(hashes: Int32Array, start: number, end: number, first: number): number {
    const counts = this.#counts;
    const ids = this.#ids;
    const values = this.#values;
    const { weights } = this;
    const found = this.table.findAll(hashes, start, end, ids, first);
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
  /** The number of texts with each hash. */
  readonly frequencies: Int32Array;
}

function* countTexts(texts: readonly string[], options: NGramOptions): Steps<TextFrequencies> {
  const hasher = new NGramHasher(options);
  const table = new HashTable(1 << 16);
  let frequencies = new Int32Array(1 << 16);
  /** The index of the last text with each hash, plus one. */
  let seenIn = new Int32Array(1 << 16);
  for (const [index, text] of texts.entries()) {
    yield;
    const { hashes, end } = hasher.hash(text);
    for (let at = 0; at < end; at += 1) {
      const id = table.add(hashes[at] ?? 0);
      frequencies = withRoom(frequencies, id + 1);
      seenIn = withRoom(seenIn, id + 1);
      if (seenIn[id] === index + 1) continue;
      seenIn[id] = index + 1;
      frequencies[id] = (frequencies[id] ?? 0) + 1;
    }
  }
  return { hashes: table.hashes(), frequencies: frequencies.subarray(0, table.size) };
}
