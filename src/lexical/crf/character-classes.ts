/**
 * What a character counts as in a word's shape; letters that are neither upper nor lower case are classed by
 * script.
 */
export const CharacterClass = {
  upper: 1,
  lower: 2,
  digit: 3,
  han: 4,
  hiragana: 5,
  katakana: 6,
  letter: 7,
  mark: 8,
  punctuation: 9,
  symbol: 10,
  other: 11,
} as const;
export type CharacterClass = (typeof CharacterClass)[keyof typeof CharacterClass];

/** The first pattern that matches decides. */
const patterns: readonly (readonly [RegExp, CharacterClass])[] = [
  [/[\p{Lu}\p{Lt}]/u, CharacterClass.upper],
  [/\p{Ll}/u, CharacterClass.lower],
  [/\p{N}/u, CharacterClass.digit],
  [/\p{Script=Han}/u, CharacterClass.han],
  [/\p{Script=Hiragana}/u, CharacterClass.hiragana],
  [/[\p{Script=Katakana}ー]/u, CharacterClass.katakana],
  [/\p{L}/u, CharacterClass.letter],
  [/\p{M}/u, CharacterClass.mark],
  [/\p{P}/u, CharacterClass.punctuation],
  [/\p{S}/u, CharacterClass.symbol],
];

/** The classes of the first 65,536 code points, filled in on first use; 0 is unknown. */
const known = new Uint8Array(0x10000);

/** @param codePoint a Unicode code point. */
export function characterClass(codePoint: number): number {
  if (codePoint >= known.length) return classify(codePoint);
  const remembered = known[codePoint];
  if (remembered) return remembered;
  const found = classify(codePoint);
  known[codePoint] = found;
  return found;
}

function classify(codePoint: number): CharacterClass {
  const character = String.fromCodePoint(codePoint);
  const match = patterns.find(([pattern]) => pattern.test(character));
  return match === undefined ? CharacterClass.other : match[1];
}
