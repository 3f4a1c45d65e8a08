/**
 * BIO tags (Ramshaw & Marcus 1995, as IOB2): B-x begins an entity of type x, I-x continues it, O is outside
 * of any.
 */
export const OUTSIDE = 'O';

/** What a tag says: where in an entity, and of which type. */
export interface BioTag {
  readonly position: 'B' | 'I';
  readonly type: string;
}

/** Files separate tags by spaces, so a type contains none. */
const bioTag = /^[BI]-[^\p{White_Space}\p{Surrogate}]+$/u;

/** @returns undefined for O, and for what isn't a BIO tag. */
export function parseTag(tag: string): BioTag | undefined {
  return bioTag.test(tag) ? { position: tag[0] === 'B' ? 'B' : 'I', type: tag.slice(2) } : undefined;
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
