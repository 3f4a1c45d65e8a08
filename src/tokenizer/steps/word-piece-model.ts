/** WordPiece for tokenizers that split and normalise otherwise than BERT's. */
import { PieceBuffer } from '../piece-buffer.js';
import { type WordPieceOptions, WordPieceVocabulary } from '../word-piece-vocabulary.js';
import type { PieceModel, WordPieces } from './piece-model.js';

export class WordPieceModel implements PieceModel {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownId: number;
  readonly #pieces: WordPieceVocabulary;
  readonly #buffer = new PieceBuffer();

  constructor(options: WordPieceOptions) {
    this.vocabulary = options.vocabulary;
    this.unknownId = options.unknownId;
    this.#pieces = new WordPieceVocabulary(options);
  }

  split(characters: readonly string[]): WordPieces {
    const buffer = this.#buffer;
    buffer.clear();
    this.#pieces.split(wordOf(characters), buffer);
    const { length, ids, offsets } = buffer;
    const at = Array.from({ length }, (_, piece) => piece);
    return {
      ids: Array.from(ids.subarray(0, length)),
      from: at.map((piece) => offsets[2 * piece] ?? 0),
      to: at.map((piece) => offsets[2 * piece + 1] ?? 0),
    };
  }
}

/** Its code units, each with the character that it belongs to. */
function wordOf(characters: readonly string[]) {
  const joined = characters.join('');
  const length = joined.length;
  const units = new Uint16Array(length);
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  let at = 0;
  for (const [index, character] of characters.entries()) {
    for (let unit = 0; unit < character.length; unit++) {
      units[at] = joined.charCodeAt(at);
      starts[at] = index;
      ends[at++] = index + 1;
    }
  }
  return { units, starts, ends, length };
}
