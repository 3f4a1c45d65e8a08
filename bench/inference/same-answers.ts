import { Contestant } from './contestant.js';
import type { Models, SubjectName } from './models.js';
import type { NamedNumbers } from './protocol.js';
import { orchardCommand, type Side } from './sides.js';

/** Largest difference between numbers that count as equal. */
const TOLERANCE = 1e-4;

/** How far the float32 answers of a peer are from ours. */
export interface Agreement {
  readonly subject: SubjectName;
  readonly peer: string;
  /** How many numbers were compared. */
  readonly numbers: number;
  readonly largestDifference: number;
  readonly isEqual: boolean;
}

/**
 * Compares what the encoder alone says in Orchard with what the float32 peers say, once, on texts that all of them read
 * whole: probabilities of labels, logits of tokens, or how far each passage is behind the best one.
 */
export async function compareAnswers(
  models: Models,
  subject: SubjectName,
  sides: readonly Side[],
  texts: readonly string[],
): Promise<Agreement[]> {
  const encoder = await models.of(subject, 'encoder');
  // The models of a medley are those of the other subjects.
  if (encoder === undefined || subject === 'medley') return [];
  const ours = await Contestant.start(orchardCommand, { ...encoder, workers: 1, threads: 1, dtype: 'fp32' });
  if (typeof ours === 'string') throw new Error(ours);
  const expected = await ours.check(texts);
  await ours.stop();
  const agreements: Agreement[] = [];
  for (const { name, precision, role, contestants } of sides) {
    const [first] = contestants;
    if (role === 'ours' || precision !== 'float32' || first === undefined) continue;
    const compared = differences(expected, await first.contestant.check(texts));
    const largestDifference = Math.max(...compared);
    const isEqual = largestDifference <= TOLERANCE;
    agreements.push({ subject, peer: name, numbers: compared.length, largestDifference, isEqual });
  }
  return agreements;
}

/**
 * Of the numbers that both name; NaN for a text without any. A peer gives one probability of a binary model's two, and
 * nothing for padding, for which Orchard's encoder may have outputs.
 */
export function differences(ours: readonly NamedNumbers[], theirs: readonly NamedNumbers[]): number[] {
  return ours.flatMap((numbers, text) => {
    const common = Object.entries(theirs[text] ?? {}).flatMap(([name, number]) => {
      const own = numbers[name];
      return own === undefined ? [] : [Math.abs(number - own)];
    });
    return common.length === 0 ? [Number.NaN] : common;
  });
}
