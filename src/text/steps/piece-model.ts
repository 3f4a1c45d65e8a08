/** The models of tokenizer.json: what splits a word into pieces. */

/** A word's pieces, side by side. Several may share characters: bytes of one of them. */
export interface WordPieces {
  readonly ids: readonly number[];
  /** Of each piece, the first of its characters, and the one after its last. */
  readonly from: readonly number[];
  readonly to: readonly number[];
}

export interface PieceModel {
  /** Piece to id. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** Id of the piece for what isn't in the vocabulary; its text isn't the word's. Undefined: there is none. */
  readonly unknownId: number | undefined;
  /** Splits a word, given as its characters. */
  split(characters: readonly string[]): WordPieces;
}

/** Words that are kept, and how long they may be. */
const MAX_KEPT = 1 << 13;
const MAX_KEPT_CHARACTERS = 48;

/** Splits each of the most recent words once. */
export class RememberedWords {
  readonly #words = new Map<string, WordPieces>();
  readonly #split: (characters: readonly string[]) => WordPieces;

  constructor(split: (characters: readonly string[]) => WordPieces) {
    this.#split = split;
  }

  split(characters: readonly string[]): WordPieces {
    if (characters.length > MAX_KEPT_CHARACTERS) return this.#split(characters);
    const word = characters.join('');
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    const pieces = this.#split(characters);
    if (this.#words.size >= MAX_KEPT) this.#words.clear();
    this.#words.set(word, pieces);
    return pieces;
  }
}

/** Ids of the pieces for the bytes of a text; undefined if one has none. */
export function byteIds(vocabulary: ReadonlyMap<string, number>, text: string): number[] | undefined {
  const ids = Array.from(Buffer.from(text), (byte) => vocabulary.get(bytePiece(byte)));
  const known = ids.filter((id) => id !== undefined);
  return known.length === ids.length ? known : undefined;
}

/** A piece for one byte of UTF-8: `<0xE3>`. */
export function bytePiece(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}
