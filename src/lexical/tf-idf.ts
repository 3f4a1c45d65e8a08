import type { AnswerKernels } from '../engine/index.js';
import type { Steps } from '../system/index.js';
import { partsOf } from '../text/index.js';
import { ExpertMemory, type StoredFloats } from './expert-file.js';
import {
  ascii,
  combineHash,
  HashTable,
  hashTableCounts,
  largestIds,
  rememberedByCodePoint,
  withRoom,
} from './hash-table.js';

export interface NGramOptions {
  readonly lowercase: boolean;
  /** Words and pairs of consecutive words. */
  readonly words: boolean;
  /** Only with `words`. Default false. */
  readonly triples?: boolean | undefined;
  /** Inside a word and the spaces around it; null for none. */
  readonly characters: { readonly shortest: number; readonly longest: number } | null;
  /** Whether texts are two that were joined. Default false. */
  readonly pairs?: boolean | undefined;
}

/** 32-bit hashes, repeated ones as often as they occur. */
interface NGramHashes {
  /** What comes after `end` is left over from earlier texts. */
  readonly hashes: Int32Array;
  /** Places in code points of the text as it is read; one may be -1, or the text's length. [n-grams] */
  readonly starts: Int32Array;
  /** Exclusive. [n-grams] */
  readonly ends: Int32Array;
  /** Where the character n-grams start. */
  readonly wordsEnd: number;
  readonly end: number;
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
const SIDE_SEEDS = [0x51ed270b, 0x2545f491] as const;
const SHARED_SEED = 0x7feb352d;
const UNSHARED_SEED = 0x45d9f3b3;
const OVERLAP_SEED = 0x119de1f3;
/** The overlap of two texts is rounded to this many steps. */
const OVERLAP_STEPS = 8;

/** Reuses its buffers, so that a text costs no allocation. */
export class NGramHasher {
  /** With a space before and after the text, and plain spaces for all others. */
  #codePoints = new Int32Array(INITIAL_CODE_POINTS);
  #kinds = new Uint8Array(INITIAL_CODE_POINTS);
  #hashes = new Int32Array(0);
  #starts = new Int32Array(0);
  #ends = new Int32Array(0);
  #end = 0;

  constructor(readonly options: NGramOptions) {}

  /** Overwritten by the next call. Those of pairs have no places. */
  hash(text: string): NGramHashes {
    return this.options.pairs ? this.#hashPair(text) : this.#hashText(text);
  }

  /**
   * Each n-gram with the side that it is on and, once, whether both texts have it; then the share of n-grams that both have, as
   * how many eighths it reaches.
   */
  #hashPair(text: string): NGramHashes {
    const [first, second] = partsOf(text).map((part) => {
      const { hashes, wordsEnd, end } = this.#hashText(part);
      return { words: hashes.slice(0, wordsEnd), characters: hashes.slice(wordsEnd, end) };
    });
    if (first === undefined || second === undefined) throw new TypeError('a pair has two texts');
    const words = pairHashes(first.words, second.words, WORD_SEED);
    const characters = pairHashes(first.characters, second.characters, CHARACTER_SEED);
    const hashes = Int32Array.of(...words, ...characters);
    const starts = new Int32Array(hashes.length);
    return { hashes, starts, ends: starts, wordsEnd: words.length, end: hashes.length };
  }

  #hashText(text: string): NGramHashes {
    const { lowercase, words, triples = false, characters } = this.options;
    const length = this.#read(lowercase ? text.toLowerCase() : text);
    const lengths = characters === null ? 0 : characters.longest - characters.shortest + 1;
    // Each character may be a word, or a word and the space before the next one.
    this.#makeRoom((words ? 3 : 0) * length + 2 * lengths * length);
    this.#end = 0;
    if (words) this.#hashWords(length, triples);
    const wordsEnd = this.#end;
    if (characters) this.#hashCharacters(length, characters.shortest, characters.longest);
    return { hashes: this.#hashes, starts: this.#starts, ends: this.#ends, wordsEnd, end: this.#end };
  }

