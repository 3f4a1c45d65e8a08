import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';
import { writeCard } from '../models/recipes/catalogue/export-model.js';
import { factsFile, ROBUSTNESS_FILE, type Robustness } from '../models/recipes/catalogue/model-facts.js';
import { asked } from './catalogue/asked.js';
import { measureRobustness } from './catalogue/measure-robustness.js';

/**
 * Measures the pretrained models on texts that aren't as neat as their tests: in lower case, with typos, as tweets, of
 * kinds that such models get wrong, of another domain.
 * Usage: `npm run bench -- robustness <datasets folder> [name …] [--write] [--catalogue <folder>]`; `--write`
 * stores the figures beside each model and writes its card again.
 */

const { datasets, catalogue, write, recipes } = asked('robustness');

const percent = (part: number): string => (100 * part).toFixed(1);

function print({ edited, kinds, calibration }: Robustness): void {
  console.table(
    edited.map(({ test, metric, rows, figures }) => ({
      test,
      rows,
      metric,
      ...Object.fromEntries(figures.map(({ edit, value }) => [edit, percent(value)])),
    })),
  );
  if (kinds.length > 0) {
    console.table(kinds.map(({ kind, label, rows, value }) => ({ kind, label, rows, right: percent(value) })));
  }
  if (calibration.length > 0) {
    console.table(
      calibration.map(({ test, rows, accuracy, confidence, error }) => ({
        test,
        rows,
        accuracy: percent(accuracy),
        'mean score': percent(confidence),
        'calibration error': error.toFixed(3),
      })),
    );
  }
}

for (const recipe of recipes) {
  const directory = join(catalogue, recipe.name);
  console.log(recipe.name);
  await using predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(catalogue) });
  const robustness = await measureRobustness(recipe, { predictor, catalogue, datasets });
  print(robustness);
  if (write) {
    await writeFile(join(directory, ROBUSTNESS_FILE), factsFile(robustness));
    await writeCard(recipe, directory);
  }
}
