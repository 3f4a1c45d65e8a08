import { Random } from '../../../../src/system/index.js';
import type { LabelledText } from '../recipe.js';

/** Words that filters look for, and that are therefore written in other ways. */
const SWEAR_WORDS =
  /\b(?:fuck\w*|shit\w*|bitch\w*|ass(?:hole)?s?|idiots?|morons?|stupid\w*|dumb\w*|crap\w*|dicks?|bastards?|losers?|cunts?|whores?|scum)\b/giu;
const LONG_WORD = /\b[a-z]{5,}\b/giu;

/** What stands in a word for the letter that it looks like. */
const LIKENESSES: Readonly<Record<string, string>> = {
  a: '@4*',
  e: '3*',
  i: '1!*',
  o: '0*',
  s: '$5',
  u: '*v',
};

/** Rows of each label. */
const MOST_ROWS = 1500;
const SEED = 1;

/**
 * Toxic rows with their swear words in disguise ("id1ot"), and as many others with one of their long words written
 * so, since the disguise alone is no insult.
 */
export function disguisedWords(rows: readonly LabelledText[]): LabelledText[] {
  const random = Random.fromSeed(SEED);
  const rewritten = (label: string, words: RegExp, most: number) =>
    random
      .shuffle(rows.filter(({ labels }) => labels[0] === label))
      .map(({ text, labels }) => ({ text: disguised(text, words, most, random), was: text, labels }))
      .filter(({ text, was }) => text !== was)
      .slice(0, MOST_ROWS)
      .map(({ text, labels }) => ({ text, labels }));
  return [...rewritten('toxic', SWEAR_WORDS, Number.POSITIVE_INFINITY), ...rewritten('non-toxic', LONG_WORD, 1)];
}

/** @param most how many of the words are rewritten at most, from the left. */
function disguised(text: string, words: RegExp, most: number, random: Random): string {
  let count = 0;
  return text.replaceAll(words, (word) => {
    count += 1;
    return count > most ? word : inDisguise(word, random);
  });
}

/** One of the letters that have a likeness is replaced by it; the first letter only where no other has one. */
function inDisguise(word: string, random: Random): string {
  const letters = [...word];
  const places = letters.flatMap((letter, place) => (LIKENESSES[letter.toLowerCase()] ? [place] : []));
  const inner = places.filter((place) => place > 0);
  const from = inner.length > 0 ? inner : places;
  const place = from[random.integer(Math.max(1, from.length))];
  if (place === undefined) return word;
  const likenesses = LIKENESSES[(letters[place] ?? '').toLowerCase()] ?? '';
  return letters.with(place, likenesses.charAt(random.integer(likenesses.length))).join('');
}
