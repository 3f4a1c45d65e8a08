/**
 * Trains a text classifier before your eyes and lets you try it:
 * `npm run demo`, or `npm run demo -- --dataset <url or path of an archive> [--type <model type>] [--epochs <n>]`.
 */
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { memoryStorage, modelTypeSchema, type OrchardError, Predictor, Trainer } from 'orchard-nlp';
import pc from 'picocolors';
import { openDataset } from './dataset.js';
import { printConfusion } from './print-confusion.js';
import { printResult } from './print-result.js';
import { showTraining } from './show-training.js';

/** Sentences to try on the bundled reviews' model. */
const SAMPLES = [
  'Arrived two days early and works perfectly, my daughter loves it.',
  'Waste of money. It broke within a week and nobody answers my emails.',
  'Not bad at all for the price, and the staff were friendly too.',
];

const { values: options } = parseArgs({
  options: {
    dataset: { type: 'string' },
    type: { type: 'string', default: 'binary-text-classification' },
    epochs: { type: 'string' },
  },
});

function fail(error: OrchardError): never {
  console.error(`\n${pc.red(error.code)} ${error.message}`);
  if (error.code === 'dataset')
    for (const { file, line, found } of error.problems) console.error(`  ${file}:${line ?? ''} ${found}`);
  process.exit(1);
}

const dataset = await openDataset(options.dataset);
const storage = memoryStorage();
const trainer = new Trainer({ storage });
const predictor = new Predictor({ storage });

console.log(`\n${pc.bold('1. Train')} ${pc.dim(dataset.url)}\n`);
const { id } = (
  await trainer.createTrainingJob({
    dataset_url: dataset.url,
    model_config: { name: 'demo', type: modelTypeSchema.parse(options.type), family: 'Papaya', size: 'mini' },
    training_config: {
      use_pretrained: false,
      ...(options.epochs === undefined ? {} : { num_epochs: Number(options.epochs) }),
    },
  })
).match((job) => job, fail);
await showTraining(trainer.watch(id));
const job = (await trainer.getTrainingJob(id)).match((information) => information, fail);
if (job.status !== 'READY') {
  console.error(pc.red(`the job ended ${job.status}: ${job.error?.message ?? ''}`));
  process.exit(1);
}

if (dataset.dev !== undefined) {
  console.log(`\n${pc.bold('2. Check')} ${pc.dim('the rows that were held out')}\n`);
  await printConfusion(dataset.dev, (texts) => predictor.predictCustomBatch(id, texts)).then((printed) =>
    printed.mapErr(fail),
  );
}

console.log(`\n${pc.bold('3. Ask')}\n`);
for (const query of dataset.dev === undefined ? [] : SAMPLES) {
  const { data, metadata } = (await predictor.predictCustom(id, query)).match((response) => response, fail);
  printResult(query, data, metadata.model_inference_time_ms);
}

if (process.stdin.isTTY) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  console.log(pc.dim('Type a sentence and press Enter; an empty line ends.'));
  for (let query = await terminal.question('> '); query !== ''; query = await terminal.question('> ')) {
    const { data, metadata } = (await predictor.predictCustom(id, query)).match((response) => response, fail);
    printResult(undefined, data, metadata.model_inference_time_ms);
  }
  terminal.close();
}
await trainer.close();
await predictor.close();
await storage.close();
await dataset.close();
