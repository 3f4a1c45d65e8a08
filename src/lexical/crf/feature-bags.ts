import type { IdBags } from '../../kernels/index.js';
import type { Random } from '../../random.js';
import type { HashTable } from '../hash-table.js';
import { forEachSentence, type TaggedWords } from './for-each-sentence.js';
import type { WordFeatureHasher } from './word-features.js';

/**
 * The feature ids of every word, in the order of the sentences: one bag per word.
 * @throws AbortedError soon after the signal fires.
 */
export async function collectBags(
  sentences: readonly TaggedWords[],
  hasher: WordFeatureHasher,
  features: HashTable,
  signal: AbortSignal,
): Promise<IdBags> {
  const starts = new Int32Array(sentences.reduce((sum, { words }) => sum + words.length, 0) + 1);
  let ids = new Int32Array(1 << 16);
  let word = 0;
  let end = 0;
  await forEachSentence(sentences, signal, ({ words }) => {
    const hashed = hasher.hash(words);
    ids = withRoom(ids, end + (hashed.starts.at(-1) ?? 0));
    let at = 0;
    for (const stop of hashed.starts.subarray(1)) {
      for (; at < stop; at += 1) {
        const id = features.find(hashed.hashes[at] ?? 0);
        if (id < 0) continue;
        ids[end] = id;
        end += 1;
      }
      word += 1;
      starts[word] = end;
    }
  });
  return { ids: ids.subarray(0, end), starts };
}

function withRoom(ids: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (ids.length >= length) return ids;
  const larger = new Int32Array(2 * length);
  larger.set(ids);
  return larger;
}

/** Coin flips in one random number. */
const COINS = 32;

/**
 * Leaves out each id with probability ½.
 * @param kept where the others go; its ids and starts must have room for all.
 * @returns views of `kept`.
 */
export function dropHalf({ ids, starts }: IdBags, kept: IdBags, random: Random): IdBags {
  let coins = 0;
  let unused = 0;
  let end = 0;
  let at = starts[0] ?? 0;
  kept.starts[0] = 0;
  for (let bag = 1; bag < starts.length; bag += 1) {
    const stop = starts[bag] ?? 0;
    for (; at < stop; at += 1) {
      if (unused === 0) {
        coins = random.integer(2 ** COINS);
        unused = COINS;
      }
      if (coins & 1) {
        kept.ids[end] = ids[at] ?? 0;
        end += 1;
      }
      coins >>>= 1;
      unused -= 1;
    }
    kept.starts[bag] = end;
  }
  return { ids: kept.ids, starts: kept.starts.subarray(0, starts.length) };
}
