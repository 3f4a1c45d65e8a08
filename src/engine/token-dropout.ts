import { Random } from '../random.js';
import type { Encoding } from '../tokenizer/index.js';

/**
 * Copies of encodings in which each token of the texts is replaced by [MASK] with a given probability: the
 * model must not hang its answer on a single word (Dai & Le 2015 call it word dropout). Added tokens stay.
 * @param seeds decide which; the same seeds give the same copies.
 */
export function dropTokens(
  encodings: readonly Encoding[],
  probability: number,
  maskId: number,
  ...seeds: readonly number[]
): readonly Encoding[] {
  if (probability === 0) return encodings;
  const random = Random.fromSeed(...seeds);
  return encodings.map((encoding) => ({
    ...encoding,
    ids: encoding.ids.map((id, token) =>
      encoding.sequenceIds[token] !== -1 && random.uniform() < probability ? maskId : id,
    ),
  }));
}
