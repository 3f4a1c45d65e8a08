import { runToEnd, type Steps } from '../system/index.js';
import { PriorityQueue } from './priority-queue.js';
import {
  type BertTokenizerJson,
  CONTINUING_PREFIX,
  keepsMeaningWithoutAccents,
  TRAINED_SPECIAL_TOKENS,
  wordPieceTokenizerJson,
} from './tokenizer-json.js';
import { WordReader } from './word-piece-tokenizer.js';

/** Learns a WordPiece vocabulary as Hugging Face's WordPieceTrainer does. */

interface WordPieceTrainingOptions {
  /** Special tokens included. */
  readonly vocabularySize: number;
  readonly lowercase: boolean;
  /** The language's English name. Default `english`. */
  readonly language?: string;
  /** How often a pair must occur to be merged. Default 2. */
  readonly minFrequency?: number;
  /** The most frequent characters that get pieces. Default 6,000. */
  readonly limitAlphabet?: number;
}

/** Independent of the texts' order; at most half is alphabet. @throws RangeError if only special tokens have room. */
export function trainWordPiece(texts: Iterable<string>, options: WordPieceTrainingOptions): BertTokenizerJson {
  return runToEnd(wordPieceSteps(texts, options));
}

export function* wordPieceSteps(texts: Iterable<string>, options: WordPieceTrainingOptions): Steps<BertTokenizerJson> {
  const { vocabularySize, lowercase, language = 'english', minFrequency = 2, limitAlphabet = 6000 } = options;
  const specialTokens = Object.keys(TRAINED_SPECIAL_TOKENS);
  const room = vocabularySize - specialTokens.length;
  if (!(room >= 2)) throw new RangeError(`\`vocabularySize\` is ${vocabularySize}; it must be 7 or more`);

  const stripAccents = keepsMeaningWithoutAccents(language) ? null : false;
  const words = yield* countWords(texts, lowercase, stripAccents ?? lowercase);
  const alphabet = yield* mostFrequentCharacters(words, Math.min(limitAlphabet, Math.floor(room / 2)));
  const pieces = [...specialTokens, ...alphabet];
  const segmented = yield* segment(words, pieces);
  yield* mergePairs(pieces, segmented, { vocabularySize, minFrequency, continuingPrefix: CONTINUING_PREFIX });
  return wordPieceTokenizerJson(pieces, { lowercase, stripAccents });
}

