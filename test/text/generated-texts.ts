import fc from 'fast-check';
import { Random } from '../../src/system/numbers.js';

/** Texts made of small word lists and of characters that tokenizers stumble over. The same seed, the same texts. */

export type Pick = <Item>(items: readonly Item[]) => Item;

export function picker(seed: number): Pick {
  const random = Random.fromSeed(seed);
  return (items) => {
    const item = items[random.integer(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  };
}

const subjects = ['The customer', 'my sister', 'A tired driver', 'NASA', 'everyone', 'the old phone', 'She'];
const verbs = ['returned', "didn't like", 'was waiting for', 'ordered', 're-ordered', 'complains about'];
const objects = ['the blue jacket', 'an unexpected invoice', 'two concert tickets', 'that café', 'this app'];
const endings = ['yesterday.', 'for $24.99!', 'again, sadly...', '(in January)', 'twice?', 'e.g. here'];

/** Plain English sentences. */
export function englishTexts(count: number, seed = 1): string[] {
  const pick = picker(seed);
  return Array.from({ length: count }, () => [subjects, verbs, objects, endings].map(pick).join(' '));
}

/** Words that tokenizers stumble over: marks, scripts, emoji, controls, lone surrogates, white space. */
export const hardWords = [
  ...['[MASK]', '[CLS]', '[sep]', '##ing', '__proto__', 'constructor', 'a'.repeat(101), 'ab'.repeat(50)],
  ...['naïve', 'e\u0301\u0323t\u00e9', 'Ångström', 'İstanbul', 'ΣΑΣ', 'Straße', 'ŉ', 'ﬁn', '½', '≠', 'x\u0338'],
  ...['東京都', '豈', '𠀀𪜀', '𫠝', 'がギ', 'カ\u3099', 'ｶﾞ', '한국어', 'हिन्दी', 'ไทย', 'שָׁלוֹם', 'العَرَبِيَّة', 'Привет, ёж'],
  ...[
    '👍🏽',
    '👨‍👩‍👧',
    '🇯🇵',
    '☎️',
    '\ud83d',
    '\udc4d',
    'a\ud83db',
    '\ufffd',
    '\u0000',
    '\u0007',
    '\u200d',
    '\ufeff',
    '\u00ad',
  ],
  ...[
    '\u00a0',
    '\u2028',
    '\u3000',
    '\u0085',
    '\u000b',
    '\t',
    '\r\n',
    '  ',
    '—',
    '„Zitat“',
    '¿Qué?',
    '、。',
    '!!',
    '$^~`',
  ],
];

const marks = characters(/\p{M}/u);
const assigned = characters(/[^\p{Cn}\p{Co}\p{Cs}]/u);
const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

/** Short texts of emoji, marks, many scripts, controls, lone surrogates and odd white space. */
export function hardTexts(count: number, seed = 1): string[] {
  const pick = picker(seed);
  const kinds = [
    () => pick(hardWords),
    () => pick(hardWords),
    () => pick(englishTexts(8, seed)),
    () => pick(assigned),
    () => pick(ascii),
    () => `${pick(['a', 'e', 'क', '漢'])}${pick(marks)}${pick(marks)}`,
  ];
  return Array.from({ length: count }, () => {
    const words = Array.from({ length: pick([0, 1, 3, 6, 12]) }, () => pick(kinds)());
    return words.map((word) => word + pick(['', ' ', ' ', '-'])).join('');
  });
}

/** For fast-check: words, hard ones too, and any UTF-16 code units in between. */
export const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...hardWords),
      fc.constantFrom(...englishTexts(20)),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 6 }),
    ),
    { maxLength: 10 },
  )
  .map((parts) => parts.join(' '));

/** Every character of planes 0 to 3 and 14 that this runtime's Unicode knows and that fits the pattern. */
export function characters(pattern: RegExp): string[] {
  const found: string[] = [];
  for (let codePoint = 0; codePoint < 0xe1000; codePoint++) {
    if (codePoint === 0x40000) codePoint = 0xe0000;
    const character = String.fromCodePoint(codePoint);
    if (pattern.test(character)) found.push(character);
  }
  return found;
}
