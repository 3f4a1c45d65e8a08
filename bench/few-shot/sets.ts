import { type LabelledTexts, type Row, readers } from '../datasets/labelled-texts.js';

/** The datasets of the bench, and how few of their rows are drawn. */

export interface LabelledText {
  readonly text: string;
  readonly label: string;
}

export interface LabelledSet {
  readonly train: readonly LabelledText[];
  readonly test: readonly LabelledText[];
}

const EMOTIONS = new Set(['anger', 'fear', 'joy', 'love', 'sadness', 'surprise']);

/** Classification sets with the rows per class that are measured. */
export const classificationSets: Readonly<
  Record<string, { readonly rows: readonly number[]; readonly read: (root: string) => LabelledSet }>
> = {
  sst2: { rows: [8, 16, 64], read: reader('sst2') },
  massive_en: { rows: [8], read: reader('massive_en') },
  banking77: { rows: [8], read: reader('banking77') },
  /** Comments of GoEmotions with exactly one label, which is one of six. */
  emotion: { rows: [8, 16], read: reader('goemotions', (label) => (EMOTIONS.has(label) ? label : undefined)) },
  ag_news: { rows: [8, 16], read: reader('ag_news') },
};

/** @param rename gives a row another label; undefined leaves the row out. */
function reader(name: string, rename = (label: string): string | undefined => label): (root: string) => LabelledSet {
  const single = ({ text, labels }: Row): LabelledText[] => {
    const label = labels.length === 1 && labels[0] !== undefined ? rename(labels[0]) : undefined;
    return label === undefined ? [] : [{ text, label }];
  };
  return (root) => {
    const { train, test }: Pick<LabelledTexts, 'train' | 'test'> = readers[name]?.(root) ?? { train: [], test: [] };
    return { train: train.flatMap(single), test: test.flatMap(single) };
  };
}

/** `count` rows of each class, in random order. */
export function fewShot(rows: readonly LabelledText[], count: number, seed: number): LabelledText[] {
  const byLabel = new Map<string, LabelledText[]>();
  for (const row of shuffled(rows, seed)) {
    const before = byLabel.get(row.label) ?? [];
    if (before.length < count) byLabel.set(row.label, [...before, row]);
  }
  return shuffled([...byLabel.values()].flat(), seed);
}

/** Fisher–Yates. */
export function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const random = mulberry32(seed);
  const result = [...values];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const [moved] = result.splice(Math.floor(random() * (last + 1)), 1, ...result.slice(last, last + 1));
    if (moved !== undefined) result[last] = moved;
  }
  return result;
}

/** Tommy Ettinger's generator, so that rows drawn elsewhere by the same seed can be drawn again. Gives 0 to below 1. */
export function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
