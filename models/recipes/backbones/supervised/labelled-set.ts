import type { LabelledText } from '../../catalogue/recipe.js';
import type { MeasuredTexts } from '../corpus/measured-texts.js';
import { sentencesOf } from '../corpus/sentences.js';

/** Texts with one label each. */
export interface LabelledSet {
  readonly name: string;
  /** The most rows that are taken, so that no set outweighs the others. Default: all of them. */
  readonly maxRows?: number;
  /** Rows with several labels are left out. @param datasets the folder that holds every dataset. */
  read(datasets: string): readonly LabelledText[] | Promise<readonly LabelledText[]>;
}

/** A text, the set it is from and its label among those of the set. */
export interface SetRow {
  readonly text: string;
  readonly set: number;
  readonly label: number;
}

export interface LabelledRows {
  /** In a random order that the seed decides. */
  readonly rows: readonly SetRow[];
  /** How many labels each set has. */
  readonly labelCounts: readonly number[];
}

export interface LabelledReading {
  readonly datasets: string;
  readonly measured: MeasuredTexts;
  readonly shuffle: <Row>(rows: readonly Row[]) => Row[];
}

/** Rows of all sets with one label, without those of which a sentence is measured on. */
export async function readLabelledSets(
  sets: readonly LabelledSet[],
  { datasets, measured, shuffle }: LabelledReading,
): Promise<LabelledRows> {
  const rows: SetRow[] = [];
  const labelCounts: number[] = [];
  const isFree = (text: string) =>
    !measured.has(text) && !sentencesOf(text).some((each) => measured.has(each));
  for (const [set, { name, maxRows, read }] of sets.entries()) {
    const single = (await read(datasets)).filter(({ text, labels }) => labels.length === 1 && isFree(text));
    const taken = shuffle(single).slice(0, maxRows);
    const names = [...new Set(taken.flatMap(({ labels }) => labels))].sort();
    for (const { text, labels } of taken) rows.push({ text, set, label: names.indexOf(labels[0] ?? '') });
    labelCounts.push(names.length);
    console.log(`${name}: ${taken.length} rows, ${names.length} labels`);
  }
  return { rows: shuffle(rows), labelCounts };
}
