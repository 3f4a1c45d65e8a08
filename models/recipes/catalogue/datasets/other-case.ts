import type { TaggedSentence } from '../../../../bench/datasets/tagged-sentences.js';

/** Of every so many sentences, one is copied in lower case, and one in capitals. */
const LOWER_STEP = 4;
const CAPITALS_STEP = 8;

/** Sentences, and after them copies of some as people type who use no capitals, or nothing else. */
export function withOtherCase(sentences: readonly TaggedSentence[]): TaggedSentence[] {
  const copies = (step: number, change: (word: string) => string) =>
    sentences
      .filter((_, row) => row % step === step - 1)
      .map(({ words, tags }) => ({ words: words.map(change), tags }));
  return [
    ...sentences,
    ...copies(LOWER_STEP, (word) => word.toLowerCase()),
    ...copies(CAPITALS_STEP, (word) => word.toUpperCase()),
  ];
}
