import type { TagTransitions } from './tag-lattice.js';

/**
 * The path of tags with the highest sum of emissions and transitions (Viterbi 1967); among equals, the one
 * with the lower id at the last word where they differ.
 * @param emissions [words, tags], finite.
 * @param transitions must leave at least one path open, or the result is meaningless.
 * @returns a tag id for each word.
 */
export function viterbi(emissions: Float32Array, { start, between }: TagTransitions): Int32Array {
  const tags = start.length;
  const words = emissions.length / tags;
  /** The tag before each tag at each word on the best path to it. [words, tags] */
  const previous = new Int32Array(emissions.length);
  let scores = new Float64Array(tags);
  let next = new Float64Array(tags);
  for (let tag = 0; tag < tags; tag += 1) scores[tag] = (start[tag] ?? 0) + (emissions[tag] ?? 0);
  for (let row = tags; row < emissions.length; row += tags) {
    for (let tag = 0; tag < tags; tag += 1) {
      let best = 0;
      let bestScore = Number.NEGATIVE_INFINITY;
      for (let from = 0; from < tags; from += 1) {
        const score = (scores[from] ?? 0) + (between[from * tags + tag] ?? 0);
        if (score > bestScore) {
          best = from;
          bestScore = score;
        }
      }
      previous[row + tag] = best;
      next[tag] = bestScore + (emissions[row + tag] ?? 0);
    }
    [scores, next] = [next, scores];
  }
  const path = new Int32Array(words);
  let tag = scores.indexOf(Math.max(...scores));
  for (let word = words - 1; word >= 0; word -= 1) {
    path[word] = tag;
    tag = previous[word * tags + tag] ?? 0;
  }
  return path;
}
