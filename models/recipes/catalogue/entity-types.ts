/** Three corpora of named entities with types of their own, brought to the types that all of them tag. */
import type { TaggedSentence } from '../../../bench/datasets/tagged-sentences.js';

/** WNUT17's products and creative works are in no other corpus. There they are O, so they must be O everywhere. */
const commonTypes: Readonly<Record<string, string>> = {
  PER: 'PER',
  person: 'PER',
  LOC: 'LOC',
  location: 'LOC',
  ORG: 'ORG',
  corporation: 'ORG',
  group: 'ORG',
};

/** The sentence with PER, LOC and ORG alone; words of entities of other types become O. */
export function withCommonTypes({ words, tags }: TaggedSentence): TaggedSentence {
  return { words, tags: tags.map(commonTag) };
}

function commonTag(tag: string): string {
  const [, position, type = ''] = /^([BI])-(.+)$/u.exec(tag) ?? [];
  const common = commonTypes[type];
  return position === undefined || common === undefined ? 'O' : `${position}-${common}`;
}
