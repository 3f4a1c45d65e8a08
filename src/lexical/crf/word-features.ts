import { runToEnd } from '../../system/index.js';
import { ascii, combineHash, RecentEntries, rememberedByCodePoint } from '../hash-table.js';

/** Letters that are neither upper nor lower case are classed by script. */
export const CharacterClass = {
  upper: 1,
  lower: 2,
  digit: 3,
  han: 4,
  hiragana: 5,
  katakana: 6,
  letter: 7,
  mark: 8,
  punctuation: 9,
  symbol: 10,
  other: 11,
} as const;

/** The first pattern that matches decides. */
export const patterns: readonly (readonly [RegExp, number])[] = [
  [/[\p{Lu}\p{Lt}]/u, CharacterClass.upper],
  [/\p{Ll}/u, CharacterClass.lower],
  [/\p{N}/u, CharacterClass.digit],
  [/\p{Script=Han}/u, CharacterClass.han],
  [/\p{Script=Hiragana}/u, CharacterClass.hiragana],
  [/[\p{Script=Katakana}ー]/u, CharacterClass.katakana],
  [/\p{L}/u, CharacterClass.letter],
  [/\p{M}/u, CharacterClass.mark],
  [/\p{P}/u, CharacterClass.punctuation],
  [/\p{S}/u, CharacterClass.symbol],
];

export const characterClass = rememberedByCodePoint(
  (character) => patterns.find(([pattern]) => pattern.test(character))?.[1] ?? CharacterClass.other,
  {
    [CharacterClass.upper]: ascii.upper,
    [CharacterClass.lower]: ascii.lower,
    [CharacterClass.digit]: ascii.digits,
    [CharacterClass.punctuation]: ascii.punctuation,
    [CharacterClass.symbol]: ascii.symbols,
  },
);

/** Columns of 32-bit hashes; 0 if the word has none. */
const Trait = {
  word: 0,
  lower: 1,
  shape: 2,
  foldedShape: 3,
  classes: 4,
  prefix1: 5,
  prefix2: 6,
  prefix3: 7,
  prefix4: 8,
  suffix1: 9,
  suffix2: 10,
  suffix3: 11,
  suffix4: 12,
} as const;

const TRAITS = 13;
const LONGEST_AFFIX = 4;
const SEED = 0x2f0b4c47;

interface WordTraits {
  /** Hashes by {@link Trait}. [TRAITS] */
  readonly traits: Int32Array;
  readonly capitalised: boolean;
}

/** Enough for nearly all words; a longer buffer is released at the next word. */
const KEPT_CODE_POINTS = 256;
/** The code points of a word. */
let codePoints = new Int32Array(KEPT_CODE_POINTS);

/** @returns how many. */
function readCodePoints(text: string): number {
  if (text.length > codePoints.length || codePoints.length > KEPT_CODE_POINTS) {
    codePoints = new Int32Array(Math.max(KEPT_CODE_POINTS, text.length));
  }
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const codePoint = text.codePointAt(at) ?? 0;
    if (codePoint > 0xffff) at += 1;
    codePoints[length] = codePoint;
    length += 1;
  }
  return length;
}

/** Affixes are those of the lower-cased word, in code points; a short word is its own affix. */
export function wordTraits(word: string): WordTraits {
  const traits = new Int32Array(TRAITS);
  const length = readCodePoints(word);
  let hash = SEED;
  let shape = SEED;
  let foldedShape = SEED;
  let classes = 0;
  let previous = 0;
  for (let at = 0; at < length; at += 1) {
    const codePoint = codePoints[at] ?? 0;
    const kind = characterClass(codePoint);
    hash = combineHash(hash, codePoint);
    shape = combineHash(shape, kind);
    if (kind !== previous) foldedShape = combineHash(foldedShape, kind);
    classes |= 1 << kind;
    previous = kind;
  }
  const capitalised = length > 0 && characterClass(codePoints[0] ?? 0) === CharacterClass.upper;
  traits[Trait.word] = hash;
  traits[Trait.shape] = shape;
  traits[Trait.foldedShape] = foldedShape;
  traits[Trait.classes] = combineHash(SEED, classes);
  const lowerLength = readCodePoints(word.toLowerCase());
  let lower = SEED;
  for (let at = 0; at < lowerLength; at += 1) lower = combineHash(lower, codePoints[at] ?? 0);
  traits[Trait.lower] = lower;
  const longest = Math.min(LONGEST_AFFIX, lowerLength);
  let prefix = SEED;
  let suffix = SEED;
  for (let affix = 1; affix <= longest; affix += 1) {
    prefix = combineHash(prefix, codePoints[affix - 1] ?? 0);
    suffix = combineHash(suffix, codePoints[lowerLength - affix] ?? 0);
    traits[Trait.prefix1 + affix - 1] = prefix;
    traits[Trait.suffix1 + affix - 1] = suffix;
  }
  return { traits, capitalised };
}