  #makeRoom(count: number): void {
    if (this.#hashes.length >= count && this.#hashes.length <= Math.max(MAX_KEPT_HASHES, 2 * count)) return;
    const size = Math.max(INITIAL_HASHES, 2 * count);
    this.#hashes = new Int32Array(size);
    this.#starts = new Int32Array(size);
    this.#ends = new Int32Array(size);
  }

  /** @returns how many code points. */
  #read(text: string): number {
    const most = text.length + 2;
    if (this.#codePoints.length < most || this.#codePoints.length > Math.max(MAX_KEPT_CODE_POINTS, 2 * most)) {
      this.#codePoints = new Int32Array(Math.max(INITIAL_CODE_POINTS, 2 * most));
      this.#kinds = new Uint8Array(this.#codePoints.length);
    }
    const codePoints = this.#codePoints;
    const kinds = this.#kinds;
    codePoints[0] = SPACE;
    kinds[0] = CharacterKind.space;
    let length = 1;
    for (let at = 0; at < text.length; at += 1) {
      const codePoint = text.codePointAt(at) ?? SPACE;
      if (codePoint > 0xffff) at += 1;
      const kind = characterKind(codePoint);
      codePoints[length] = kind === CharacterKind.space ? SPACE : codePoint;
      kinds[length] = kind;
      length += 1;
    }
    codePoints[length] = SPACE;
    kinds[length] = CharacterKind.space;
    return length + 1;
  }

  /** A word is a run of letters, digits, marks and underscores; a symbol is a word of its own. */
  #hashWords(length: number, triples: boolean): void {
    const codePoints = this.#codePoints;
    const kinds = this.#kinds;
    let beforePrevious = 0;
    let previous = 0;
    let startBeforePrevious = 0;
    let startOfPrevious = 0;
    let at = 0;
    while (at < length) {
      const start = at;
      const kind = kinds[at] ?? 0;
      let hash = WORD_SEED;
      if (kind === CharacterKind.word) {
        for (; kinds[at] === CharacterKind.word; at += 1) hash = combineHash(hash, codePoints[at] ?? SPACE);
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

  /** @param start and @param end in the code points that were read, the space before the text being the first. */
  #push(hash: number, start: number, end: number): void {
    this.#hashes[this.#end] = hash;
    this.#starts[this.#end] = start - 1;
    this.#ends[this.#end] = end - 1;
    this.#end += 1;
  }

  /** As scikit-learn's `char_wb`: between spaces, with one space at each end. One loop, without calls. */
  #hashCharacters(length: number, shortest: number, longest: number): void {
    const codePoints = this.#codePoints;
    const kinds = this.#kinds;
    const hashes = this.#hashes;
    const starts = this.#starts;
    const ends = this.#ends;
    let to = this.#end;
    let start = 0;
    while (start < length - 1) {
      let space = start + 1;
      while (kinds[space] !== CharacterKind.space) space += 1;
      // Where two spaces follow each other, there is no word between them.
      const end = space === start + 1 ? start : space + 1;
      for (let first = start; first < end; first += 1) {
        const last = Math.min(end, first + longest);
        let hash = CHARACTER_SEED;
        for (let at = first; at < last; at += 1) {
          hash = combineHash(hash, codePoints[at] ?? SPACE);
          if (at - first + 1 < shortest) continue;
          hashes[to] = hash;
          starts[to] = first - 1;
          ends[to] = at;
          to += 1;
        }
      }
      start = space;
    }
    this.#end = to;
  }
}

