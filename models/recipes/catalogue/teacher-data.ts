import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { measuredTexts, rowsOf } from './archives.js';
import type { Recipe } from './recipe.js';
import { unlabelledTexts } from './teach.js';
import { modelWork } from './train.js';

interface TeacherDataOptions {
  /** The folder that holds every dataset. */
  readonly datasets: string;
  readonly work: string;
  /** Chooses the texts; `teach` must have the same. */
  readonly seed: number;
}

/**
 * Writes what a teacher elsewhere learns from and answers, as JSON Lines in the folder `for-teacher`
 * (models/recipes/teachers/answer.py). Test rows are for the teacher's figures alone.
 * @returns a line that says how much there is
 */
export async function writeTeacherData(recipe: Recipe, { datasets, work, seed }: TeacherDataOptions): Promise<string> {
  const folder = join(modelWork(work, recipe), 'for-teacher');
  await mkdir(folder, { recursive: true });
  const { train, dev = [] } = await rowsOf(recipe, datasets);
  const sources = await unlabelledTexts(recipe, { datasets, seed, measured: await measuredTexts(recipe, datasets) });
  const texts = sources.flatMap((source) => source.texts);
  const tests =
    recipe.family === 'Dragonfruit' ? [] : await Promise.all(recipe.tests.map(({ read }) => read(datasets)));
  const parts = { rows: train, dev, texts, ...Object.fromEntries(tests.map((test, at) => [`test-${at}`, test])) };
  for (const [name, items] of Object.entries(parts)) await writeFile(join(folder, `${name}.jsonl`), linesOf(items));
  const type = recipe.family === 'Papaya' ? recipe.type : undefined;
  await writeFile(join(folder, 'task.json'), JSON.stringify({ name: recipe.name, family: recipe.family, type }));
  return `${recipe.name}: ${train.length} rows, ${dev.length} for dev, and ${texts.length} texts in ${folder}`;
}

function* linesOf(items: readonly unknown[]): Generator<string> {
  for (const item of items) yield `${JSON.stringify(item)}\n`;
}
