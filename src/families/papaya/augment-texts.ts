import { Random } from '../../random.js';
import type { LabelledText } from './classification-dataset.js';

/** Share of a text's words that one edit touches (Wei & Zou 2019, "EDA", α for small sets). */
const EDITED_SHARE = 0.1;
/** Shorter texts are left alone: dropping a word of theirs may drop the label's reason. */
const MIN_WORDS = 4;

/**
 * One edited copy of every row: words dropped or swapped with a neighbour, the label kept.
 * Rows too short to edit safely, and edits that change nothing, give no copy.
 */
export function augmentTexts(rows: readonly LabelledText[], seed: number): LabelledText[] {
  const random = Random.fromSeed(seed);
  return rows.flatMap(({ text, labelIds }) => {
    const edited = editWords(text, random);
    return edited === text ? [] : [{ text: edited, labelIds }];
  });
}

function editWords(text: string, random: Random): string {
  const words = text.split(' ');
  if (words.length < MIN_WORDS) return text;
  const edits = Math.max(1, Math.round(words.length * EDITED_SHARE));
  for (let edit = 0; edit < edits; edit += 1) {
    const at = random.integer(words.length - 1);
    if (random.uniform() < 0.5) words.splice(at, 1);
    else words.splice(at, 2, ...words.slice(at, at + 2).reverse());
  }
  return words.join(' ');
}
