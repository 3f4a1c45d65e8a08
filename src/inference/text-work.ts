/** Fixed work of a text, in characters: its special tokens and its share of starting a run. */
const TEXT_COST = 20;
/**
 * Attention's share: its work grows with the square of the length, and in a mini is a sixth of the work of a text of
 * a thousand characters.
 */
const SQUARE_COST = 1.5e-4;
/** Longer texts are truncated, or read in windows, so that work grows no faster than length. */
const SQUARE_LIMIT = 2000;

/** How much work a text is before anybody has tokenized it, in units of a character of a short text. */
export function textWork(text: string): number {
  const { length } = text;
  return TEXT_COST + length + SQUARE_COST * length * Math.min(length, SQUARE_LIMIT);
}
