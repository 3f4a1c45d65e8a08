import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { SoftLabelRow, TrainingRow } from '../../../src/index.js';
import { Random } from '../../../src/system/index.js';
import type { TrainingRows } from './leaks.js';
import type { Recipe } from './recipe.js';

/** A teacher that learned and answered elsewhere, such as on a GPU (models/recipes/teachers): its answers are a file. */

const shares = z.array(z.array(z.number().min(0).max(1000)).readonly()).readonly();

const answersSchema = z.object({
  /** The encoder that it was fine-tuned from. */
  teacher: z.string(),
  labels: z.array(z.string()).min(2).readonly(),
  /** Of each row and of each text, in thousandths. The row was answered by a teacher that had not learned it. */
  rows: shares,
  texts: shares,
});

type Shares = Readonly<Record<string, number>>;

interface Given {
  readonly rows: TrainingRows<TrainingRow>;
  readonly texts: readonly string[];
  readonly seed: number;
}

/**
 * Its answers as a teacher for `distill`, and rows that have the mean of their label and its answer (Hinton et al. 2015).
 * @throws Error if the answers are not those to these rows and texts
 */
export async function teacherElsewhere(recipe: Recipe, file: string, { rows, texts, seed }: Given) {
  const answers = answersSchema.parse(JSON.parse(gunzipSync(await readFile(file)).toString('utf8')));
  const { teacher: title, labels } = answers;
  if (answers.rows.length !== rows.train.length || answers.texts.length !== texts.length) {
    const found = `${answers.rows.length} rows and ${answers.texts.length} texts`;
    throw new Error(`${file} answers ${found}, and ${recipe.name} has ${rows.train.length} and ${texts.length}`);
  }
  const isMultilabel = recipe.family === 'Papaya' && recipe.type === 'multilabel-text-classification';
  const named = (thousandths: readonly number[] = []): Shares => {
    const sum = isMultilabel ? 1000 : thousandths.reduce((total, share) => total + share, 0);
    const all = thousandths.map((share, at) => [labels[at] ?? '', share / sum] as const);
    return Object.fromEntries(all.filter(([, share]) => share > 0));
  };
  const byText = new Map(texts.map((text, at) => [text, named(answers.texts[at])]));
  for (const [at, row] of rows.train.entries()) if ('text' in row) byText.set(row.text, named(answers.rows[at]));
  const { train, dev = setAside(rows.train, seed) } = rows;
  const devRows = new Set(dev);
  const learned = train.flatMap((row, at) => (devRows.has(row) ? [] : [mixed(row, named(answers.rows[at]))]));
  return {
    teacher: (some: readonly string[]) => some.map((text) => byText.get(text) ?? null),
    teacherName: title,
    title,
    rows: { ...rows, train: learned, dev },
    areMixed: true as const,
  };
}

const MOST_DEV_ROWS = 2000;

/** Rows whose labels stay as they are, to choose the epoch by, if the publisher set none aside. */
function setAside(rows: readonly TrainingRow[], seed: number): readonly TrainingRow[] {
  return Random.fromSeed(seed)
    .shuffle(rows)
    .slice(0, Math.min(MOST_DEV_ROWS, Math.floor(rows.length / 10)));
}

/** @throws Error for rows of another kind than classifiers' */
function mixed(row: TrainingRow, answer: Shares): SoftLabelRow {
  const text = 'text' in row ? row.text : undefined;
  const given = 'label' in row ? [row.label] : 'labels' in row && Array.isArray(row.labels) ? row.labels : undefined;
  if (text === undefined || given === undefined) throw new Error('a teacher elsewhere answers rows with labels alone');
  const half = (share: number) => share / 2;
  const names = new Set([...given, ...Object.keys(answer)]);
  const shareOf = (name: string) => half(given.includes(name) ? 1 : 0) + half(answer[name] ?? 0);
  return { text, labels: Object.fromEntries([...names].map((name) => [name, shareOf(name)])) };
}
