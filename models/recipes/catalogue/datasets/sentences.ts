import { sentencesOf } from '../../backbones/corpus/sentences.js';

/** Shortest and longest sentence, in UTF-16 code units: shorter ones say little, longer ones are mostly unsplit. */
const SHORTEST = 20;
const LONGEST = 250;

/** Behind a mark with a space before it, as texts have that were cut into words, and mostly put into lower case. */
const AFTER_LONE_MARK = /(?<= [.!?]) /u;

/** The sentences of reviews that are neither too short nor too long to be labelled, in their order. */
export function reviewSentences(reviews: readonly { readonly text: string }[]): string[] {
  return reviews
    .flatMap(({ text }) => text.split(AFTER_LONE_MARK).flatMap(sentencesOf))
    .filter(({ length }) => length >= SHORTEST && length <= LONGEST);
}
