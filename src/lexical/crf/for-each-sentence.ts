import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../../errors.js';

/** Words and the tag id of each. */
export interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly number[];
}

/** How many words are handled between two turns of the event loop, in some 20 ms. */
const WORDS_A_TURN = 2000;

/**
 * Calls `visit` with every sentence, letting the event loop run in between.
 * @throws AbortedError soon after the signal fires.
 */
export async function forEachSentence<T extends { readonly words: readonly string[] }>(
  sentences: Iterable<T>,
  signal: AbortSignal,
  visit: (sentence: T) => void,
): Promise<void> {
  let words = WORDS_A_TURN;
  for (const sentence of sentences) {
    words += sentence.words.length;
    if (words >= WORDS_A_TURN) {
      words = 0;
      await nextTurn();
      if (signal.aborted) throw new AbortedError('the CRF expert');
    }
    visit(sentence);
  }
}
