/** Greedy longest-match-first splitting of a word into pieces (Wu et al. 2016; as in BERT). */
import { textOfUnits } from './word-reader.js';

export interface WordPieceOptions {
  /** Piece to id. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** Id of the token for a word that can't be split. */
  readonly unknownId: number;
  /** What pieces inside a word start with in the vocabulary: `##`. */
  readonly continuingPrefix: string;
  /** A word of more characters (code points) is unknown as a whole. */
  readonly maxCharactersPerWord: number;
}

/** The pieces of a word, two entries a piece: its id, and where it ends in the word's UTF-16 code units. */
export type WordPieces = readonly number[];

/** Slots of the word cache. A word has one place; a newer word of the same place takes it, so memory is bounded. */
const CACHE_SLOTS = 1 << 14;
/** Longer words are rarely met again. In UTF-16 code units. */
const MAX_CACHED_LENGTH = 32;

export class WordPieceVocabulary {
  readonly #whole: ReadonlyMap<string, number>;
  /** Pieces inside a word, without their prefix. */
  readonly #continuing = new Map<string, number>();
  readonly #unknownId: number;
  readonly #maxCharactersPerWord: number;
  /** Length of the longest piece, in code units. */
  readonly #longest: number;
  readonly #cachedWords: (string | undefined)[] = new Array(CACHE_SLOTS).fill(undefined);
  readonly #cachedPieces: (WordPieces | undefined)[] = new Array(CACHE_SLOTS).fill(undefined);

  constructor({ vocabulary, unknownId, continuingPrefix, maxCharactersPerWord }: WordPieceOptions) {
    this.#whole = vocabulary;
    this.#unknownId = unknownId;
    this.#maxCharactersPerWord = maxCharactersPerWord;
    let longest = 0;
    for (const [piece, id] of vocabulary) {
      longest = Math.max(longest, piece.length);
      if (piece.startsWith(continuingPrefix)) this.#continuing.set(piece.slice(continuingPrefix.length), id);
    }
    this.#longest = longest;
  }

  /** The pieces of the word in the first `length` of `units`. */
  pieces(units: Uint16Array, length: number): WordPieces {
    if (length > MAX_CACHED_LENGTH) return this.split(textOfUnits(units, length));
    let hash = length;
    for (let i = 0; i < length; i++) hash = Math.imul(hash ^ (units[i] ?? 0), 0x9e3779b1);
    const slot = (hash ^ (hash >>> 15)) & (CACHE_SLOTS - 1);

    const cached = this.#cachedPieces[slot];
    if (cached !== undefined && isWord(this.#cachedWords[slot] ?? '', units, length)) return cached;
    const word = textOfUnits(units, length);
    const pieces = this.split(word);
    this.#cachedWords[slot] = word;
    this.#cachedPieces[slot] = pieces;
    return pieces;
  }

  /** The pieces of `word`, without the cache. */
  split(word: string): WordPieces {
    const unknown = [this.#unknownId, word.length];
    if (isLongerThan(word, this.#maxCharactersPerWord)) return unknown;
    const pieces: number[] = [];
    let start = 0;
    while (start < word.length) {
      const candidates = start === 0 ? this.#whole : this.#continuing;
      let end = Math.min(word.length, start + this.#longest);
      let id = candidates.get(word.slice(start, end));
      while (id === undefined && end > start + 1) id = candidates.get(word.slice(start, --end));
      if (id === undefined) return unknown;
      pieces.push(id, end);
      start = end;
    }
    return pieces;
  }
}

function isWord(word: string, units: Uint16Array, length: number): boolean {
  if (word.length !== length) return false;
  for (let i = 0; i < length; i++) if (word.charCodeAt(i) !== units[i]) return false;
  return true;
}

/** Whether a text has more than `limit` code points. */
function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || Array.from(text).length > limit;
}
