import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
import { findSpecialTokens, type SpecialTokenNames } from './tokenizer-json.js';

/** Adds special tokens to texts, `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`, and truncates without losing them. */

/** One place of a template: a token to add, or one of the texts (0 the first, 1 the second). */
export type TemplatePart =
  | { readonly kind: 'special'; readonly id: number; readonly typeId: number }
  | { readonly kind: 'text'; readonly text: 0 | 1; readonly typeId: number };

export interface SpecialTokenTemplates {
  readonly single: readonly TemplatePart[];
  readonly pair: readonly TemplatePart[];
}

/** The pieces of one text. `offsets` is null if they are unknown. */
export type TextPieces = Pick<PieceBuffer, 'ids' | 'length'> & { readonly offsets: Int32Array | null };

/** Entries of one shared buffer: 32 KiB, which even a single small array keeps in memory as long as it is used. */
const POOL_LENGTH = 1 << 13;
/** Longer arrays get a buffer of their own. */
const MAX_SHARED_LENGTH = POOL_LENGTH >> 3;

/**
 * Hands out zeroed arrays, small ones as views of a shared buffer, as Node's Buffer.allocUnsafe does. A typed array of
 * its own costs about 1 µs, so the four of an encoding would take longer than tokenizing a short text.
 */
class ArrayPool {
  #shared = new Int32Array(POOL_LENGTH);
  #used = 0;

  take(length: number): Int32Array {
    if (length > MAX_SHARED_LENGTH) return new Int32Array(length);
    if (this.#used + length > POOL_LENGTH) {
      this.#shared = new Int32Array(POOL_LENGTH);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return this.#shared.subarray(start, this.#used);
  }
}

const pool = new ArrayPool();

/**
 * Puts the pieces of one text, or two, into a template.
 * @throws RangeError if `maxLength` has no room for the template's own tokens.
 */
export function assemble(
  template: readonly TemplatePart[],
  texts: readonly [TextPieces, TextPieces?],
  maxLength = Number.POSITIVE_INFINITY,
): Encoding {
  const [first, second] = texts;
  const lengths = [first.length, second?.length ?? 0] as const;
  const added = template.reduce((count, { kind }) => count + (kind === 'special' ? 1 : 0), 0);
  if (!(maxLength >= added)) {
    throw new RangeError(`maxLength is ${maxLength}; the special tokens alone need ${added}`);
  }
  const kept = keptLengths(lengths, maxLength - added);

  const length = added + kept[0] + kept[1];
  const ids = pool.take(length);
  const typeIds = pool.take(length);
  const sequenceIds = pool.take(length);
  const known = first.offsets !== null && second?.offsets !== null;
  const offsets = known ? pool.take(2 * length) : null;
  let at = 0;
  for (const part of template) {
    const from = at;
    if (part.kind === 'special') {
      sequenceIds[at] = -1;
      ids[at++] = part.id;
    } else {
      const pieces = texts[part.text];
      const count = kept[part.text];
      if (pieces !== undefined) {
        copy(pieces.ids, count, ids, at);
        if (offsets !== null && pieces.offsets !== null) copy(pieces.offsets, 2 * count, offsets, 2 * at);
      }
      at += count;
      if (part.text === 1) sequenceIds.fill(1, from, at);
    }
    if (part.typeId !== 0) typeIds.fill(part.typeId, from, at);
  }
  return { ids, typeIds, sequenceIds, offsets, truncated: lengths[0] + lengths[1] - kept[0] - kept[1] };
}

/** A loop: `set(subarray())` costs an allocation, which for a short text takes longer than the copy. */
function copy(from: Int32Array, count: number, to: Int32Array, at: number): void {
  for (let i = 0; i < count; i++) to[at + i] = from[i] ?? 0;
}

/** How many pieces of each text stay: the longer one is cut first, as with Hugging Face's `longest_first`. */
function keptLengths([first, second]: readonly [number, number], room: number): readonly [number, number] {
  if (first + second <= room) return [first, second];
  const shorter = Math.min(first, second);
  const half = Math.floor(room / 2);
  if (shorter > half) return first > second ? [room - half, half] : [half, room - half];
  return first > second ? [room - shorter, shorter] : [shorter, room - shorter];
}

/**
 * Cuts an encoding of one text into overlapping windows that each fit the model, so that nothing of a long
 * text is lost. Every window has the special tokens around it, and offsets into the whole text.
 * @param encoding of a single text, without `maxLength`.
 * @param maxLength the most tokens of a window, including special ones.
 * @param overlap how many pieces neighbouring windows share at least.
 * @throws RangeError if the special tokens and the overlap leave a window no room.
 */
export function encodingWindows(encoding: Encoding, maxLength: number, overlap: number): Encoding[] {
  const { length } = encoding.ids;
  if (length <= maxLength) return [encoding];
  const first = encoding.sequenceIds.indexOf(0);
  const end = encoding.sequenceIds.lastIndexOf(0) + 1;
  const pieces = maxLength - first - (length - end);
  if (pieces <= overlap) throw new RangeError(`a window of ${maxLength} tokens can't overlap by ${overlap}`);
  const windows: Encoding[] = [];
  for (let from = first; ; from += pieces - overlap) {
    const start = Math.min(from, end - pieces);
    windows.push(windowOf(encoding, { first, start, stop: start + pieces, end }));
    if (start + pieces >= end) return windows;
  }
}

interface Cut {
  /** Where the text begins and ends in the encoding, and the window in it. */
  readonly first: number;
  readonly start: number;
  readonly stop: number;
  readonly end: number;
}

function windowOf({ ids, typeIds, sequenceIds, offsets }: Encoding, cut: Cut): Encoding {
  return {
    ids: cutOut(ids, cut, 1),
    typeIds: cutOut(typeIds, cut, 1),
    sequenceIds: cutOut(sequenceIds, cut, 1),
    offsets: offsets && cutOut(offsets, cut, 2),
    truncated: 0,
  };
}

/** What comes before the text, the window, and what comes after the text. */
function cutOut(values: Int32Array, { first, start, stop, end }: Cut, width: number): Int32Array {
  return Int32Array.of(
    ...values.subarray(0, width * first),
    ...values.subarray(width * start, width * stop),
    ...values.subarray(width * end),
  );
}

const capital = /[\p{Lu}\p{Lt}]/u;

/**
 * Tells an encoder about capitals that its tokenizer folds to lower case: token type 1 for each piece with a
 * capital letter in the text, 0 for all others. In `Paris` that is the first piece, in `NATO` every piece. If
 * the tokenizer gives no offsets, the types stay as they are.
 * @param encoding of this text alone, without a second one.
 */
export function markCapitals(text: string, encoding: Encoding): Encoding {
  const { offsets, sequenceIds } = encoding;
  if (offsets === null) return encoding;
  const holdsCapital = (token: number) => capital.test(text.slice(offsets[2 * token], offsets[2 * token + 1]));
  return {
    ...encoding,
    typeIds: sequenceIds.map((source, token) => (source === 0 && holdsCapital(token) ? 1 : 0)),
  };
}

/** A longer buffer is released after use, so that one huge text doesn't take up memory for good. */
const MAX_KEPT_PIECES = 1 << 16;
const INITIAL_PIECES = 1 << 9;

/** The pieces of one text while they are being found: ids and [start, end) offsets in UTF-16 code units. */
export class PieceBuffer {
  length = 0;
  ids = new Int32Array(INITIAL_PIECES);
  offsets = new Int32Array(2 * INITIAL_PIECES);

