import { latePattern } from '../system/index.js';
import type { PieceIds } from './piece-trie.js';
import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
import { findSpecialTokens, type SpecialTokenNames } from './tokenizer-json.js';

/** A token to add, or a text (0 the first, 1 the second). */
export type TemplatePart =
  | { readonly kind: 'special'; readonly id: number; readonly typeId: number }
  | { readonly kind: 'text'; readonly text: 0 | 1; readonly typeId: number };

export interface SpecialTokenTemplates {
  readonly single: readonly TemplatePart[];
  readonly pair: readonly TemplatePart[];
}

/** `offsets` is null if they are unknown. */
export type TextPieces = Pick<PieceBuffer, 'ids' | 'length'> & { readonly offsets: Int32Array | null };

/** 32 KiB, which a single small array keeps in memory. */
const POOL_LENGTH = 1 << 13;
const MAX_SHARED_LENGTH = POOL_LENGTH >> 3;

/** Small arrays share a buffer: one of its own costs 1 µs, and four of them more than tokenizing a short text. */
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

/** @throws RangeError if `maxLength` has no room for the template's own tokens. */
export function assemble(
  template: readonly TemplatePart[],
  texts: readonly [TextPieces, TextPieces?],
  maxLength = Number.POSITIVE_INFINITY,
): Encoding {
  const [first, second] = texts;
  const lengths = [first.length, second?.length ?? 0] as const;
  let added = 0;
  for (const { kind } of template) if (kind === 'special') added += 1;
  if (!(maxLength >= added)) {
    throw new RangeError(`\`maxLength\` is ${maxLength}; the special tokens alone need ${added}`);
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

/** A loop: `set(subarray())` costs an allocation. */
function copy(from: Int32Array, count: number, to: Int32Array, at: number): void {
  for (let i = 0; i < count; i++) to[at + i] = from[i] ?? 0;
}

/** The longer text is cut first, as with Hugging Face's `longest_first`. */
function keptLengths([first, second]: readonly [number, number], room: number): readonly [number, number] {
  if (first + second <= room) return [first, second];
  const shorter = Math.min(first, second);
  const half = Math.floor(room / 2);
  if (shorter > half) return first > second ? [room - half, half] : [half, room - half];
  return first > second ? [room - shorter, shorter] : [shorter, room - shorter];
}

/** @param encoding of a whole single text. @param overlap in pieces, at least. @throws RangeError without room. */
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

function cutOut(values: Int32Array, { first, start, stop, end }: Cut, width: number): Int32Array {
  return Int32Array.of(
    ...values.subarray(0, width * first),
    ...values.subarray(width * start, width * stop),
    ...values.subarray(width * end),
  );
}

const capital = latePattern('[\\p{Lu}\\p{Lt}]', 'u');

/** Token type 1 for pieces with a capital: the first of `Paris`, all of `NATO`. Needs offsets and a single text. */
export function markCapitals(text: string, encoding: Encoding): Encoding {
  const { offsets, sequenceIds } = encoding;
  if (offsets === null) return encoding;
  const holdsCapital = (token: number) => capital().test(text.slice(offsets[2 * token], offsets[2 * token + 1]));
  return {
    ...encoding,
    typeIds: sequenceIds.map((source, token) => (source === 0 && holdsCapital(token) ? 1 : 0)),
  };
}

/** Longer buffers are released after use. */
const MAX_KEPT_PIECES = 1 << 16;
const INITIAL_PIECES = 1 << 9;

/** Offsets are [start, end) in UTF-16 code units. */
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
  readonly vocabulary: PieceIds;
  /** Of two tokens with one id, this is the one that the id names. */
  readonly addedTokens: readonly { readonly id: number; readonly content: string }[];
  readonly names: SpecialTokenNames;
  readonly templates: SpecialTokenTemplates;
  /** The buffer is empty at first. */
  readonly findPieces: (text: string, pieces: PieceBuffer) => void;
}

export class PieceTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly specialTokens: SpecialTokenIds;
  readonly #options: PieceTokenizerOptions;
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
