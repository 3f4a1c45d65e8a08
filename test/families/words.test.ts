import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guessSplitting, splitWords, wordSplittings } from '../../src/families/words.js';

function words(text: string, splitting: (typeof wordSplittings)[number]): string {
  return splitWords(text, splitting)
    .map((word) => word.text)
    .join('|');
}

describe('words at white space', () => {
  it.each([
    ['spaces, tabs and line breaks', 'a  b\tc\r\nd', 'a|b|c|d'],
    ['no-break and ideographic spaces', 'a\u00a0b\u3000c\u2028d\u0085e', 'a|b|c|d|e'],
    ['a byte order mark', '\uFEFFa b', 'a|b'],
    ['marks, which stay', ' (Paris). ', '(Paris).'],
    ['nothing', ' \n', ''],
  ])('are set apart by %s', (_, text, expected) => {
    expect(words(text, 'whitespace')).toBe(expected);
  });

  it('start where the text has them, in UTF-16 code units', () => {
    expect(splitWords(' 😀 né', 'whitespace')).toEqual([
      { text: '😀', start: 1 },
      { text: 'né', start: 4 },
    ]);
  });
});

describe('words of ASCII text', () => {
  it('are split at the same characters as those of other texts', () => {
    const ascii = fc.string({ unit: 'binary-ascii', maxLength: 20 });
    fc.assert(
      fc.property(ascii, (text) => {
        const found = splitWords(`${text} é`, 'whitespace').slice(0, -1);
        expect(splitWords(`${text} `, 'whitespace')).toEqual(found);
      }),
      { numRuns: 500 },
    );
  });
});

describe('words with punctuation set apart', () => {
  it.each([
    ['I saw Paris.', 'I|saw|Paris|.'],
    ['(NASA)', '(|NASA|)'],
    ['"Paris," she said!', '"|Paris|,|"|she|said|!'],
    ['«Où?» ¿Qué?', '«|Où|?|»|¿|Qué|?'],
    ['so... yes -- no!!', 'so|...|yes|--|no|!!'],
    ["London's John’s Giants'", "London|'s|John|’s|Giants|'"],
    ["I'm sure we’ll see 's", "I|'m|sure|we|’ll|see|'s"],
    ["in Paris's.", "in|Paris|'s|."],
    ["don't AT&T e-mail 3.5 1,000 10:30 and/or", "don't|AT&T|e-mail|3.5|1,000|10:30|and/or"],
    ['the U.S. and J. Smith, e.g.', 'the|U.S.|and|J.|Smith|,|e.g.'],
    ['(the U.S.)', '(|the|U.S.|)'],
    ['Mr. Smith of Acme Inc., here.', 'Mr.|Smith|of|Acme|Inc.|,|here|.'],
    ['@user_1: #tag, # @', '@user_1|:|#tag|,|#|@'],
    ['-5 -.5 .5 $5 5%', '-5|-.5|.5|$5|5|%'],
    ['see https://a.org/b?c=d, or a.b@c.org.', 'see|https://a.org/b?c=d|,|or|a.b@c.org|.'],
    ['...', '...'],
    ['!?', '!|?'],
    ['naïve 😀!', 'naïve|😀|!'],
    ['नमस्ते।', 'नमस्ते|।'],
  ])('%s', (text, expected) => {
    expect(words(text, 'punctuation')).toBe(expected);
  });

  it('are found in scripts without spaces too', () => {
    expect(words('東京に行った。', 'punctuation').replaceAll('|', '')).toBe('東京に行った。');
    expect(words('東京に行った。', 'punctuation').split('|')).toContain('東京');
  });
});

describe('words with every mark set apart', () => {
  it.each([
    ['Selegiline-induced (5%)', 'Selegiline|-|induced|(|5|%|)'],
    ["Parkinson's 3.5 a+b...", "Parkinson|'|s|3|.|5|a|+|b|.|.|."],
    ['naïve 😀!', 'naïve|😀|!'],
  ])('%s', (text, expected) => {
    expect(words(text, 'marks')).toBe(expected);
  });
});

describe('words of single characters', () => {
  it.each([
    ['東京タワー、高さ333mです。', '東|京|タ|ワ|ー|、|高|さ|333m|で|す|。'],
    ['「NASA」と', '「|NASA|」|と'],
    ['が\u3099x', 'が\u3099|x'],
    ['𠮷野家', '𠮷|野|家'],
    ['I saw Paris.', 'I|saw|Paris|.'],
    ['한국어 단어', '한국어|단어'],
  ])('%s', (text, expected) => {
    expect(words(text, 'characters')).toBe(expected);
  });
});

