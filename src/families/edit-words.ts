import type { Random } from '../system/index.js';

/** Share of a text's words that one edit touches (Wei & Zou 2019, "EDA", α for small sets). */
const EDITED_SHARE = 0.1;
/** Shorter texts are left alone, since dropping one of their words may change what they are about. */
const MIN_WORDS = 4;

/**
 * A text with some words dropped or swapped with a neighbour, at least one; the same text if it is too
 * short to edit safely.
 * @param mayDrop which words may be dropped; the others are only swapped. Default: every word.
 */
export function editWords(text: string, random: Random, mayDrop: (word: string) => boolean = () => true): string {
  const words = text.split(' ');
  if (words.length < MIN_WORDS) return text;
  const edits = Math.max(1, Math.round(words.length * EDITED_SHARE));
  for (let edit = 0; edit < edits; edit += 1) {
    const at = random.integer(words.length - 1);
    const drops = random.uniform() < 0.5 && mayDrop(words[at] ?? '');
    if (drops) words.splice(at, 1);
    else words.splice(at, 2, ...words.slice(at, at + 2).reverse());
  }
  return words.join(' ');
}
