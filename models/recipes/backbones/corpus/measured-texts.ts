import { sentencesOf } from './sentences.js';

/** Sentences of fewer words (in scripts without spaces, of fewer letters) are too common to prove a copy. */
const TELLING_WORDS = 6;
const TELLING_LETTERS = 12;
const SPACELESS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;

/** Keeps only letters and digits, so that texts are compared without case, spacing and punctuation. */
export const foldText = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');

/**
 * Texts that models are measured on, and the telling sentences in them, none of which may occur in a passage.
 */
export class MeasuredTexts {
  readonly #folded = new Set<string>();

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      this.#folded.add(foldText(text));
      for (const sentence of sentencesOf(text)) if (isTelling(sentence)) this.#folded.add(foldText(sentence));
    }
  }

  /** Whether this text or sentence is one of them, apart from case, spacing and punctuation. */
  has(text: string): boolean {
    return this.#folded.has(foldText(text));
  }
}

function isTelling(sentence: string): boolean {
  if (sentence.split(/\s+/u).length >= TELLING_WORDS) return true;
  return SPACELESS.test(sentence) && foldText(sentence).length >= TELLING_LETTERS;
}
