import { CharacterKind, characterKind } from './character-kinds.js';

/** What an n-gram adds, and where it stands, in code points of a text as it is read. */
export interface PlacedValue {
  readonly value: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * Spreads values over the characters that they stand on, evenly, white space left out, so that all of them together are
 * the sum of the values. A value that stands on white space alone, which no n-gram does, is left out.
 * @param lowercase whether the text was read in lower case, in which some characters are several.
 * @returns the sum for each character, at its first UTF-16 code unit. [text.length]
 */
export function spreadOverText(
  text: string,
  lowercase: boolean,
  values: Iterable<PlacedValue>,
): Float64Array {
  const spread = new Float64Array(text.length);
  const places = placesOf(text, lowercase);
  for (const { value, start, end } of values) {
    const covered = places.slice(Math.max(0, start), end).filter(({ isSpace }) => !isSpace);
    for (const { at } of covered) spread[at] = (spread[at] ?? 0) + value / covered.length;
  }
  return spread;
}

/** A code point as it is read. */
interface Place {
  /** The first UTF-16 code unit of the character that it is read from. */
  readonly at: number;
  readonly isSpace: boolean;
}

function placesOf(text: string, lowercase: boolean): Place[] {
  const places: Place[] = [];
  let at = 0;
  for (const character of text) {
    for (const read of lowercase ? character.toLowerCase() : character) {
      places.push({ at, isSpace: characterKind(read.codePointAt(0) ?? 0) === CharacterKind.space });
    }
    at += character.length;
  }
  return places;
}
