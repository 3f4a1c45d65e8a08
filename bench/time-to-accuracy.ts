import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type LabelledTexts, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';
import { type Contestant, contestants } from './time-to-accuracy/contestants.js';
import type { MeasureOptions } from './time-to-accuracy/measured.js';
import { trainWithOrchard } from './time-to-accuracy/orchard.js';
import { plot } from './time-to-accuracy/plot.js';
import { trainInPython } from './time-to-accuracy/python.js';
import { resultsIn } from './time-to-accuracy/results.js';
import { printedVersions, resultTables } from './time-to-accuracy/tables.js';

/**
 * How long it takes to reach what accuracy: Orchard from its own backbones and others, Hugging Face's Trainer and SetFit
 * from the same weights, fastText and scikit-learn, each on the same rows and processors. Prints a table a dataset and
 * writes a plot.
 * Usage: `npm run bench -- time-to-accuracy <datasets folder> [dataset …] [--only "Orchard, mini"]` and
 * `--backbone <folder of a checkpoint>`, each several times if need be, `--results time-to-accuracy.json --plot time-to-accuracy.svg --again
 * --threads 2 --seed 1 --python python3 --pairs 20 --epochs 4`. Cells that the results have are not measured again.
 * Python needs `pip install scikit-learn fasttext-wheel torch transformers accelerate setfit`; what is missing is said
 * and left out.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true, default: [] },
    backbone: { type: 'string', multiple: true, default: [] },
    results: { type: 'string', default: 'time-to-accuracy.json' },
    plot: { type: 'string', default: 'time-to-accuracy.svg' },
    again: { type: 'boolean', default: false },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    python: { type: 'string', default: 'python3' },
    pairs: { type: 'string', default: '20' },
    epochs: { type: 'string' },
  },
});
const [root, ...asked] = positionals;
if (root === undefined) {
  console.error('give the folder of the datasets: npm run bench -- time-to-accuracy <datasets folder>');
  process.exit(2);
}
const names = asked.length > 0 ? asked : ['banking77_10', 'sst2', 'banking77'];
const measureOptions: MeasureOptions = {
  threads: Number(options.threads),
  seed: Number(options.seed),
  python: options.python,
  training: options.epochs === undefined ? {} : { num_epochs: Number(options.epochs) },
  pairs: Number(options.pairs),
};
const results = resultsIn(options.results);
const chosen = contestants(options.backbone).filter(
  ({ name }) => options.only.length === 0 || options.only.includes(name),
);
if (chosen.length === 0) {
  const all = contestants(options.backbone).map(({ name }) => JSON.stringify(name));
  console.error(`--only names none of ${all.join(', ')}`);
  process.exit(2);
}

async function measure(name: string, dataset: LabelledTexts, contestant: Contestant): Promise<void> {
  console.log(`${name}, ${contestant.name} …`);
  const measured =
    contestant.kind === 'orchard'
      ? await trainWithOrchard(contestant, dataset, measureOptions)
      : await trainInPython(contestant, dataset, measureOptions);
  if (typeof measured === 'string') return console.log(`  left out: ${measured}`);
  const { predicted, ...rest } = measured;
  const right = dataset.test.filter((row, at) => dataset.labels[predicted[at] ?? -1] === row.labels[0]);
  const accuracy = (100 * right.length) / dataset.test.length;
  results.add({ dataset: name, contestant: contestant.name, accuracy, ...rest, machine: machine() });
  console.log(`  ${accuracy.toFixed(1)} after ${rest.seconds.toFixed(1)} s`);
}

for (const name of names) {
  const dataset = readers[name]?.(root);
  if (dataset === undefined || dataset.type === 'multilabel-text-classification') {
    throw new Error(`${name} is not a dataset with one label per text`);
  }
  for (const contestant of chosen) {
    const isThere = results.all.some((each) => each.dataset === name && each.contestant === contestant.name);
    if (options.again || !isThere) await measure(name, dataset, contestant);
  }
}
console.log(`\n${resultTables(results.all)}\n${printedVersions(results.all)}`);
writeFileSync(options.plot, plot(results.all));
