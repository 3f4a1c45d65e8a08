import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { characterClass, wordTraits } from '../../../src/lexical/crf/word-features.js';

const SEED = 0x2f0b4c47;

function combine(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

const hashAll = (values: readonly number[]) => values.reduce(combine, SEED);
const codePointsOf = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0);

/** In the order of the columns; affixes of 1 to 4 code points. */
function slowTraits(word: string): number[] {
  const classes = codePointsOf(word).map(characterClass);
  const lower = codePointsOf(word.toLowerCase());
  const affixes = (take: (length: number) => number[]) =>
    [1, 2, 3, 4].map((length) => (length > lower.length ? 0 : hashAll(take(length))));
  return [
    hashAll(codePointsOf(word)),
    hashAll(lower),
    hashAll(classes),
    hashAll(classes.filter((kind, at) => kind !== classes[at - 1])),
    combine(
      SEED,
      classes.reduce((set, kind) => set | (1 << kind), 0),
    ),
    ...affixes((length) => lower.slice(0, length)),
    ...affixes((length) => lower.slice(-length).reverse()),
  ];
}

describe('the traits of a word', () => {
  it('are those that a slow count gives, of any script and length', () => {
    const unit = fc.oneof(
      fc.constantFrom('a', 'B', 'İ', 'ß', '5', '-', '東', 'タ', '🙂', '𝒜', '\ud83d', '\udc00', 'ﬁ'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 400, size: 'max' }), (units) => {
        const word = units.join('');
        const { traits, capitalised } = wordTraits(word);
        expect([...traits]).toEqual(slowTraits(word));
        expect(capitalised).toBe(/^[\p{Lu}\p{Lt}]/u.test(word));
      }),
    );
  });
});
