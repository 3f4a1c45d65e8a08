import type { Encoding } from './tokenizer.js';

const capital = /[\p{Lu}\p{Lt}]/u;

/**
 * Tells an encoder about capitals that its tokenizer folds to lower case: token type 1 for each piece with a
 * capital letter in the text, 0 for all others. In `Paris` that is the first piece, in `NATO` every piece. If
 * the tokenizer gives no offsets, the types stay as they are.
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
