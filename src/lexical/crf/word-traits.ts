import { combineHash } from '../hash-table.js';
import { CharacterClass, characterClass } from './character-classes.js';

/** The column of each trait in a word's row; a trait is a 32-bit hash, or 0 if the word has none. */
export const Trait = {
  word: 0,
  lower: 1,
  shape: 2,
  foldedShape: 3,
  classes: 4,
  prefix1: 5,
  prefix2: 6,
  prefix3: 7,
  prefix4: 8,
  suffix1: 9,
  suffix2: 10,
  suffix3: 11,
  suffix4: 12,
} as const;
export type Trait = (typeof Trait)[keyof typeof Trait];

/** The number of traits of one word. */
export const TRAITS = 13;
const LONGEST_AFFIX = 4;
/** The start of every hash. */
const SEED = 0x2f0b4c47;

/** What a word is by itself: its letters, affixes and shape, the same in every sentence. */
export interface WordTraits {
  /** Hashes by {@link Trait}. [TRAITS] */
  readonly traits: Int32Array;
  /** Begins with an upper-case letter. */
  readonly capitalised: boolean;
}

/** Affixes are those of the lower-cased word, counted in code points; a short word is its own affix. */
export function wordTraits(word: string): WordTraits {
  const traits = new Int32Array(TRAITS);
  const lower = codePointsOf(word.toLowerCase());
  traits[Trait.word] = hashAll(codePointsOf(word));
  traits[Trait.lower] = hashAll(lower);
  const classes = codePointsOf(word).map(characterClass);
  traits[Trait.shape] = hashAll(classes);
  traits[Trait.foldedShape] = hashAll(classes.filter((kind, at) => kind !== classes[at - 1]));
  traits[Trait.classes] = combineHash(
    SEED,
    classes.reduce((set, kind) => set | (1 << kind), 0),
  );
  const longest = Math.min(LONGEST_AFFIX, lower.length);
  let prefix = SEED;
  let suffix = SEED;
  for (let length = 1; length <= longest; length += 1) {
    prefix = combineHash(prefix, lower[length - 1] ?? 0);
    suffix = combineHash(suffix, lower[lower.length - length] ?? 0);
    traits[Trait.prefix1 + length - 1] = prefix;
    traits[Trait.suffix1 + length - 1] = suffix;
  }
  return { traits, capitalised: classes[0] === CharacterClass.upper };
}

function codePointsOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function hashAll(values: readonly number[]): number {
  return values.reduce(combineHash, SEED);
}
