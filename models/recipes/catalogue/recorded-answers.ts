import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { SoftLabelRow, TrainingRow } from '../../../src/index.js';
import { Random } from '../../../src/system/index.js';
import type { TrainingRows } from './leaks.js';
import type { TrainingData } from './model-facts.js';
import type { ClassifierRecipe, Recipe } from './recipe.js';

/**
 * A teacher that learned and answered on another machine (models/recipes/teachers): what it is given, as files, and a file of
 * its answers.
 */

export interface Given {
  readonly rows: TrainingRows<TrainingRow>;
  /** Texts without labels, in the order of the recipe's sources. */
  readonly texts: readonly string[];
}

/**
 * Writes the rows and the texts as JSON Lines to a folder, with the test rows, for the teacher's figures alone.
 * @throws Error for a recipe of another family
 */
export async function writeForTeacher(
  recipe: Recipe,
  { rows, texts }: Given,
  { folder, datasets }: { readonly folder: string; readonly datasets: string },
): Promise<void> {
  requireClassifier(recipe);
  await mkdir(folder, { recursive: true });
  const [test = []] = await Promise.all(recipe.tests.map(({ read }) => read(datasets)));
  const parts = { rows: rows.train, dev: rows.dev ?? [], test, texts };
  for (const [part, items] of Object.entries(parts)) {
    await writeFile(join(folder, `${part}.jsonl`), items.map((item) => `${JSON.stringify(item)}\n`).join(''));
  }
  const { name, type } = recipe;
  await writeFile(join(folder, 'task.json'), JSON.stringify({ name, type, given: hashOf({ rows, texts }) }));
}

/** Of the rows and texts in their order: answers belong to these alone, whatever a row counts. */
function hashOf({ rows, texts }: Given): string {
  const answered = rows.train.map((row) => ('weight' in row ? { ...row, weight: undefined } : row));
  return createHash('sha256')
    .update(JSON.stringify([answered, texts]))
    .digest('hex');
}

export function requireClassifier(recipe: Recipe): asserts recipe is ClassifierRecipe {
  if (recipe.family === 'Papaya') return;
  throw new Error(`${recipe.name}: answers can be recorded for classifiers only; teach it with --teacher`);
}

const thousandths = z.array(z.array(z.number().min(0).max(1000)).readonly()).readonly();

const answersSchema = z.object({
  /** The encoder that the teacher was fine-tuned from. */
  teacher: z.string(),
  /** Of the rows and texts that were answered. */
  given: z.string(),
  labels: z.array(z.string()).min(2).readonly(),
  /** If not set, a row's answer is from a teacher that had not learned it. */
  hasLearnedRows: z.literal(true).exactOptional(),
  rows: thousandths,
  texts: thousandths,
});

type Shares = Readonly<Record<string, number>>;

interface RecordedTeacher {
  /** The encoder. */
  readonly title: string;
  /** Different for different answers. */
  readonly name: string;
  readonly ask: (texts: readonly string[]) => (Shares | null)[];
  /** Training rows as the recipe wants them, and dev rows as they were. */
  readonly rows: TrainingRows<TrainingRow>;
  /** If the rows have the mean of label and answer: whether the teacher had learned the row that it answered. */
  readonly mixedLabels: TrainingData['mixedLabels'];
  /** Without parts of dev rows. */
  readonly texts: ReadonlySet<string>;
}

/** @throws Error if the answers are not those to these rows and texts */
export async function recordedTeacher(
  recipe: Recipe,
  file: string,
  { rows, texts, seed }: Given & { readonly seed: number },
): Promise<RecordedTeacher> {
  requireClassifier(recipe);
  const content = await readFile(file);
  const { teacher: title, given, ...answers } = answersSchema.parse(JSON.parse(gunzipSync(content).toString('utf8')));
  if (given !== hashOf({ rows, texts })) {
    const again = 'run texts, answer.py and teach with the same --seed and datasets, and all without --free';
    throw new Error(`${file} answers other rows and texts than those of ${recipe.name}: ${again}`);
  }
  const sharesOf = (shares: readonly number[] = []): Shares => {
    const sum =
      recipe.type === 'multilabel-text-classification' ? 1000 : shares.reduce((total, share) => total + share, 0);
    const named = answers.labels.map((label, at) => [label, (shares[at] ?? 0) / sum] as const);
    return Object.fromEntries(named.filter(([, share]) => share > 0));
  };
  const answerTo = new Map(texts.map((text, at) => [text, sharesOf(answers.texts[at])]));
  // `distill` asks about the rows that it sets aside for figures, too.
  for (const [at, row] of rows.train.entries()) if ('text' in row) answerTo.set(row.text, sharesOf(answers.rows[at]));
  const { train, dev = devRowsOf(train, seed) } = rows;
  const aside = new Set(dev);
  const { mixesLabels = false } = recipe;
  const asLearned = (row: TrainingRow, at: number) => (mixesLabels ? mixed(row, sharesOf(answers.rows[at])) : row);
  const learned = train.flatMap((row, at) => (aside.has(row) ? [] : [asLearned(row, at)]));
  const isPart = partsOf(dev.flatMap((row) => ('text' in row ? [row.text] : [])));
  return {
    title,
    name: `${title} ${createHash('sha256').update(content).digest('hex').slice(0, 12)}`,
    ask: (some) => some.map((text) => answerTo.get(text) ?? null),
    rows: { ...rows, train: learned, dev },
    mixedLabels: mixesLabels ? (answers.hasLearnedRows ? 'learned' : 'held-out') : undefined,
    texts: new Set(texts.filter((text) => !isPart(text))),
  };
}

const MOST_DEV_ROWS = 2000;

/** If the publisher set none aside. They are to choose the epoch, so their labels stay as they are. */
function devRowsOf(rows: readonly TrainingRow[], seed: number): readonly TrainingRow[] {
  return Random.fromSeed(seed)
    .shuffle(rows)
    .slice(0, Math.min(MOST_DEV_ROWS, Math.floor(rows.length / 10)));
}

/** Shorter texts are common. */
const TELLING_CHARACTERS = 30;

/** Tells whether a text is a part of one of these, from the beginning of a word. */
function partsOf(wholes: readonly string[]): (text: string) => boolean {
  const beginning = (text: string, at = 0) => text.slice(at, at + TELLING_CHARACTERS);
  const beginnings = new Map<string, Set<string>>();
  for (const whole of wholes) {
    for (const { index } of whole.matchAll(/(?<!\S)\S/gu)) {
      const start = beginning(whole, index);
      beginnings.set(start, (beginnings.get(start) ?? new Set()).add(whole));
    }
  }
  return (text) =>
    text.length >= TELLING_CHARACTERS &&
    [...(beginnings.get(beginning(text)) ?? [])].some((whole) => whole.includes(text));
}

/** With the mean of label and answer (Hinton et al. 2015). */
function mixed(row: TrainingRow, answer: Shares): SoftLabelRow {
  const given = 'label' in row ? [row.label] : 'labels' in row && Array.isArray(row.labels) ? row.labels : undefined;
  if (!('text' in row) || given === undefined) throw new Error('only rows with a text and its labels can be shared');
  const names = new Set([...given, ...Object.keys(answer)]);
  const shareOf = (name: string) => ((given.includes(name) ? 1 : 0) + (answer[name] ?? 0)) / 2;
  return { text: row.text, labels: Object.fromEntries([...names].map((name) => [name, shareOf(name)])) };
}
