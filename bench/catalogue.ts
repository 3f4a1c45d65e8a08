import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';
import { fileSizes, writeCard } from '../models/recipes/catalogue/export-model.js';
import { FIGURES_FILE, factsFile, type ModelFigures } from '../models/recipes/catalogue/model-facts.js';
import type { Recipe } from '../models/recipes/catalogue/recipe.js';
import { asked } from './catalogue/asked.js';
import { measure } from './catalogue/measure.js';
import { measureSpeed, residentMegabytes } from './catalogue/speed.js';
import { machine } from './report.js';

/**
 * Measures the pretrained models on their tests, through `Predictor`: figures with 95 % intervals next to
 * published ones, size, speed.
 * Usage: `npm run bench -- catalogue <datasets folder> [name …] [--write] [--catalogue <folder>]`; `--write`
 * stores the figures beside each model and writes its card again.
 */

const { datasets, catalogue, write, recipes } = asked('catalogue');

async function figuresOf(recipe: Recipe, folder: string): Promise<ModelFigures> {
  await using predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(catalogue) });
  const { tests, texts } = await measure(recipe, { predictor, catalogue, datasets: folder });
  const speed = await measureSpeed(predictor, recipe.name, texts, catalogue);
  return { tests, speed, machine: machine() };
}

async function megabytesOf(directory: string): Promise<string> {
  const sizes = [...(await fileSizes(directory)).values()];
  return (sizes.reduce((sum, size) => sum + size, 0) / 1e6).toFixed(1);
}

/** One row per test; size and speed stand in the first. */
async function rowsOf(recipe: Recipe, { tests, speed }: ModelFigures): Promise<object[]> {
  const megabytes = await megabytesOf(join(catalogue, recipe.name));
  return tests.map(({ test, metric, value, low, high, beside }, at) => ({
    model: at === 0 ? recipe.name : '',
    test,
    metric,
    value: (100 * value).toFixed(1),
    '95 %': `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`,
    'for comparison': [
      ...(beside ? [`${beside.method} ${(100 * beside.value).toFixed(1)}`] : []),
      ...(recipe.tests.find(({ title }) => title === test)?.references ?? []).map(({ figure }) => figure),
    ].join('; '),
    ...(at === 0 && {
      MB: megabytes,
      'texts/s': speed.texts_per_second,
      'p50 (ms)': speed.p50_ms,
      'first answer (ms)': speed.first_answer_ms,
    }),
  }));
}

console.log(`${machine()}; one worker, one thread`);
const table: object[] = [];
const answered: string[] = [];
for (const recipe of recipes) {
  const directory = join(catalogue, recipe.name);
  console.log(`${recipe.name} …`);
  const figures = await figuresOf(recipe, datasets);
  table.push(...(await rowsOf(recipe, figures)));
  answered.push(recipe.name);
  if (write) {
    await writeFile(join(directory, FIGURES_FILE), factsFile(figures));
    await writeCard(recipe, directory);
  }
}
console.table(table);
for (const workers of [1, 4]) {
  const megabytes = await residentMegabytes(catalogue, workers, answered);
  console.log(`${answered.length} models, ${workers} workers: ${megabytes.toFixed(0)} MB resident`);
}
