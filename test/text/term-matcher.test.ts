import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runToEnd } from '../../src/system/index.js';
import { TermMatcher } from '../../src/text/index.js';

/** Terms found in texts, against a slow reference that tries every term at every place. */

interface List {
  readonly terms: readonly string[];
  readonly ignoreCase: boolean;
  readonly wholeWords: boolean;
}
type Place = readonly [list: number, start: number, end: number];

function found(lists: readonly List[], text: string): Place[] {
  const places: Place[] = [];
  runToEnd(TermMatcher.build(lists)).find(text, (list, start, end) => places.push([list, start, end]));
  return places.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
}
const slices = (lists: readonly List[], text: string) =>
  found(lists, text).map(([, start, end]) => text.slice(start, end));
const listOf = (terms: readonly string[], more: Partial<List> = {}): List => ({
  ...{ terms, ignoreCase: false, wholeWords: true },
  ...more,
});

/** What equals what: canonical forms, and white space. */
function comparable(text: string, ignoreCase: boolean): string {
  const cased = ignoreCase ? text.normalize('NFD').toUpperCase().toLowerCase() : text;
  return cased.normalize('NFD').replace(/\s+/gu, ' ');
}
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const letter = /^[\p{L}\p{N}_]/u;

/** Tries each term from each grapheme to each other. */
function reference(lists: readonly List[], text: string): Place[] {
  const parts = Array.from(graphemes.segment(text), ({ segment, index }) => ({ segment, index }));
  const ends = [...parts.map(({ index }) => index), text.length];
  const isInWord = (at: number) => {
    const [before, after] = [parts[at - 1]?.segment ?? ' ', parts[at]?.segment ?? ' '];
    return letter.test(before) && letter.test(after) && !unspaced.test(before) && !unspaced.test(after);
  };
  const isInSpace = (at: number) => /^\s/u.test(parts[at - 1]?.segment ?? '') && /^\s/u.test(parts[at]?.segment ?? '');
  const places: Place[] = [];
  for (const [list, { terms, ignoreCase, wholeWords }] of lists.entries()) {
    const wanted = new Set(terms.map((term) => comparable(term.trim(), ignoreCase)));
    for (let from = 0; from < parts.length; from += 1) {
      for (let to = from + 1; to <= parts.length; to += 1) {
        const [start = 0, end = 0] = [ends[from], ends[to]];
        if (isInSpace(from) || isInSpace(to) || (wholeWords && (isInWord(from) || isInWord(to)))) continue;
        if (wanted.has(comparable(text.slice(start, end), ignoreCase))) places.push([list, start, end]);
      }
    }
  }
  return places;
}

/** Few pieces, so that terms occur: words that contain others, marks, emoji, scripts without spaces, white space. */
const piece = fc.constantFrom(
  ...[
    'a',
    'ab',
    'A',
    'é',
    'e\u0301',
    'E\u0301',
    'ß',
    'ss',
    'Σ',
    'ς',
    'σ',
    '東',
    '京',
    'カ',
    'ไ',
    '👍',
    '👍🏽',
    '👩‍👩‍👧',
    '🇩🇪',
    '1',
  ],
  ...[' ', '  ', '\u2003', '\u00a0', '-', '.', '_', '\ud83d', '\u0301'],
);
const some = (least: number, most: number) =>
  fc.array(piece, { minLength: least, maxLength: most }).map((pieces) => pieces.join('').replace(/\s+\u0301/gu, ' ')); // a mark on a space is no writing
const lists = fc.array(
  fc.record({
    terms: fc.array(
      some(1, 4).filter((term) => term.trim() !== ''),
      { minLength: 1, maxLength: 4 },
    ),
    ignoreCase: fc.boolean(),
    wholeWords: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3 },
);

describe('TermMatcher', () => {
  it('finds what a search of every place finds, with the same offsets', () => {
    fc.assert(
      fc.property(lists, some(0, 14), (given, text) => {
        expect(found(given, text)).toEqual(reference(given, text));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['whole words', listOf(['phone']), 'phones, phone-book, smartphone, phone.', ['phone', 'phone']],
    [
      'overlapping terms',
      listOf(['New York', 'York', 'York City']),
      'New York City',
      ['New York', 'York', 'York City'],
    ],
    ['any white space', listOf(['Acme Phone']), 'Acme  Phone, Acme\nPhone', ['Acme  Phone', 'Acme\nPhone']],
    ['case as given', listOf(['Acme']), 'ACME Acme', ['Acme']],
    ['any case', listOf(['straße'], { ignoreCase: true }), 'STRASSE Straße', ['STRASSE', 'Straße']],
    ['composed and decomposed marks', listOf(['café']), 'cafe\u0301 café', ['cafe\u0301', 'café']],
    ['no letter without its mark', listOf(['cafe']), 'cafe\u0301 cafe', ['cafe']],
    ['words of scripts without spaces', listOf(['東京']), '私は東京都に住む', ['東京']],
    ['no emoji without its tone', listOf(['👍']), '👍🏽 👍', ['👍']],
    ['parts of words on request', listOf(['서울'], { wholeWords: false }), '서울에서', ['서울']],
    ['marks at the edges', listOf(['C++', '.NET']), 'C++, .NET', ['C++', '.NET']],
  ])('finds %s', (_, list, text, expected) => {
    expect(slices([list], text)).toEqual(expected);
  });
});