  push(id: number, start: number, end: number): void {
    if (this.length === this.ids.length) this.#grow();
    this.offsets[2 * this.length] = start;
    this.offsets[2 * this.length + 1] = end;
    this.ids[this.length++] = id;
  }

  clear(): void {
    this.length = 0;
    if (this.ids.length <= MAX_KEPT_PIECES) return;
    this.ids = new Int32Array(INITIAL_PIECES);
    this.offsets = new Int32Array(2 * INITIAL_PIECES);
  }

  #grow(): void {
    const { ids, offsets } = this;
    this.ids = new Int32Array(2 * ids.length);
    this.ids.set(ids);
    this.offsets = new Int32Array(2 * offsets.length);
    this.offsets.set(offsets);
  }
}

interface PieceTokenizerOptions {
  /** Piece to id. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** Tokens in front of the vocabulary: of two with one id, this is the one that the id names. */
  readonly addedTokens: readonly { readonly id: number; readonly content: string }[];
  readonly names: SpecialTokenNames;
  readonly templates: SpecialTokenTemplates;
  /** Puts the pieces of a text into an empty buffer. */
  readonly findPieces: (text: string, pieces: PieceBuffer) => void;
}

/** Finds the pieces of texts, and puts special tokens around them. */
export class PieceTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly specialTokens: SpecialTokenIds;
  readonly #options: PieceTokenizerOptions;
  /** By id; made when first asked for. */
  #tokens: ReadonlyMap<number, string> | undefined;
  readonly #first = new PieceBuffer();
  readonly #second = new PieceBuffer();

  /** @throws ModelFolderError if a special token has no id. */
  constructor(options: PieceTokenizerOptions) {
    const { vocabulary, addedTokens, names } = options;
    this.#options = options;
    const added = new Map(addedTokens.map(({ content, id }) => [content, id]));
    this.specialTokens = findSpecialTokens((token) => added.get(token) ?? vocabulary.get(token), names);
    let highest = -1;
    for (const id of vocabulary.values()) highest = Math.max(highest, id);
    for (const { id } of addedTokens) highest = Math.max(highest, id);
    this.vocabularySize = highest + 1;
  }

  encode(text: string, { maxLength, pair }: EncodeOptions = {}): Encoding {
    const { templates } = this.#options;
    const first = this.#piecesOf(text, this.#first);
    if (pair === undefined) return assemble(templates.single, [first], maxLength);
    return assemble(templates.pair, [first, this.#piecesOf(pair, this.#second)], maxLength);
  }

  token(id: number): string | undefined {
    if (this.#tokens === undefined) {
      const tokens = new Map<number, string>();
      for (const [piece, pieceId] of this.#options.vocabulary) tokens.set(pieceId, piece);
      for (const added of this.#options.addedTokens) tokens.set(added.id, added.content);
      this.#tokens = tokens;
    }
    return this.#tokens.get(id);
  }

  #piecesOf(text: string, pieces: PieceBuffer): PieceBuffer {
    pieces.clear();
    this.#options.findPieces(text, pieces);
    return pieces;
  }
}
