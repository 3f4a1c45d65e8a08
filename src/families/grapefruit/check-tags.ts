import { LABEL_FILE, type ProblemList, quoted } from '../../datasets/index.js';
import { beginTag, entityTypes, insideTag, OUTSIDE, parseTag } from './bio-tags.js';

/** Checks label_id.json: BIO tags with O among them, at least one entity type, and no I-x without its B-x. */
export function checkTags(tags: readonly string[], problems: ProblemList): void {
  const add = (found: string, expected: string, id?: number) =>
    problems.add({ file: LABEL_FILE, ...(id !== undefined && { column: `${id}` }), found, expected });
  if (!tags.includes(OUTSIDE)) add('the tag "O" is missing', 'O for words outside of all entities');
  if (entityTypes(tags).length === 0) add('found no tag of an entity', 'a B- tag for each entity type');
  for (const [id, tag] of tags.entries()) {
    const parsed = parseTag(tag);
    if (parsed === undefined) {
      if (tag !== OUTSIDE) add(`found ${quoted(tag)}`, 'a BIO tag: O, B-… or I-…', id);
    } else if (parsed.position === 'I' && !tags.includes(beginTag(parsed.type))) {
      add(`found ${quoted(tag)} without ${quoted(beginTag(parsed.type))}`, 'a B- tag for every I- tag', id);
    }
  }
}

/** O, then B-x and I-x of each type. */
export function tagsOf(types: readonly string[]): readonly string[] {
  return [OUTSIDE, ...types.flatMap((type) => [beginTag(type), insideTag(type)])];
}
