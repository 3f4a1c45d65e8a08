import { LRUCache } from 'lru-cache';
import { allAtOnce } from '../../pauses.js';
import { combineHash } from '../hash-table.js';
import { COLUMNS, Context, MAX_FEATURES_A_WORD, REACH, templates } from './feature-templates.js';
import { TRAITS, Trait, type WordTraits, wordTraits } from './word-traits.js';

/** The parts of all templates, one template after the other: where their traits are, from a word's row on. */
const partPlaces = Int32Array.from(templates.flat(), ([column, offset]) => offset * COLUMNS + column);
/** Where each template's parts end. */
const partEnds = Int32Array.from(templates, (_, index) => templates.slice(0, index + 1).flat().length);

/** Stands for a word outside the sentence. */
const BOUNDARY = 0x6b43a9b5;
const NO_WORD: WordTraits = { traits: new Int32Array(TRAITS).fill(BOUNDARY), capitalised: false };
/** How many words' traits are cached, in some 10 MB. */
const REMEMBERED_WORDS = 20_000;
/** Longer sentences have a table of their own, so that one huge text doesn't take up memory for good. */
export const MAX_KEPT_WORDS = 4096;
/** Words whose traits are looked up in a step, of some milliseconds. */
const WORDS_A_STEP = 1000;

/** The traits of a sentence's words, a row each; the table of a short sentence is overwritten by the next one. */
export interface SentenceTraits {
  readonly table: Int32Array;
}

/** The features of a sentence's words as 32-bit hashes. */
export interface HashedFeatures {
  /** What comes after the last start is left over from earlier sentences. */
  readonly hashes: Int32Array;
  /** Where each word's features start; one more entry at the end. [words + 1] */
  readonly starts: Int32Array;
}

/** Hashes the features of words in their sentence; reuses its buffers and caches the traits of words. */
export class WordFeatureHasher {
  readonly #remembered = new LRUCache<string, WordTraits>({ max: REMEMBERED_WORDS });
  #table = new Int32Array(0);
  #hashes = new Int32Array(0);

  /** The features of all words. The hashes are overwritten by the next call. */
  hash(words: readonly string[]): HashedFeatures {
    return this.hashesOf(allAtOnce(this.read(words)), 0, words.length);
  }

  /** The features of `count` words from `first` on. The hashes are overwritten by the next call. */
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

  /** The traits of a sentence, in a single step unless it is longer than {@link MAX_KEPT_WORDS}. */
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

  /** @returns the new end of the hashes. */
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

/** One row of traits for each word, between rows that stand for what is outside the sentence. */
function fillTable(table: Int32Array, words: readonly WordTraits[]): void {
  for (let row = 0; row < words.length + 2 * REACH; row += 1) {
    copyTraits(table, (words[row - REACH] ?? NO_WORD).traits, row * COLUMNS);
  }
  fillPlaces(table, words);
  fillRuns(table, words);
}

/** As `set`, which is slow for so few. */
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
