import type { TaggedSentence } from './sequence-dataset.js';

/** No tag counts more than this many times the mean: rare tags would drown the others. */
const LARGEST_WEIGHT = 10;

/** What a word of each tag weighs when rare tags are to count as much as frequent ones: words / (tags · words of the tag). */
export function tagWeights(sentences: readonly TaggedSentence[], tags: number): number[] {
  const counts = new Array<number>(tags).fill(0);
  let words = 0;
  for (const sentence of sentences) {
    for (const tag of sentence.tags) counts[tag] = (counts[tag] ?? 0) + 1;
    words += sentence.tags.length;
  }
  return counts.map((count) => Math.min(LARGEST_WEIGHT, words / (tags * Math.max(1, count))));
}
