import { Random } from '../../random.js';
import type { AugmentOptions } from '../family.js';
import { withOtherMentions } from './augment-mentions.js';
import type { TaggedSentence } from './sequence-dataset.js';

/** Shares of the copies that are in lower case and in capitals; the others keep the case that they have. */
const LOWER_CASE = 0.4;
const CAPITALS = 0.2;

/**
 * An edited copy of each sentence: at least one mention is replaced by another of its type, if there is another, and
 * some copies are all in lower case or all in capitals, as people type, unless the model tells no case from another. A sentence that stays as it was gives no copy.
 * @param tags BIO tags in the order of their ids.
 */
export function augmentSentences(
  sentences: readonly TaggedSentence[],
  tags: readonly string[],
  { seed, lowercase }: AugmentOptions,
): TaggedSentence[] {
  const random = Random.fromSeed(seed);
  const copies = withOtherMentions(sentences, tags, random);
  return copies.flatMap((copy, at) => {
    const edited = lowercase ? copy : inSomeCase(copy, random);
    return hasSameWords(edited, sentences[at]) ? [] : [edited];
  });
}

function inSomeCase(sentence: TaggedSentence, random: Random): TaggedSentence {
  const drawn = random.uniform();
  if (drawn < LOWER_CASE) return retyped(sentence, (word) => word.toLowerCase());
  if (drawn < LOWER_CASE + CAPITALS) return retyped(sentence, (word) => word.toUpperCase());
  return sentence;
}

const retyped = ({ words, tags }: TaggedSentence, change: (word: string) => string): TaggedSentence => ({
  words: words.map(change),
  tags,
});

const hasSameWords = ({ words }: TaggedSentence, other: TaggedSentence | undefined): boolean =>
  words.length === other?.words.length && words.every((word, at) => word === other.words[at]);
