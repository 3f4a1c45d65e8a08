import { HashTable } from '../hash-table.js';
import { forEachSentence, type TaggedWords } from './for-each-sentence.js';
import type { WordFeatureHasher } from './word-features.js';

/** How many words must have a feature: those of a single word say little and make up most of the table. */
const MIN_WORDS = 2;

/**
 * The features that the most words have, numbered; at most `maxFeatures`.
 * @throws AbortedError soon after the signal fires.
 */
export async function chooseFeatures(
  sentences: readonly TaggedWords[],
  hasher: WordFeatureHasher,
  maxFeatures: number,
  signal: AbortSignal,
): Promise<HashTable> {
  const table = new HashTable(1 << 16);
  let counts = new Int32Array(1 << 16);
  await forEachSentence(sentences, signal, ({ words }) => {
    const { hashes, starts } = hasher.hash(words);
    const end = starts.at(-1) ?? 0;
    for (let at = 0; at < end; at += 1) {
      const id = table.add(hashes[at] ?? 0);
      if (id >= counts.length) counts = doubled(counts);
      counts[id] = (counts[id] ?? 0) + 1;
    }
  });
  const least = Math.max(MIN_WORDS, leastCount(counts.subarray(0, table.size), maxFeatures));
  return HashTable.of(table.hashes().filter((_, id) => (counts[id] ?? 0) >= least));
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}

/** The lowest count that at most `limit` features reach. */
function leastCount(counts: Int32Array, limit: number): number {
  if (counts.length <= limit) return 0;
  const featuresOf = new Int32Array(1 + counts.reduce((most, count) => Math.max(most, count), 0));
  for (const count of counts) featuresOf[count] = (featuresOf[count] ?? 0) + 1;
  let least = featuresOf.length;
  for (let kept = 0; least > 0; least -= 1) {
    kept += featuresOf[least - 1] ?? 0;
    if (kept > limit) break;
  }
  return least;
}
