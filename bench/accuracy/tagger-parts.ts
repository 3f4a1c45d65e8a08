import type { Blend, InferenceResult } from 'orchard-nlp';
import { predictWith } from '../model-parts.js';

/**
 * BIO tags of sentences that are given as words, from a model whose two experts are blended with these
 * weights.
 */
export async function tagWith(
  directory: string,
  weights: Blend['blend']['weights'],
  sentences: readonly (readonly string[])[],
): Promise<string[][]> {
  const texts = sentences.map((words) => words.join(' '));
  const results = await predictWith(directory, weights, texts, { words: 'whitespace' });
  return sentences.map((words, at) => tagsOf(words, results[at]));
}

/** BIO tags of words, from the entities that were found in their text: the words with spaces between them. */
function tagsOf(words: readonly string[], result: InferenceResult | undefined): string[] {
  const { labels = [], tokens = [], token_start_positions: starts = [] } = result ?? {};
  const tags = words.map(() => 'O');
  for (const [entity, type] of labels.entries()) {
    const start = starts[entity] ?? 0;
    const end = start + (tokens[entity]?.length ?? 0);
    for (const [place, word] of wordsWithin(words, start, end).entries()) {
      tags[word] = `${place === 0 ? 'B' : 'I'}-${type}`;
    }
  }
  return tags;
}

/**
 * Indices of the words that have characters in the range from `start` to before `end`, in UTF-16 code units.
 */
function wordsWithin(words: readonly string[], start: number, end: number): number[] {
  const within: number[] = [];
  let from = 0;
  for (const [index, { length }] of words.entries()) {
    if (from < end && from + length > start) within.push(index);
    from += length + 1;
  }
  return within;
}