function* countWords(texts: Iterable<string>, lowercase: boolean, stripAccents: boolean): Steps<Map<string, number>> {
  const reader = new WordReader({ cleanText: true, handleChineseCharacters: true, stripAccents, lowercase });
  const counts = new Map<string, number>();
  for (const text of texts) {
    yield;
    reader.read(text);
    while (reader.next()) {
      const word = reader.word();
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return counts;
}

/** In the order of code points; among equals, lower code points are kept. */
function* mostFrequentCharacters(words: ReadonlyMap<string, number>, limit: number): Steps<string[]> {
  const counts = new Map<string, number>();
  for (const [word, count] of words) {
    yield;
    for (const character of word) counts.set(character, (counts.get(character) ?? 0) + count);
  }
  return [...counts]
    .sort(([a, countA], [b, countB]) => countB - countA || byCodePoints(a, b))
    .slice(0, limit)
    .map(([character]) => character)
    .sort(byCodePoints);
}

/** Differs from the order of UTF-16 above U+D7FF. */
function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** One piece per character; those outside the alphabet are left out. Adds characters inside words to `pieces`. */
function* segment(words: ReadonlyMap<string, number>, pieces: string[]): Steps<SegmentedWords> {
  const idOf = new Map(pieces.map((piece, id) => [piece, id]));
  const inside = new Set<string>();
  for (const word of words.keys()) {
    yield;
    for (const character of Array.from(word).slice(1)) if (idOf.has(character)) inside.add(character);
  }
  for (const character of [...inside].sort(byCodePoints)) {
    idOf.set(CONTINUING_PREFIX + character, pieces.push(CONTINUING_PREFIX + character) - 1);
  }
  // Sorted, so that the result doesn't depend on the order of the texts.
  const sorted = [...words].sort(([a], [b]) => (a < b ? -1 : 1));
  const symbols: number[][] = [];
  for (const [word] of sorted) {
    yield;
    const ids = Array.from(word, (character, index) =>
      idOf.get(index === 0 ? character : CONTINUING_PREFIX + character),
    );
    symbols.push(ids.filter((id) => id !== undefined));
  }
  return { symbols, counts: sorted.map(([, count]) => count) };
}

interface Merge {
  readonly left: number;
  readonly right: number;
  /** When last counted. */
  readonly count: number;
  readonly words: readonly number[];
}

/** Among equals, the lowest symbol ids. */
function comesBefore(a: Merge, b: Merge): boolean {
  if (a.count !== b.count) return a.count > b.count;
  return a.left !== b.left ? a.left < b.left : a.right < b.right;
}

/** `symbols[i]` are the piece ids of word i, `counts[i]` how often it occurs. */
interface SegmentedWords {
  readonly symbols: number[][];
  readonly counts: readonly number[];
}

interface MergingOptions {
  readonly vocabularySize: number;
  readonly minFrequency: number;
  readonly continuingPrefix: string;
}

/** Ids stay far below 2²⁶. */
const PAIR_BASE = 2 ** 26;

/** Adds merged pieces (id = index) and changes the words; order and ties as in Hugging Face's BpeTrainer. */
function* mergePairs(pieces: string[], words: SegmentedWords, options: MergingOptions): Steps<void> {
  const { vocabularySize, minFrequency, continuingPrefix } = options;
  const idOf = new Map(pieces.map((piece, id) => [piece, id]));
  const pairs = yield* PairCounts.of(words);
  const queue = new PriorityQueue<Merge>(comesBefore);
  for (const merge of pairs.takeNew()) queue.push(merge);

  while (pieces.length < vocabularySize) {
    yield;
    const merge = queue.pop();
    if (merge === undefined) return;
    const count = pairs.count(merge.left, merge.right);
    if (count !== merge.count) {
      queue.push({ ...merge, count });
      continue;
    }
    if (count < 1 || count < minFrequency) return;

    const left = pieces[merge.left] ?? '';
    const right = pieces[merge.right] ?? '';
    const merged = left + (right.startsWith(continuingPrefix) ? right.slice(continuingPrefix.length) : right);
    // The same piece can come from different pairs.
    const id = idOf.get(merged) ?? pieces.length;
    if (id === pieces.length) {
      pieces.push(merged);
      idOf.set(merged, id);
    }
    for (const word of merge.words) {
      yield;
      pairs.mergeIn(word, merge, id);
    }
    for (const found of pairs.takeNew()) queue.push(found);
  }
}

class PairCounts {
  readonly #counts = new Map<number, number>();
  /** The words with new occurrences of a pair since the last `takeNew`. */
  #new = new Map<number, number[]>();
  readonly #words: SegmentedWords;

  private constructor(words: SegmentedWords) {
    this.#words = words;
  }

  static *of(words: SegmentedWords): Steps<PairCounts> {
    const counts = new PairCounts(words);
    for (const [word, symbols] of words.symbols.entries()) {
      yield;
      for (let i = 1; i < symbols.length; i++) counts.#change(symbols[i - 1] ?? 0, symbols[i] ?? 0, 1, word);
    }
    return counts;
  }

  count(left: number, right: number): number {
    return this.#counts.get(left * PAIR_BASE + right) ?? 0;
  }

  takeNew(): Merge[] {
    const merges: Merge[] = [];
    for (const [pair, words] of this.#new) {
      const left = Math.floor(pair / PAIR_BASE);
      const right = pair - left * PAIR_BASE;
      const count = this.count(left, right);
      if (count > 0) merges.push({ left, right, count, words });
    }
    this.#new = new Map();
    return merges;
  }

  /** Left to right. The pair's own count stays, as in the reference. */
  mergeIn(word: number, { left, right }: Pick<Merge, 'left' | 'right'>, merged: number): void {
    const symbols = this.#words.symbols[word] ?? [];
    let kept = 0;
    for (let i = 0; i < symbols.length; i++) {
      const symbol = symbols[i] ?? 0;
      if (symbol !== left || symbols[i + 1] !== right) {
        symbols[kept++] = symbol;
        continue;
      }
      const before = kept > 0 ? symbols[kept - 1] : undefined;
      const after = symbols[i + 2];
      if (before !== undefined) {
        this.#change(before, left, -1, word);
        this.#change(before, merged, 1, word);
      }
      if (after !== undefined) {
        this.#change(right, after, -1, word);
        this.#change(merged, after, 1, word);
      }
      symbols[kept++] = merged;
      i++;
    }
    symbols.length = kept;
  }

  #change(left: number, right: number, sign: 1 | -1, word: number): void {
    const pair = left * PAIR_BASE + right;
    this.#counts.set(pair, (this.#counts.get(pair) ?? 0) + sign * (this.#words.counts[word] ?? 0));
    if (sign < 0) return;
    const words = this.#new.get(pair);
    if (words === undefined) this.#new.set(pair, [word]);
    else if (words[words.length - 1] !== word) words.push(word);
  }
}
