/** The rules on a sentence, the same for an archive that is read and for one that is written. */
import { counted, type DatasetLocation, type ProblemList, quoted } from '../../datasets/index.js';
import type { DatasetProblem } from '../../errors.js';
import { beginTag, parseTag } from './bio-tags.js';
import type { LocatedSentence } from './sequence-dataset.js';

type Place = Pick<DatasetProblem, 'file' | 'line' | 'column'>;

/** A sentence as its source has it, with the names of the tags. */
export interface WrittenSentence extends DatasetLocation {
  readonly words: readonly string[];
  readonly tags: readonly string[];
  /** Where the tags are written. */
  readonly tagPlace: Place;
  placeOfTag(index: number): Place;
}

/** What a tag may be. */
export interface TagRules {
  readonly ids: ReadonlyMap<string, number>;
  /** The same in words, for problems. */
  readonly expected: string;
}

/**
 * @returns the sentence with tag ids, or undefined after adding at least one problem. An I- tag that
 * continues no entity is read as B-, as conlleval does.
 */
export function checkSentence(
  sentence: WrittenSentence,
  { ids, expected }: TagRules,
  problems: ProblemList,
): LocatedSentence | undefined {
  const { file, line, words, tags, tagPlace } = sentence;
  const before = problems.total;
  const broken = words.find((word) => /\p{Surrogate}/u.test(word));
  if (broken !== undefined) {
    const found = `found half a surrogate pair in ${quoted(broken)}`;
    problems.add({ file, line, found, expected: 'whole characters' });
  }
  if (tags.length !== words.length) {
    const onePerWord = `${counted(words.length, 'tag')}, one for each word`;
    problems.add({ ...tagPlace, found: `found ${counted(tags.length, 'tag')}`, expected: onePerWord });
  }
  for (const [index, tag] of tags.entries()) {
    if (ids.has(tag)) continue;
    problems.add({ ...sentence.placeOfTag(index), found: `found the tag ${quoted(tag)}`, expected });
  }
  if (problems.total > before) return undefined;
  const repaired = repairTags(tags);
  return {
    words,
    tags: repaired.flatMap((tag) => ids.get(tag) ?? []),
    file,
    line,
    isRepaired: repaired.some((tag, index) => tag !== tags[index]),
  };
}

/**
 * An I-x after O, another type or nothing begins an entity, as is common in corpora in the older IOB1 scheme.
 */
function repairTags(tags: readonly string[]): readonly string[] {
  let open: string | undefined;
  return tags.map((tag) => {
    const parsed = parseTag(tag);
    const continues = parsed?.type === open;
    open = parsed?.type;
    return parsed?.position === 'I' && !continues ? beginTag(parsed.type) : tag;
  });
}
