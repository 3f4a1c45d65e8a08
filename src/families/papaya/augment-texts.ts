import { Random } from '../../random.js';
import { editWords } from '../edit-words.js';
import type { LabelledText } from './classification-dataset.js';

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
