import type { TagTransitions } from '../../lexical/index.js';
import { latePattern } from '../../system/index.js';

/** BIO tags (Ramshaw & Marcus 1995, as IOB2): B-x begins an entity of type x, I-x continues it, O is outside of any. */
export const OUTSIDE = 'O';

export interface BioTag {
  readonly position: 'B' | 'I';
  readonly type: string;
}

/** Files separate tags by spaces, so a type contains none. */
const bioTag = latePattern('^[BI]-[^\\p{White_Space}\\p{Surrogate}]+$', 'u');

/** @returns undefined for O, and for what isn't a BIO tag. */
export function parseTag(tag: string): BioTag | undefined {
  return bioTag().test(tag) ? { position: tag[0] === 'B' ? 'B' : 'I', type: tag.slice(2) } : undefined;
}

export function beginTag(type: string): string {
  return `B-${type}`;
}

export function insideTag(type: string): string {
  return `I-${type}`;
}

/** The distinct entity types of BIO tags, in the order in which they first occur. */
export function entityTypes(tags: Iterable<string>): readonly string[] {
  const types = new Set<string>();
  for (const tag of tags) {
    const parsed = parseTag(tag);
    if (parsed) types.add(parsed.type);
  }
  return [...types];
}

export interface EntitySpan {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** As conlleval (Tjong Kim Sang & De Meulder 2003): B-x begins an entity, and so does an I-x that continues none. */
export function spansOf(tags: readonly string[]): EntitySpan[] {
  return spansOfParsed(tags.map(parseTag));
}

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

/** Scores to add before decoding: 0 where allowed, −Infinity where not. An I-x may follow B-x and I-x only. */
export function bioConstraints(tags: readonly string[]): TagTransitions {
  const parsed = tags.map(parseTag);
  const start = Float32Array.from(parsed, (tag) => (tag?.position === 'I' ? Number.NEGATIVE_INFINITY : 0));
  const between = Float32Array.from(
    parsed.flatMap((previous) =>
      parsed.map((next) => (next?.position === 'I' && next.type !== previous?.type ? Number.NEGATIVE_INFINITY : 0)),
    ),
  );
  return { start, between };
}
