/** What a character counts as in n-grams. */
export const CharacterKind = { space: 1, word: 2, symbol: 3, other: 4 } as const;
export type CharacterKind = (typeof CharacterKind)[keyof typeof CharacterKind];

const space = /\s/u;
const word = /[\p{L}\p{N}\p{M}_]/u;
/** Marks that carry meaning of their own: currency signs, emoji, and three of the punctuation. */
const symbol = /[\p{S}!?%]/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const letter = /\p{L}/u;

/** The kinds of the first 65,536 code points, filled in on first use; 0 is unknown. */
const known = new Uint8Array(0x10000);

/** @param codePoint a Unicode code point. */
export function characterKind(codePoint: number): number {
  if (codePoint >= known.length) return classify(codePoint);
  const kind = known[codePoint];
  if (kind) return kind;
  const found = classify(codePoint);
  known[codePoint] = found;
  return found;
}

function classify(codePoint: number): CharacterKind {
  const character = String.fromCodePoint(codePoint);
  if (space.test(character)) return CharacterKind.space;
  if (word.test(character)) return CharacterKind.word;
  return symbol.test(character) ? CharacterKind.symbol : CharacterKind.other;
}

/** The letters of this many texts decide whether spaces separate words. */
const TEXTS_TO_LOOK_AT = 1000;

/** Whether most letters belong to scripts that are written without spaces between words. */
export function isUnspaced(texts: readonly string[]): boolean {
  let letters = 0;
  let unspacedLetters = 0;
  for (const text of texts.slice(0, TEXTS_TO_LOOK_AT)) {
    for (const character of text) {
      if (!letter.test(character)) continue;
      letters += 1;
      if (unspaced.test(character)) unspacedLetters += 1;
    }
  }
  return unspacedLetters > letters / 2;
}
