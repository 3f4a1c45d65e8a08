import { isPauseDue, pause } from '../../pauses.js';

/** Words and the tag id of each. */
export interface TaggedWords {
  readonly words: readonly string[];
  readonly tags: readonly number[];
}

/**
 * Calls `visit` with every sentence, letting the event loop run in between.
 * @throws AbortedError soon after the signal fires.
 */
export async function forEachSentence<T extends { readonly words: readonly string[] }>(
  sentences: Iterable<T>,
  signal: AbortSignal,
  visit: (sentence: T) => void,
): Promise<void> {
  for (const sentence of sentences) {
    if (isPauseDue()) await pause(signal);
    visit(sentence);
  }
}
