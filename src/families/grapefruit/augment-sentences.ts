import { Random } from '../../random.js';
import type { AugmentOptions } from '../family.js';
import { withOtherMentions } from './augment-mentions.js';
import type { TaggedSentence } from './sequence-dataset.js';

/** Shares of the sentences that are copied in lower case and in capitals (docs/entities.md#upper-and-lower-case). */
const LOWER_CASE = 1 / 4;
const CAPITALS = 1 / 8;

/**
 * Edited copies of sentences: of each that has a mention, one with another mention of its type, if there is any; and of
 * some, one all in lower case or all in capitals, as people type, unless the model tells no case from another.
 * @param tags BIO tags in the order of their ids.
 */
export function augmentSentences(
  sentences: readonly TaggedSentence[],
  tags: readonly string[],
  { seed, lowercase }: AugmentOptions,
): TaggedSentence[] {
  const random = Random.fromSeed(seed);
  const replaced = withOtherMentions(sentences, tags, random).filter((copy, at) => copy !== sentences[at]);
  return lowercase ? replaced : [...replaced, ...inOtherCase(sentences, random)];
}

function inOtherCase(sentences: readonly TaggedSentence[], random: Random): TaggedSentence[] {
  return sentences.flatMap(({ words, tags }) => {
    const changed = changeCase(words, random.uniform());
    return changed.some((word, at) => word !== words[at]) ? [{ words: changed, tags }] : [];
  });
}

/** @param drawn at least 0 and below 1. */
function changeCase(words: readonly string[], drawn: number): readonly string[] {
  if (drawn < LOWER_CASE) return words.map((word) => word.toLowerCase());
  return drawn < LOWER_CASE + CAPITALS ? words.map((word) => word.toUpperCase()) : words;
}