describe('any text', () => {
  const unit = fc.oneof(
    fc.constantFrom(' ', '\t', '\n', '\u00a0', '\u3000', '\uFEFF', '\u200d', '.', ',', "'", '’s', '(', '」', '@', '#'),
    fc.constantFrom(
      'a',
      'U.',
      '5',
      'é',
      'e\u0301',
      '東',
      'タ',
      'ー',
      'ไ',
      'ท\u0e35',
      '한',
      '𠮷',
      '👩‍👩‍👧',
      '\ud83d',
      '\ude00',
    ),
    fc.string({ unit: 'binary', maxLength: 2 }),
  );
  const text = fc.array(unit, { maxLength: 20 }).map((units) => units.join(''));

  it.each(wordSplittings)(
    'gives words that are where they say, in order, and lose nothing but space: %s',
    (splitting) => {
      fc.assert(
        fc.property(text, (each) => {
          let end = 0;
          for (const { text: word, start } of splitWords(each, splitting)) {
            expect(each.slice(end, start)).toMatch(/^[\p{White_Space}\uFEFF]*$/u);
            expect(word).toMatch(/^[^\p{White_Space}\uFEFF]+$/u);
            expect(each.slice(start, start + word.length)).toBe(word);
            end = start + word.length;
          }
          expect(each.slice(end)).toMatch(/^[\p{White_Space}\uFEFF]*$/u);
        }),
        { numRuns: 1000 },
      );
    },
  );

  it.each(wordSplittings)('does not take long where it is long: %s', (splitting) => {
    for (const part of ['.', '.,', '@', "a's", '(', 'U.', '東', '京。', 'a.']) {
      for (const long of [part.repeat(20_000), `a${part.repeat(20_000)}`, `${part.repeat(20_000)}a`]) {
        expect(words(long, splitting).replaceAll('|', '')).toBe(long);
      }
    }
  });
});

describe('the splitting that training words suggest', () => {
  const sentences = (...lines: string[]) => lines.map((line) => line.split(' '));

  it.each([
    ['marks that stand alone', sentences('I saw Paris .', 'Really ? Yes ( I did ) .'), 'punctuation'],
    ['marks attached to words', sentences('I saw Paris.', 'Really? Yes, I did.'), 'whitespace'],
    ['no marks, which tells nothing', sentences('i saw paris', 'yes i did'), 'punctuation'],
    ['marks within words', sentences("I don't . AT&T , 3.5 U.S. !"), 'punctuation'],
    ['single characters of a script without spaces', sentences('東 京 に 行 っ た 。', 'N A S A'), 'characters'],
    ['words of a script without spaces', sentences('東京 に 行っ た 。'), 'punctuation'],
    [
      'a few such characters among other words',
      sentences('the sign 東 means east in the old script of China .'),
      'punctuation',
    ],
    ['every mark alone', sentences("Parkinson ' s , beta - blocker - induced"), 'marks'],
    ['lone dashes beside words that hold marks', sentences("It 's new - so e-mail me"), 'punctuation'],
    ['no sentences', [], 'punctuation'],
  ] as const)('%s', (_, training, expected) => {
    expect(guessSplitting(training)).toBe(expected);
  });
});

describe('a long run of a script without spaces', () => {
  it.each(['สวัสดีชาวโลก', '日本語の文章を単語に分ける試みです'])('has the words that its pieces have: %s', (piece) => {
    const short = splitWords(piece, 'punctuation').map(({ text }) => text);
    const long = splitWords(piece.repeat(500), 'punctuation');
    expect(long.map(({ text }) => text)).toEqual(Array.from({ length: 500 }, () => short).flat());
    expect(long.at(-1)?.start).toBe(500 * piece.length - (short.at(-1)?.length ?? 0));
  });

  it.each(['東京都港区麻布台', 'สวัสดีชาวโลก', 'ーーーー', '東a!'])('takes time by its length: %s', (piece) => {
    const text = piece.repeat(Math.ceil(100_000 / piece.length));
    const startedAt = performance.now();
    expect(
      splitWords(text, 'punctuation')
        .map((word) => word.text)
        .join(''),
    ).toBe(text);
    // It took 11 s for some before.
    expect(performance.now() - startedAt).toBeLessThan(4000);
  });
});
