import type { TaggedSentence } from '../../../bench/datasets/tagged-sentences.js';

/** Maps the types of three corpora of named entities to the types that all of them tag. */

/**
 * WNUT17's products and creative works are in no other corpus: since they are O there, they must be O
 * everywhere.
 */
const commonTypes: Readonly<Record<string, string>> = {
  PER: 'PER',
  person: 'PER',
  LOC: 'LOC',
  location: 'LOC',
  ORG: 'ORG',
  corporation: 'ORG',
  group: 'ORG',
};

/** The sentence with only PER, LOC and ORG tagged; words of other entities become O. */
export function withCommonTypes({ words, tags }: TaggedSentence): TaggedSentence {
  return { words, tags: tags.map(commonTag) };
}

function commonTag(tag: string): string {
  const [, position, type = ''] = /^([BI])-(.+)$/u.exec(tag) ?? [];
  const common = commonTypes[type];
  return position === undefined || common === undefined ? 'O' : `${position}-${common}`;
}