function pairHashes(first: Int32Array, second: Int32Array, kind: number): number[] {
  if (first.length + second.length === 0) return [];
  const sides = [first, second].map((hashes, side) => {
    const seed = SIDE_SEEDS[side] ?? 0;
    return Array.from(hashes, (hash) => combineHash(seed, hash));
  });
  const [one, other] = [new Set(first), new Set(second)];
  const all = new Set([...one, ...other]);
  let shared = 0;
  const marked = Array.from(all, (hash) => {
    const isShared = one.has(hash) && other.has(hash);
    if (isShared) shared += 1;
    return combineHash(isShared ? SHARED_SEED : UNSHARED_SEED, hash);
  });
  const steps = Math.floor((OVERLAP_STEPS * shared) / all.size);
  const overlap = Array.from({ length: steps }, (_, step) => combineHash(combineHash(OVERLAP_SEED, kind), step));
  return [...sides.flat(), ...marked, ...overlap];
}

export const CharacterKind = { space: 1, word: 2, symbol: 3, other: 4 } as const;
const space = /\s/u;
const word = /[\p{L}\p{N}\p{M}_]/u;
/** Marks that carry meaning of their own. */
const symbol = /[\p{S}!?%]/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const letter = /\p{L}/u;

const asciiKinds = {
  [CharacterKind.space]: ' \t\n\v\f\r',
  [CharacterKind.word]: `${ascii.lower}${ascii.upper}${ascii.digits}_`,
  [CharacterKind.other]: ascii.punctuation.replace(/[!?%_]/g, ''),
  [CharacterKind.symbol]: `${ascii.symbols}!?%`,
};

export const characterKind = rememberedByCodePoint((character) => {
  if (space.test(character)) return CharacterKind.space;
  if (word.test(character)) return CharacterKind.word;
  return symbol.test(character) ? CharacterKind.symbol : CharacterKind.other;
}, asciiKinds);

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

interface SparseVector {
  readonly ids: Int32Array;
  readonly values: Float32Array;
}

interface FeatureOccurrence {
  readonly id: number;
  /** Its share of the feature's value. */
  readonly value: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** How many hashes are looked up at a time. */
const HASHES_AT_ONCE = 4096;

/** (1 + ln tf) · weight, by default ln((1 + n) / (1 + df)) + 1 (Salton & Buckley 1988; smoothed as scikit-learn). */
export class TfIdf {
  readonly table: HashTable;
  readonly weights: Float32Array;
  /** Of the last text: see {@link TfIdf.weigh}. */
  readonly ids: Int32Array;
  readonly values: Float32Array;
  readonly #hasher: NGramHasher;
  readonly #given: Int32Array;
  readonly #features: ReturnType<AnswerKernels['featureWeighing']>;
  #coverage = 0;
  #found = 0;

