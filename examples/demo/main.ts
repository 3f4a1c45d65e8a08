import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { memoryStorage, type OrchardError, Predictor, Trainer } from 'orchard-nlp';
import pc from 'picocolors';
import { givenDataset, serveDataset } from './dataset.js';
import { readDevRows } from './dev-rows.js';
import { printConfusion } from './print-confusion.js';
import { showTraining } from './show-training.js';
import { modelTypes, taskOfType, tasks } from './tasks.js';

/**
 * Trains a model while you watch, and lets you try it: `npm run demo -- --task reviews`, `entities` or `questions`, or
 * `npm run demo -- --dataset <url or path of an archive> --type <model type>`; both take `--epochs <n>`.
 */

const { values: options } = parseArgs({
  options: {
    task: { type: 'string', default: 'reviews' },
    dataset: { type: 'string' },
    type: { type: 'string' },
    epochs: { type: 'string' },
  },
});

function fail(error: OrchardError): never {
  console.error(`\n${pc.red(error.code)} ${error.message}`);
  if (error.code === 'dataset')
    for (const { file, line, found } of error.problems) console.error(`  ${file}:${line ?? ''} ${found}`);
  process.exit(1);
}

const task =
  options.type === undefined
    ? Object.entries(tasks).find(([name]) => name === options.task)?.[1]
    : taskOfType(options.type);
if (task === undefined) {
  console.error(`--task is one of ${Object.keys(tasks).join(', ')}; --type one of ${modelTypes.join(', ')}`);
  process.exit(2);
}
const { dataset: given } = options;
const bundled = given === undefined;
const dataset = bundled ? await serveDataset(task.folder) : givenDataset(given);
const epochs = options.epochs === undefined ? bundled && task.epochs : Number(options.epochs);
const storage = memoryStorage();
const trainer = new Trainer({ storage });
const predictor = new Predictor({ storage });

console.log(`\n${pc.bold('Train')} ${pc.dim(dataset.url)}\n`);
const { id } = (
  await trainer.createTrainingJob({
    dataset_url: dataset.url,
    model_config: { name: 'demo', ...task.model },
    training_config: epochs ? { num_epochs: epochs } : {},
  })
).match((job) => job, fail);
await showTraining(trainer.watch(id), task);
const job = (await trainer.getTrainingJob(id)).match((information) => information, fail);
if (job.status !== 'READY') {
  console.error(pc.red(`the job ended in ${job.status}: ${job.error?.message ?? ''}`));
  process.exit(1);
}

if (bundled && task === tasks.reviews) {
  console.log(`\n${pc.bold('Check')} ${pc.dim('the rows that were held out')}\n`);
  const rows = await readDevRows(task.folder);
  await printConfusion(rows, async (texts) =>
    (await predictor.predictCustomBatch(id, texts)).match(({ data }) => data, fail),
  );
}

const report = fileURLToPath(new URL('../../.orchard/demo-report.html', import.meta.url));
await mkdir(dirname(report), { recursive: true });
await writeFile(
  report,
  (await trainer.report(id)).match((page) => page, fail),
);
console.log(`\n${pc.bold('Report')} ${pc.dim(report)}`);

console.log(`\n${pc.bold('Ask')}\n`);
for (const query of bundled ? task.samples : []) {
  console.log(`> ${query}`);
  await answer(query);
}
if (process.stdin.isTTY) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  console.log(pc.dim(`Type ${task.ask} and press Enter; an empty line quits.`));
  for (let query = await terminal.question('> '); query !== ''; query = await terminal.question('> ')) {
    await answer(query);
  }
  terminal.close();
}
await trainer.close();
await predictor.close();
await storage.close();
await dataset.close();

async function answer(query: string): Promise<void> {
  const { data, metadata } = (await predictor.predictCustom(id, query)).match((response) => response, fail);
  task?.print(query, data);
  console.log(pc.dim(`  ${metadata.model_inference_time_ms.toFixed(1)} ms\n`));
}
