import type { Encoding } from './tokenizer.js';

const capital = /[\p{Lu}\p{Lt}]/u;

/**
 * Tells an encoder capitals that its tokenizer folds away: token type 1 for each piece that stands for a capital letter
 * of the text, 0 for all others. Of `Paris` that is the first piece, of `NATO` every one. Where the tokenizer can't
 * tell places, the types stay.
 * @param encoding of this text alone, without a second one.
 */
export function markCapitals(text: string, encoding: Encoding): Encoding {
  const { offsets, sequenceIds } = encoding;
  if (offsets === null) return encoding;
  const holdsCapital = (token: number) =>
    capital.test(text.slice(offsets[2 * token], offsets[2 * token + 1]));
  return {
    ...encoding,
    typeIds: sequenceIds.map((source, token) => (source === 0 && holdsCapital(token) ? 1 : 0)),
  };
}
