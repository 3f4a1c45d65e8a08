import { type BioTag, parseTag } from './bio-tags.js';

/** An entity as a range of words. */
export interface EntitySpan {
  readonly type: string;
  /** Index of the first word. */
  readonly start: number;
  /** Index after the last word. */
  readonly end: number;
}

/**
 * The entities of one sentence, left to right, as conlleval (Tjong Kim Sang & De Meulder 2003) reads BIO
 * tags: B-x always begins an entity, and so does an I-x after O, after another type or at the start.
 */
export function spansOf(tags: readonly string[]): EntitySpan[] {
  return spansOfParsed(tags.map(parseTag));
}

/** As {@link spansOf}, of tags that {@link parseTag} has read. */
export function spansOfParsed(tags: readonly (BioTag | undefined)[]): EntitySpan[] {
  const spans: EntitySpan[] = [];
  let open: { type: string; start: number } | undefined;
  for (const [index, parsed] of tags.entries()) {
    if (parsed?.position === 'I' && parsed.type === open?.type) continue;
    if (open) spans.push({ ...open, end: index });
    open = parsed && { type: parsed.type, start: index };
  }
  if (open) spans.push({ ...open, end: tags.length });
  return spans;
}
