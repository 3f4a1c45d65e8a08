/**
 * Adds special tokens to texts, `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`, and truncates without losing
 * them.
 */
import { ArrayPool } from './array-pool.js';
import type { PieceBuffer } from './piece-buffer.js';
import type { Encoding } from './tokenizer.js';

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
