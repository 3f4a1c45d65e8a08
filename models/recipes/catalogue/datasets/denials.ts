import { Random } from '../../../../src/system/index.js';
import { capitalized } from '../kinds/combined.js';
import type { LabelledText } from '../recipe.js';
import { judged } from './judged.js';

/**
 * Sentences written for the models of sentiment, in which words of praise and of blame stand on both sides: plain,
 * denied, compared, and outweighed by what follows. Reviews show such turns too seldom for a small model to learn them
 * (counterfactually augmented data, Kaushik et al. 2020). What is measured on (../kinds) names other things, in other
 * patterns.
 */

const THINGS = [
  'the movie',
  'the camera',
  'the restaurant',
  'the staff',
  'this app',
  'the battery',
  'the acting',
  'the story',
  'our room',
  'the food',
  'the website',
  'my new keyboard',
  'the second season',
  'the printer',
  'the ending',
];

const PRAISE = [
  'good',
  'great',
  'funny',
  'useful',
  'clever',
  'reliable',
  'exciting',
  'beautiful',
  'friendly',
  'pleasant',
  'impressive',
  'fresh',
];

const BLAME = [
  'bad',
  'boring',
  'awful',
  'slow',
  'noisy',
  'ugly',
  'rude',
  'disappointing',
  'predictable',
  'cheap',
  'clumsy',
  'annoying',
];

/** Patterns that keep the side of the word in `{}`, of the thing in `<>`. */
const KEEP = [
  '<> is {}.',
  '<> was really {}!',
  'I found <> {}.',
  '<> is more {} than I thought.',
  'Honestly, <> is too {} for words.',
  'Everyone told me that <> is {}, and they were right.',
  'So {}, <>.',
];

/** Patterns that turn it round. */
const TURN = [
  '<> isn’t {}.',
  '<> wasn’t {} in any way.',
  'I don’t think <> is {}.',
  '<> is less {} than I thought.',
  'I wouldn’t call <> {}.',
  'Everyone told me that <> is {}, and they were wrong.',
  '<> is neither {} nor [].',
  '<> never gets {}.',
  'Who says that <> is {}? Not me.',
];

/** Patterns in which the word in `{}` outweighs the one of the other side in `()`. */
const OUTWEIGH = [
  '<> may be (), but I find it {} all the same.',
  'At first <> seemed (), later it was simply {}.',
  '<> looks () and turns out to be {}.',
  'Yes, <> is a little (). It is {} where it matters.',
  'It is () now and then, yet on the whole <> is {}.',
];

/** Of each group of patterns, on each side. */
const MOST_ROWS = 400;
const SEED = 1;

/** All sentences, as many negative as positive ones in each group of patterns, in a fixed order. */
export function denials(): LabelledText[] {
  const random = Random.fromSeed(SEED);
  const sides = [
    { own: PRAISE, other: BLAME, kept: 'positive', turned: 'negative' },
    { own: BLAME, other: PRAISE, kept: 'negative', turned: 'positive' },
  ] as const;
  return sides.flatMap(({ own, other, kept, turned }) => {
    const drawn = (patterns: readonly string[]) => sentences(patterns, own, other, random);
    return [...judged(drawn(KEEP), kept), ...judged(drawn(TURN), turned), ...judged(drawn(OUTWEIGH), kept)];
  });
}

/** @param own words of the side that `{}` and `[]` stand for, `()` for the other. */
function sentences(
  patterns: readonly string[],
  own: readonly string[],
  other: readonly string[],
  random: Random,
): string[] {
  const all = patterns.flatMap((pattern) =>
    THINGS.flatMap((thing) =>
      own.map((word, at) => {
        const second = own[(at + 1) % own.length] ?? word;
        const outweighed = other[random.integer(other.length)] ?? '';
        const filled = pattern.replace('<>', thing).replace('{}', word).replace('[]', second).replace('()', outweighed);
        return capitalized(filled);
      }),
    ),
  );
  return random.shuffle(all).slice(0, MOST_ROWS);
}
