import { combineHash } from './hash-table.js';

/** Which n-grams of a text are features. */
export interface NGramOptions {
  /** Words are compared in lower case. */
  readonly lowercase: boolean;
  /** Words and pairs of consecutive words. */
  readonly words: boolean;
  /** Triples of consecutive words too, if words are features. Default false. */
  readonly triples?: boolean | undefined;
  /** Lengths of the character n-grams, which stay inside a word and the spaces around it; null for none. */
  readonly characters: { readonly shortest: number; readonly longest: number } | null;
}

/** The n-grams of one text as 32-bit hashes, repeated ones as often as they occur. */
interface NGramHashes {
  /**
   * First the word n-grams, then the character n-grams; what comes after `end` is left over from earlier
   * texts.
   */
  readonly hashes: Int32Array;
  /** Where the character n-grams start. */
  readonly wordsEnd: number;
  readonly end: number;
}

/** N-grams with the places where they stand, in code points of the text as it is read; one may be -1, or the text's length. */
export interface PlacedNGrams extends NGramHashes {
  /** [n-grams] */
  readonly starts: Int32Array;
  /** Exclusive. [n-grams] */
  readonly ends: Int32Array;
}

/** Longer buffers are released at the next text, so that one huge text doesn't take up memory for good. */
const MAX_KEPT_HASHES = 1 << 17;
const MAX_KEPT_CODE_POINTS = 1 << 15;
const INITIAL_HASHES = 4096;
const INITIAL_CODE_POINTS = 256;

const SPACE = 0x20;
const WORD_SEED = 0x2f0b4c47;
const PAIR_SEED = 0x6b43a9b5;
const TRIPLE_SEED = 0x3c6ef372;
const CHARACTER_SEED = 0x1b56c4e9;

/** Hashes n-grams into buffers that it reuses, so that a text costs no allocation. */
export class NGramHasher {
  #codePoints = new Int32Array(INITIAL_CODE_POINTS);
  #hashes = new Int32Array(INITIAL_HASHES);
  #end = 0;
  /** Where places are written; undefined while they are not asked for. */
  #places: { readonly starts: Int32Array; readonly ends: Int32Array } | undefined;

  constructor(readonly options: NGramOptions) {}

  /** The result is overwritten by the next call. */
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

  /** As {@link NGramHasher.hash}, with the place of each n-gram. Takes twice as long. */
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

  /** Reads the code points of the text, with a space before and after. @returns how many these are. */
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

  /** Every n-gram of the code points in [start, end), whose first and last one count as spaces. */
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
    if (this.#hashes.length >= count) return;
    const grown = new Int32Array(2 * count);
    grown.set(this.#hashes.subarray(0, this.#end));
    this.#hashes = grown;
  }
}

function isSpace(codePoint: number | undefined): boolean {
  return codePoint === undefined || characterKind(codePoint) === CharacterKind.space;
}

/** What a character counts as in n-grams. */
export const CharacterKind = { space: 1, word: 2, symbol: 3, other: 4 } as const;
export type CharacterKind = (typeof CharacterKind)[keyof typeof CharacterKind];

const space = /\s/u;
const word = /[\p{L}\p{N}\p{M}_]/u;
/** Marks that carry meaning of their own: currency signs, emoji, and three of the punctuation. */
const symbol = /[\p{S}!?%]/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const letter = /\p{L}/u;

/** The kinds of the first 65,536 code points, filled in on first use; 0 is unknown. */
const known = new Uint8Array(0x10000);

/** @param codePoint a Unicode code point. */
export function characterKind(codePoint: number): number {
  if (codePoint >= known.length) return classify(codePoint);
  const kind = known[codePoint];
  if (kind) return kind;
  const found = classify(codePoint);
  known[codePoint] = found;
  return found;
}

function classify(codePoint: number): CharacterKind {
  const character = String.fromCodePoint(codePoint);
  if (space.test(character)) return CharacterKind.space;
  if (word.test(character)) return CharacterKind.word;
  return symbol.test(character) ? CharacterKind.symbol : CharacterKind.other;
}

/** The letters of this many texts decide whether spaces separate words. */
const TEXTS_TO_LOOK_AT = 1000;

/** Whether most letters belong to scripts that are written without spaces between words. */
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