/** The columns after {@link Trait}. */
const Context = {
  /** The run of capitalized words that the word belongs to. */
  runFirst: TRAITS,
  runLast: TRAITS + 1,
  runBefore: TRAITS + 2,
  runAfter: TRAITS + 3,
  runPlace: TRAITS + 4,
  /** Each counted up to 3. */
  place: TRAITS + 5,
  sentenceLength: TRAITS + 6,
  sentenceFirst: TRAITS + 7,
  sentenceLast: TRAITS + 8,
} as const;
const COLUMNS = TRAITS + 9;
const REACH = 2;

/** 0 is the word itself, −1 the one before it. */
type Part = readonly [column: number, offset: number];

const single = (column: number, offsets: readonly number[] = [0]): Part[][] =>
  offsets.map((offset) => [[column, offset]]);
const joint = (...parts: Part[]): Part[][] => [parts];

const {
  word,
  lower,
  shape,
  foldedShape,
  classes,
  prefix1,
  prefix2,
  prefix3,
  prefix4,
  suffix1,
  suffix2,
  suffix3,
  suffix4,
} = Trait;
const { runFirst, runLast, runBefore, runAfter, runPlace, place, sentenceLength, sentenceFirst, sentenceLast } =
  Context;

/** The position in this list is part of the hash: a change of order needs a new version in crf-expert.ts. */
const templates: readonly (readonly Part[])[] = [
  single(word),
  single(lower, [-2, -1, 0, 1, 2]),
  single(shape, [-1, 0, 1]),
  single(foldedShape, [-2, -1, 0, 1, 2]),
  single(classes),
  single(prefix1),
  single(prefix2),
  single(prefix3, [-1, 0, 1]),
  single(prefix4),
  single(suffix1),
  single(suffix2),
  single(suffix3, [-2, -1, 0, 1, 2]),
  single(suffix4),
  joint([lower, -1], [lower, 0]),
  joint([lower, 0], [lower, 1]),
  joint([lower, -2], [lower, -1]),
  joint([lower, 1], [lower, 2]),
  joint([lower, -1], [lower, 1]),
  joint([lower, -1], [foldedShape, 0]),
  joint([foldedShape, 0], [lower, 1]),
  joint([foldedShape, -1], [foldedShape, 0]),
  joint([foldedShape, 0], [foldedShape, 1]),
  joint([foldedShape, -1], [foldedShape, 0], [foldedShape, 1]),
  joint([foldedShape, -2], [foldedShape, -1], [foldedShape, 0]),
  joint([foldedShape, 0], [foldedShape, 1], [foldedShape, 2]),
  joint([suffix3, -1], [suffix3, 0]),
  joint([suffix3, 0], [suffix3, 1]),
  joint([suffix3, 0], [foldedShape, 0]),
  single(runFirst),
  single(runLast),
  single(runBefore),
  single(runAfter),
  single(runPlace),
  joint([runPlace, 0], [runLast, 0]),
  joint([runBefore, 0], [runAfter, 0]),
  single(place),
  joint([place, 0], [foldedShape, 0]),
  single(sentenceLength),
  joint([sentenceLength, 0], [place, 0]),
  single(sentenceFirst),
  single(sentenceLast),
].flat();

export const MAX_FEATURES_A_WORD = templates.length;

/** Positions relative to a word's row. */
const partPlaces = Int32Array.from(templates.flat(), ([column, offset]) => offset * COLUMNS + column);
const partEnds = Int32Array.from(templates, (_, index) => templates.slice(0, index + 1).flat().length);

const BOUNDARY = 0x6b43a9b5;
const NO_WORD: WordTraits = { traits: new Int32Array(TRAITS).fill(BOUNDARY), capitalised: false };
/** This takes some 10 MB. */
const REMEMBERED_WORDS = 20_000;
/** Longer sentences have a table of their own. */
export const MAX_KEPT_WORDS = 4096;
/** A step of some milliseconds. */
const WORDS_A_STEP = 1000;

/** A row each; the table of a short sentence is overwritten by the next one. */
interface SentenceTraits {
  readonly table: Int32Array;
}

export interface HashedFeatures {
  /** What comes after the last start is left over from earlier sentences. */
  readonly hashes: Int32Array;
  /** One more at the end. [words + 1] */
  readonly starts: Int32Array;
}

export class WordFeatureHasher {
  readonly #remembered = new RecentEntries<string, WordTraits>(REMEMBERED_WORDS);
  #table = new Int32Array(0);
  #hashes = new Int32Array(0);

  /** Overwritten by the next call. */
  hash(words: readonly string[]): HashedFeatures {
    return this.hashesOf(runToEnd(this.read(words)), 0, words.length);
  }

