import type { TaggedSentence } from './sequence-dataset.js';

/** No tag counts more than this many times the mean, or rare tags would drown out the others. */
const LARGEST_WEIGHT = 10;

/**
 * The weight of a word by its tag, if rare tags are to count as much as frequent ones: words / (tags · words
 * so tagged).
 */
export function tagWeights(sentences: readonly TaggedSentence[], tags: number): number[] {
  const counts = new Array<number>(tags).fill(0);
  let words = 0;
  for (const sentence of sentences) {
    for (const tag of sentence.tags) counts[tag] = (counts[tag] ?? 0) + 1;
    words += sentence.tags.length;
  }
  return counts.map((count) => Math.min(LARGEST_WEIGHT, words / (tags * Math.max(1, count))));
}