  /** @param memory has room for {@link TfIdf.counts} */
  constructor(
    readonly options: NGramOptions,
    hashes: Int32Array,
    weights: StoredFloats,
    memory = new ExpertMemory(TfIdf.counts(hashes.length)),
  ) {
    const { arena, kernels } = memory;
    this.#hasher = new NGramHasher(options);
    this.table = HashTable.of(hashes, arena, kernels);
    this.weights = memory.floats(weights);
    this.#given = arena.int32(HASHES_AT_ONCE);
    this.ids = arena.int32(roomForIds(hashes.length));
    this.values = arena.float32(roomForIds(hashes.length));
    this.#features = kernels.featureWeighing({
      table: this.table.slots,
      given: this.#given,
      starts: arena.int32(HASHES_AT_ONCE),
      counts: arena.int32(hashes.length),
      weights: this.weights,
      ids: this.ids,
      values: this.values,
    });
  }

  static counts(features: number): number[] {
    const ids = roomForIds(features);
    return [...hashTableCounts(features), features, HASHES_AT_ONCE, ids, ids, HASHES_AT_ONCE, features];
  }

  get size(): number {
    return this.table.size;
  }

  /** The share of the last text's n-grams that are features. */
  get coverage(): number {
    return this.#coverage;
  }

  /** Views that the next call overwrites. */
  vector(text: string): SparseVector {
    const count = this.weigh(text);
    return { ids: this.ids.subarray(0, count), values: this.values.subarray(0, count) };
  }

  /** @returns how many ids and values the text has. */
  weigh(text: string): number {
    const { hashes, wordsEnd, end } = this.#hasher.hash(text);
    this.#found = 0;
    const words = this.#weigh(hashes, 0, wordsEnd, 0);
    const all = this.#weigh(hashes, wordsEnd, end, words);
    this.#coverage = end === 0 ? 0 : this.#found / end;
    return all;
  }

  /** Each feature once, from `first` on, scaled to length 1. @returns their end. */
  #weigh(hashes: Int32Array, start: number, end: number, first: number): number {
    let last = first;
    for (let from = start; from < end; from += HASHES_AT_ONCE) {
      const count = Math.min(HASHES_AT_ONCE, end - from);
      this.#given.set(hashes.subarray(from, from + count));
      last = this.#features.count(count, last);
    }
    this.#found += this.#features.weigh(first, last);
    return last;
  }

  /** Their values sum to those of {@link TfIdf.vector}. */
  occurrences(text: string): FeatureOccurrence[] {
    const placed = this.#hasher.hash(text);
    const words = this.#placed(placed, 0, placed.wordsEnd);
    return [...words, ...this.#placed(placed, placed.wordsEnd, placed.end)];
  }

  #placed({ hashes, starts, ends }: NGramHashes, first: number, last: number): FeatureOccurrence[] {
    const features = this.#weigh(hashes, first, last, 0);
    const values = new Map<number, number>();
    for (let at = 0; at < features; at += 1) values.set(this.ids[at] ?? 0, this.values[at] ?? 0);
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
}

/** The n-grams that are in the most texts, weighted by idf. @param weights how often each text counts. Default: once */
export function* fitTfIdf(
  texts: readonly string[],
  options: NGramOptions,
  maxFeatures: number,
  weights?: Float32Array,
): Steps<TfIdf> {
  const { hashes, frequencies } = yield* countTexts(texts, options, weights);
  const kept = largestIds(frequencies, maxFeatures);
  const total = weights?.reduce((sum, each) => sum + each, 0) ?? texts.length;
  const idf = (id: number) => Math.log((1 + total) / (1 + (frequencies[id] ?? 0))) + 1;
  return new TfIdf(
    options,
    kept.map((id) => hashes[id] ?? 0),
    Float32Array.from(kept, idf),
  );
}

/** Any feature may be among the n-grams of words and among those of characters. */
const roomForIds = (features: number): number => 2 * features + HASHES_AT_ONCE;

interface TextFrequencies {
  readonly hashes: Int32Array;
  /** The number of texts with each hash, or the sum of their weights. */
  readonly frequencies: Int32Array | Float32Array;
}

/** How many of the texts have each n-gram. */
export function* countTexts(
  texts: readonly string[],
  options: NGramOptions,
  weights?: Float32Array,
): Steps<TextFrequencies> {
  const hasher = new NGramHasher(options);
  const table = new HashTable(1 << 16);
  let frequencies: Int32Array | Float32Array = weights ? new Float32Array(1 << 16) : new Int32Array(1 << 16);
  /** The index of the last text with each hash, plus one. */
  let seenIn = new Int32Array(1 << 16);
  for (const [index, text] of texts.entries()) {
    yield;
    const { hashes, end } = hasher.hash(text);
    for (let at = 0; at < end; at += 1) {
      const id = table.add(hashes[at] ?? 0);
      if (frequencies.length <= id) frequencies = withRoom<Int32Array | Float32Array>(frequencies, id + 1);
      seenIn = withRoom(seenIn, id + 1);
      if (seenIn[id] === index + 1) continue;
      seenIn[id] = index + 1;
      frequencies[id] = (frequencies[id] ?? 0) + (weights?.[index] ?? 1);
    }
  }
  return { hashes: table.hashes(), frequencies: frequencies.subarray(0, table.size) };
}
