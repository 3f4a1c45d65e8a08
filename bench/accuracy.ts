/**
 * Trains and measures on real labelled data through the public API:
 * `npm run bench:accuracy -- <datasets folder> [dataset …] [--size mini] [--threads 2] [--seed 1]`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import {
  createClassificationArchive,
  fileStorage,
  type InferenceResult,
  modelSizeSchema,
  Predictor,
  Trainer,
} from 'orchard-nlp';
import { classificationScores } from '../src/families/papaya/classification-scores.js';
import { type LabelledTexts, type Row, readers } from './datasets/labelled-texts.js';
import { machine } from './report.js';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: 'string', default: 'mini' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
  },
});
const [root, ...asked] = positionals;
if (root === undefined) {
  console.error('give the folder of the datasets: npm run bench:accuracy -- <datasets folder> [dataset …]');
  process.exit(2);
}

/** The library answers at most so many queries at once. */
const BATCH = 20;
const size = modelSizeSchema.parse(options.size);
const folder = await mkdtemp(join(tmpdir(), 'orchard-accuracy-'));

async function measure(name: string, dataset: LabelledTexts) {
  const archive = join(folder, `${name}.zip`);
  const multilabel = dataset.type === 'multilabel-text-classification';
  const toRow = ({ text, labels }: Row) => (multilabel ? { text, labels } : { text, label: labels[0] ?? '' });
  const written = await createClassificationArchive(
    {
      type: dataset.type,
      name,
      labels: dataset.labels,
      rows: dataset.train.map(toRow),
      devRows: dataset.dev.map(toRow),
    },
    archive,
  );
  if (written.isErr()) throw written.error;
  const storage = fileStorage(join(folder, name));
  const trainer = new Trainer({ storage, threads: Number(options.threads), seed: Number(options.seed) });
  const startedAt = performance.now();
  const { id } = (
    await trainer.createTrainingJob({
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'bench', type: dataset.type, family: 'Papaya', size },
      training_config: { use_pretrained: false },
    })
  )._unsafeUnwrap();
  const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
  if (job.status !== 'READY') throw new Error(`${name}: ${job.status} ${job.error?.message}`);
  const seconds = (performance.now() - startedAt) / 1000;
  const predictor = new Predictor({ storage });
  const predictedAt = performance.now();
  const results: InferenceResult[] = [];
  for (let start = 0; start < dataset.test.length; start += BATCH) {
    const queries = dataset.test.slice(start, start + BATCH).map(({ text }) => text);
    results.push(...(await predictor.predictCustomBatch(id, queries))._unsafeUnwrap().data);
  }
  const textsPerSecond = dataset.test.length / ((performance.now() - predictedAt) / 1000);
  await predictor.close();
  await trainer.close();
  const scores = scoresOf(dataset, results);
  return {
    'train rows': dataset.train.length,
    epochs: job.training_stats.epoch,
    'train (s)': Math.round(seconds),
    'dev best': Number((100 * (job.training_stats.best_eval_metric_value ?? 0)).toFixed(1)),
    'test accuracy': Number((100 * scores.accuracy).toFixed(1)),
    'test macro-F1': Number((100 * scores.f1).toFixed(1)),
    'texts/s': Math.round(textsPerSecond),
  };
}

function scoresOf({ type, labels, test }: LabelledTexts, results: readonly InferenceResult[]) {
  const ids = (names: readonly string[]) => names.map((label) => labels.indexOf(label));
  const predicted = results.map((result) =>
    type === 'multilabel-text-classification'
      ? result.labels.filter((_, rank) => (result.scores[rank] ?? 0) > 0.5)
      : result.labels.slice(0, 1),
  );
  return classificationScores(
    predicted.map(ids),
    test.map((row) => ids(row.labels)),
    [...labels.keys()],
  );
}

console.log(
  `${machine()}; from scratch, ${size}, encoder alone, ${options.threads} threads, seed ${options.seed}`,
);
const table: Record<string, Awaited<ReturnType<typeof measure>>> = {};
for (const [name, read] of Object.entries(readers)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`${name} …`);
  table[name] = await measure(name, read(root));
}
console.table(table);
await rm(folder, { recursive: true });
