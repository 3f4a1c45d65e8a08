/** Learns a WordPiece vocabulary from texts, as Hugging Face's WordPieceTrainer does. */
import { allAtOnce, type Steps } from '../pauses.js';
import { mergePairs, type SegmentedWords } from './pair-merging.js';
import { TRAINED_SPECIAL_TOKENS } from './special-tokens.js';
import { keepsMeaningWithoutAccents } from './tokenizer-config.js';
import type { BertTokenizerJson } from './tokenizer-json.js';
import { CONTINUING_PREFIX, wordPieceTokenizerJson } from './word-piece-json.js';
import { WordReader } from './word-reader.js';

export interface WordPieceTrainingOptions {
  /** The most entries that the vocabulary may have, including special tokens. */
  readonly vocabularySize: number;
  readonly lowercase: boolean;
  /** Name of the texts' language in English, as in `training_config.language`. Default `english`. */
  readonly language?: string;
  /** A pair of pieces is merged only if it occurs this often. Default 2. */
  readonly minFrequency?: number;
  /** How many of the most frequent characters get pieces of their own. Default 6,000. */
  readonly limitAlphabet?: number;
}

/**
 * Trains a BERT-style tokenizer. The same texts give the same vocabulary, whatever their order.
 *
 * Characters become the first pieces and the most frequent pair of neighbours is merged until the vocabulary
 * is full. The alphabet gets at most half of the vocabulary, so that `vocabularySize` is never exceeded.
 * @throws RangeError if `vocabularySize` has no room beside the special tokens.
 */
export function trainWordPiece(
  texts: Iterable<string>,
  options: WordPieceTrainingOptions,
): BertTokenizerJson {
  return allAtOnce(wordPieceSteps(texts, options));
}

/** As {@link trainWordPiece}, step by step. */
export function* wordPieceSteps(
  texts: Iterable<string>,
  options: WordPieceTrainingOptions,
): Steps<BertTokenizerJson> {
  const { vocabularySize, lowercase, language = 'english', minFrequency = 2, limitAlphabet = 6000 } = options;
  const specialTokens = Object.keys(TRAINED_SPECIAL_TOKENS);
  const room = vocabularySize - specialTokens.length;
  if (!(room >= 2)) throw new RangeError(`vocabularySize is ${vocabularySize}; it must be 7 or more`);

  const stripAccents = keepsMeaningWithoutAccents(language) ? null : false;
  const words = yield* countWords(texts, lowercase, stripAccents ?? lowercase);
  const alphabet = yield* mostFrequentCharacters(words, Math.min(limitAlphabet, Math.floor(room / 2)));
  const pieces = [...specialTokens, ...alphabet];
  const segmented = yield* segment(words, pieces);
  yield* mergePairs(pieces, segmented, { vocabularySize, minFrequency, continuingPrefix: CONTINUING_PREFIX });
  return wordPieceTokenizerJson(pieces, { lowercase, stripAccents });
}

function* countWords(
  texts: Iterable<string>,
  lowercase: boolean,
  stripAccents: boolean,
): Steps<Map<string, number>> {
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

/**
 * The `limit` most frequent characters (among equals, the lower code points), in the order of code points.
 */
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

/** The order of code points, which differs from that of UTF-16 above U+D7FF. */
function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Words as piece ids, one per character; characters outside the alphabet are left out. Adds to `pieces` the
 * characters that occur inside words, with their prefix.
 */
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
