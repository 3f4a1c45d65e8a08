/** The most probable pieces of a word, by the probability of each alone (Kudo 2018), as SentencePiece finds them. */
import { PieceTrie } from '../piece-trie.js';
import { byteIds, type PieceModel, RememberedWords, type WordPieces } from './piece-model.js';

export interface UnigramOptions {
  /** Pieces with the logarithms of their probabilities; the id is the place in the list. */
  readonly pieces: readonly (readonly [string, number])[];
  readonly unknownId: number;
  /** Whether unknown text becomes pieces for its bytes. */
  readonly byteFallback: boolean;
}

/** How much less probable an unknown character is than the least probable piece (SentencePiece's kUnkPenalty). */
const UNKNOWN_PENALTY = 10;

export class UnigramModel implements PieceModel {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownId: number;
  readonly #scores: Float64Array;
  readonly #unknownScore: number;
  readonly #trie: PieceTrie;
  readonly #byteFallback: boolean;
  readonly #words = new RememberedWords((characters) => this.#bestSplit(characters));

  constructor({ pieces, unknownId, byteFallback }: UnigramOptions) {
    this.vocabulary = new Map(pieces.map(([piece], id) => [piece, id]));
    this.unknownId = unknownId;
    this.#scores = Float64Array.from(pieces, ([, score]) => score);
    this.#unknownScore = this.#scores.reduce((least, score) => Math.min(least, score)) - UNKNOWN_PENALTY;
    this.#trie = new PieceTrie(this.vocabulary, '');
    this.#byteFallback = byteFallback;
  }

  split(characters: readonly string[]): WordPieces {
    return this.#words.split(characters);
  }

  #bestSplit(characters: readonly string[]): WordPieces {
    const { best, start } = this.#bestPaths(characters);
    const pieces = new Pieces();
    let to = characters.length;
    while (to > 0) {
      let from = start[to] ?? 0;
      // Unknown characters side by side are one piece.
      if (best[to] === this.unknownId)
        while (from > 0 && best[from] === this.unknownId) from = start[from] ?? 0;
      if (best[to] === this.unknownId) this.#addUnknown(characters, from, to, pieces);
      else pieces.add(best[to] ?? 0, from, to);
      to = from;
    }
    return pieces.reversed();
  }

  /** For each place, the last piece of the most probable way to it: its id and its first character. */
  #bestPaths(characters: readonly string[]): { best: Int32Array; start: Int32Array } {
    const { length } = characters;
    const best = new Int32Array(length + 1);
    const start = new Int32Array(length + 1).fill(-1);
    const scores = new Float64Array(length + 1);
    const { units, characterAt } = unitsOf(characters);
    let unit = 0;
    for (let from = 0; from < length; from++) {
      const soFar = scores[from] ?? 0;
      const reach = (to: number, id: number, score: number): void => {
        if (start[to] !== -1 && soFar + score <= (scores[to] ?? 0)) return;
        scores[to] = soFar + score;
        start[to] = from;
        best[to] = id;
      };
      let isKnown = false;
      this.#trie.forEachPiece(units, unit, (id, end) => {
        const to = characterAt[end] ?? 0;
        if (to === from + 1) isKnown = true;
        reach(to, id, this.#scores[id] ?? 0);
      });
      if (!isKnown) reach(from + 1, this.unknownId, this.#unknownScore);
      unit += characters[from]?.length ?? 1;
    }
    return { best, start };
  }

  /** Unknown characters together may be a piece, though a less probable one than each alone. */
  #addUnknown(characters: readonly string[], from: number, to: number, pieces: Pieces): void {
    const piece = characters.slice(from, to).join('');
    const id = this.vocabulary.get(piece);
    const bytes = id === undefined && this.#byteFallback ? byteIds(this.vocabulary, piece) : undefined;
    if (bytes === undefined) pieces.add(id ?? this.unknownId, from, to);
    else for (const byte of bytes.reverse()) pieces.add(byte, from, to);
  }
}

/** The UTF-16 code units of a word and, for each place between them, the character that begins there. */
function unitsOf(characters: readonly string[]): { units: Uint16Array; characterAt: Int32Array } {
  const joined = characters.join('');
  const units = new Uint16Array(joined.length);
  for (let at = 0; at < joined.length; at++) units[at] = joined.charCodeAt(at);
  const characterAt = new Int32Array(joined.length + 1);
  let unit = 0;
  for (const [index, character] of characters.entries()) {
    characterAt[unit] = index;
    unit += character.length;
  }
  characterAt[unit] = characters.length;
  return { units, characterAt };
}

/** Pieces as they are found, from the last to the first. */
class Pieces {
  readonly #ids: number[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  add(id: number, from: number, to: number): void {
    this.#ids.push(id);
    this.#from.push(from);
    this.#to.push(to);
  }

  reversed(): WordPieces {
    return { ids: this.#ids.reverse(), from: this.#from.reverse(), to: this.#to.reverse() };
  }
}
