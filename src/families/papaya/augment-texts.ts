import { Random } from '../../random.js';
import { editWords } from '../edit-words.js';
import type { LabelledText } from './classification-dataset.js';
import { asPosted, withoutPunctuation, withSlips } from './typing.js';

/**
 * One edited copy of every row, its label kept: words dropped or swapped with a neighbour, words mistyped, punctuation
 * left out, or handles, hashtags, addresses and emoji around it; one or two of these. Edits that change nothing give no
 * copy, and texts too short to do without a word keep all of theirs.
 */
export function augmentTexts(rows: readonly LabelledText[], seed: number): LabelledText[] {
  const random = Random.fromSeed(seed);
  return rows.flatMap(({ text, labelIds }) => {
    const edited = random
      .shuffle(edits)
      .slice(0, 1 + random.integer(2))
      .reduce((sofar, edit) => edit(sofar, random), text);
    return edited === text ? [] : [{ text: edited, labelIds }];
  });
}

const edits: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => editWords(text, random),
  withSlips,
  withoutPunctuation,
  asPosted,
];
