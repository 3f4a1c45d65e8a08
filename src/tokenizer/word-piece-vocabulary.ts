/** Splits words into pieces by greedy longest match first (Wu et al. 2016; as in BERT). */
import type { PieceBuffer } from './piece-buffer.js';
import { PieceTrie } from './piece-trie.js';
import type { WordReader } from './word-reader.js';

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

/** A word as WordReader gives it. */
type Word = Pick<WordReader, 'units' | 'starts' | 'ends' | 'length'>;

export class WordPieceVocabulary {
  readonly #trie: PieceTrie;
  readonly #unknownId: number;
  readonly #maxCharactersPerWord: number;

  constructor({ vocabulary, unknownId, continuingPrefix, maxCharactersPerWord }: WordPieceOptions) {
    this.#trie = new PieceTrie(vocabulary, continuingPrefix);
    this.#unknownId = unknownId;
    this.#maxCharactersPerWord = maxCharactersPerWord;
  }

  /** Adds the pieces of a word, or only the unknown token if a part of the word is not a piece. */
  split(word: Word, pieces: PieceBuffer): void {
    const { units, starts, ends, length } = word;
    const trie = this.#trie;
    const before = pieces.length;
    let start = 0;
    let stuck = isLongerThan(word, this.#maxCharactersPerWord);
    while (start < length && !stuck) {
      const end = trie.longest(units, start, length);
      stuck = end === start;
      if (!stuck) pieces.push(trie.id, starts[start] ?? 0, ends[end - 1] ?? 0);
      start = end;
    }
    if (!stuck) return;
    pieces.length = before;
    pieces.push(this.#unknownId, starts[0] ?? 0, ends[length - 1] ?? 0);
  }
}

/** Whether a word has more than `limit` code points. */
function isLongerThan({ units, length }: Word, limit: number): boolean {
  if (length <= limit) return false;
  let characters = 0;
  for (let i = 0; i < length && characters <= limit; i++) {
    const isSecondOfPair = ((units[i] ?? 0) & 0xfc00) === 0xdc00;
    if (!isSecondOfPair) characters++;
  }
  return characters > limit;
}
