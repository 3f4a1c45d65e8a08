import type { Random } from '../../../../src/random.js';
import type { Tokenizer } from '../../../../src/tokenizer/index.js';
import { passagesOf, randomAims } from './passages.js';

/** Separates passages, which hold no white space but spaces. */
const SEPARATOR = '\t';

/**
 * A document's passages in pairs, one pair per line; a last one without a neighbour has a line of its own.
 * Neighbours are given about the same length, so that batches of pairs need little padding.
 */
export function* neighbourLines(
  sentences: readonly string[],
  tokenizer: Tokenizer,
  random: Random,
): Generator<string> {
  let before: string | undefined;
  for (const passage of passagesOf(sentences, tokenizer, randomAims(random, 2))) {
    const text = passage.replaceAll(/\s+/gu, ' ');
    if (before === undefined) before = text;
    else {
      yield before + SEPARATOR + text;
      before = undefined;
    }
  }
  if (before !== undefined) yield before;
}

/** The passages of a line: two neighbours, or a single text. */
export const passagesOfLine = (line: string): string[] => line.split(SEPARATOR);
