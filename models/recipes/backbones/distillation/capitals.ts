import { Random } from '../../../../src/system/index.js';
import { type Encoding, markCapitals, type Tokenizer } from '../../../../src/text/index.js';
import { MAX_PASSAGE_TOKENS } from '../settings.js';

/** How a student whose vocabulary has no capitals sees those of some passages. */
export interface Capitals {
  /** Of passages that show them. */
  readonly share: number;
  /** All of the corpus. */
  readonly passages: readonly string[];
  /** The student's. */
  readonly tokenizer: Tokenizer;
}

/** Sets the streams of which passages show their capitals apart from those of what is masked. */
const STREAM = 1;

/**
 * Marks the capitals of some of the passages by token types, others of them in every step.
 * @param places the index of each encoding's passage in the corpus.
 * @throws Error if a passage isn't the one that was encoded.
 */
export function showCapitals(
  encodings: readonly Encoding[],
  places: readonly number[],
  { share, passages, tokenizer }: Capitals,
  seed: number,
  step: number,
): readonly Encoding[] {
  const random = Random.fromSeed(seed, step, STREAM);
  return encodings.map((encoding, at) => {
    if (random.uniform() >= share) return encoding;
    const passage = passages[places[at] ?? -1] ?? '';
    const read = tokenizer.encode(passage, { maxLength: MAX_PASSAGE_TOKENS });
    if (read.ids.length !== encoding.ids.length) {
      throw new Error(`passage ${places[at]} has other tokens than its targets: compute them anew`);
    }
    return { ...encoding, typeIds: markCapitals(passage, read).typeIds };
  });
}