  hashesOf({ table }: SentenceTraits, first: number, count: number): HashedFeatures {
    if (this.#hashes.length < count * MAX_FEATURES_A_WORD) {
      this.#hashes = new Int32Array(2 * count * MAX_FEATURES_A_WORD);
    }
    const starts = new Int32Array(count + 1);
    let end = 0;
    for (let word = 0; word < count; word += 1) {
      end = this.#hashWord(table, (first + word + REACH) * COLUMNS, end);
      starts[word + 1] = end;
    }
    return { hashes: this.#hashes, starts };
  }

  /** Takes a single step unless the sentence is longer than {@link MAX_KEPT_WORDS}. */
  *read(words: readonly string[]): Generator<undefined, SentenceTraits> {
    const isLong = words.length > MAX_KEPT_WORDS;
    const all: WordTraits[] = [];
    for (const word of words) {
      all.push(this.#traitsOf(word));
      if (isLong && all.length % WORDS_A_STEP === 0) yield;
    }
    const table = this.#tableFor(words.length);
    fillTable(table, all);
    return { table };
  }

  #tableFor(words: number): Int32Array {
    const size = (words + 2 * REACH) * COLUMNS;
    if (words > MAX_KEPT_WORDS) return new Int32Array(size);
    if (this.#table.length < size) this.#table = new Int32Array(2 * size);
    return this.#table.fill(0, 0, size);
  }

  /** @returns the new end. */
  #hashWord(table: Int32Array, row: number, first: number): number {
    const hashes = this.#hashes;
    let end = first;
    let part = 0;
    for (let index = 0; index < MAX_FEATURES_A_WORD; index += 1) {
      const lastPart = partEnds[index] ?? 0;
      let hash = index + 1;
      let whole = true;
      for (; part < lastPart; part += 1) {
        const trait = table[row + (partPlaces[part] ?? 0)] ?? 0;
        if (trait === 0) whole = false;
        hash = combineHash(hash, trait);
      }
      if (!whole) continue;
      hashes[end] = hash;
      end += 1;
    }
    return end;
  }

  #traitsOf(word: string): WordTraits {
    const remembered = this.#remembered.get(word);
    if (remembered) return remembered;
    const traits = wordTraits(word);
    this.#remembered.set(word, traits);
    return traits;
  }
}

/** Adds rows for what is outside the sentence. */
function fillTable(table: Int32Array, words: readonly WordTraits[]): void {
  for (let row = 0; row < words.length + 2 * REACH; row += 1) {
    copyTraits(table, (words[row - REACH] ?? NO_WORD).traits, row * COLUMNS);
  }
  fillPlaces(table, words);
  fillRuns(table, words);
}

/** `set` is slow for so few. */
function copyTraits(table: Int32Array, traits: Int32Array, row: number): void {
  for (let trait = 0; trait < TRAITS; trait += 1) table[row + trait] = traits[trait] ?? 0;
}

function fillPlaces(table: Int32Array, words: readonly WordTraits[]): void {
  const first = lowerOf(words[0]);
  const last = lowerOf(words.at(-1));
  const length = combineHash(BOUNDARY, lengthClass(words.length));
  for (const word of words.keys()) {
    const row = (word + REACH) * COLUMNS;
    table[row + Context.place] = placeHash(word, words.length - 1 - word);
    table[row + Context.sentenceLength] = length;
    table[row + Context.sentenceFirst] = first;
    table[row + Context.sentenceLast] = last;
  }
}

function fillRuns(table: Int32Array, words: readonly WordTraits[]): void {
  let start = 0;
  while (start < words.length) {
    let end = start;
    while (words[end]?.capitalised) end += 1;
    for (let word = start; word < end; word += 1) {
      const row = (word + REACH) * COLUMNS;
      table[row + Context.runFirst] = lowerOf(words[start]);
      table[row + Context.runLast] = lowerOf(words[end - 1]);
      table[row + Context.runBefore] = lowerOf(words[start - 1]);
      table[row + Context.runAfter] = lowerOf(words[end]);
      table[row + Context.runPlace] = placeHash(word - start, end - 1 - word);
    }
    start = end + 1;
  }
}

const lowerOf = (word: WordTraits = NO_WORD): number => word.traits[Trait.lower] ?? 0;

/** Words farther away count as this far. */
const FARTHEST = 3;

function placeHash(before: number, after: number): number {
  return combineHash(combineHash(BOUNDARY, Math.min(before, FARTHEST)), Math.min(after, FARTHEST));
}

/** Short sentences by their number of words, longer ones by its power of two. */
function lengthClass(words: number): number {
  return words < 8 ? words : 8 + Math.floor(Math.log2(words));
}
