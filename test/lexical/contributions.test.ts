import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trainLinearExpert } from '../../src/lexical/index.js';
import { spreadOverText } from '../../src/lexical/linear-expert.js';
import { NGramHasher } from '../../src/lexical/tf-idf.js';

const texts = [
  'The film was great, great!',
  'The book was dull; the meal was awful',
  'İstanbul was lovely 🎉 and 東京 too',
  'a terrible train',
];
const expert = await trainLinearExpert(
  texts,
  [[0], [1], [0, 2], [1, 2]].map((active) => ({ active })),
  {
    outputs: 3,
    lowercase: true,
    seed: 1,
  },
);
const bias = expert.read('').margins;
const vocabulary = texts.join(' ').split(' ');

/** Texts of known words and of anything else. */
const someText = fc
  .array(fc.oneof(fc.constantFrom(...vocabulary), fc.string({ unit: 'grapheme' })), { maxLength: 20 })
  .map((words) => words.join(' '));

describe('what characters add to a margin', () => {
  it('is together the margin without its bias, in any direction', () => {
    const direction = fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(someText, direction, (text, weights) => {
        const added = expert.contributions(text, weights).reduce((sum, each) => sum + each, 0);
        const along = (values: Float32Array) =>
          values.reduce((sum, value, output) => sum + value * (weights[output] ?? 0), 0);
        expect(added).toBeCloseTo(along(expert.read(text).margins) - along(bias), 4);
      }),
    );
  });

  it('stands on the words that say it, and on nothing that nobody has seen', () => {
    const text = 'xq zzq was awful 999';
    const added = expert.contributions(text, [0, 1, 0]);
    const ofWord = (word: string) => {
      const start = text.indexOf(word);
      return added.subarray(start, start + word.length).reduce((sum, each) => sum + each, 0);
    };
    expect(ofWord('awful')).toBeGreaterThan(0.1);
    expect(ofWord('999')).toBe(0);
    expect(ofWord('zzq')).toBe(0);
    expect(added).toHaveLength(text.length);
  });
});

describe('the place of an n-gram', () => {
  it('holds the characters that its hash is of', () => {
    const words = new NGramHasher({ lowercase: false, words: true, triples: true, characters: null });
    const characters = { shortest: 2, longest: 5 };
    const parts = new NGramHasher({ lowercase: false, words: false, characters });
    fc.assert(
      fc.property(someText, (text) => {
        const codePoints = [...` ${text} `];
        for (const hasher of [words, parts]) {
          const { end, ...views } = hasher.hash(text);
          // The next call overwrites them.
          const [hashes, starts, ends] = [
            views.hashes.slice(0, end),
            views.starts.slice(0, end),
            views.ends.slice(0, end),
          ];
          expect(hasher.hash(text).hashes.subarray(0, end)).toEqual(hashes);
          for (let at = 0; at < end; at += 1) {
            const slice = codePoints.slice((starts[at] ?? 0) + 1, (ends[at] ?? 0) + 1).join('');
            const again = hasher.hash(slice);
            expect(again.hashes.subarray(0, again.end)).toContain(hashes[at]);
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  it('is that of the text itself where lower case has more characters', () => {
    const places = spreadOverText('İa', true, [{ value: 3, start: 0, end: 3 }]);
    expect(Array.from(places)).toEqual([2, 1]);
  });
});
