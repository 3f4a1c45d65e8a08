import { Random } from '../random.js';
import type { Encoding } from '../tokenizer/index.js';

/**
 * Word dropout (Dai & Le 2015): copies of encodings in which each token is replaced by [MASK] with a given
 * probability, so that the model doesn't rely on single words. Special tokens stay.
 * @param seeds decide which tokens are replaced; the same seeds give the same copies.
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
