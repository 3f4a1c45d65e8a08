import type { Random } from '../../../../src/random.js';
import type { Tokenizer } from '../../../../src/tokenizer/index.js';
import { passagesOf, randomAims } from './passages.js';

/** Passages hold no other white space than this and spaces. */
const SEPARATOR = '\t';

/**
 * A document's passages two by two, each pair one line; a last one without a neighbour is a line by itself. Neighbours
 * are aimed at one length, so that batches of pairs need little padding.
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

/** The passages of a line: two neighbours, or one text that stands alone. */
export const passagesOfLine = (line: string): string[] => line.split(SEPARATOR);
