/**
 * Trains and measures on real labelled data through the public API, beside scikit-learn's linear model:
 * `npm run bench:accuracy -- <datasets folder> [dataset …] [--size mini] [--threads 2] [--seed 1] [--python python3]`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import {
  type Blend,
  createClassificationArchive,
  fileStorage,
  type InferenceResult,
  modelSizeSchema,
  Predictor,
  type Storage,
  Trainer,
} from 'orchard-nlp';
import { classificationScores } from '../src/families/papaya/classification-scores.js';
import { type LabelledTexts, type Row, readers } from './datasets/labelled-texts.js';
import { megabytesOf, nGramsOf, predictWith, predictWithExpert } from './model-parts.js';
import { linearSvc } from './peers/linear-svc.js';
import { machine } from './report.js';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: 'string', default: 'mini' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    python: { type: 'string', default: 'python3' },
    smoothing: { type: 'string' },
    'token-dropout': { type: 'string' },
    'learning-rate': { type: 'string' },
    epochs: { type: 'string' },
    balanced: { type: 'boolean', default: false },
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
const percent = (share: number) => Number((100 * share).toFixed(1));

interface Trained {
  readonly id: string;
  readonly epochs: number;
  readonly seconds: number;
  readonly parts: Blend;
}

async function train(name: string, dataset: LabelledTexts, storage: Storage): Promise<Trained> {
  const archive = join(folder, `${name}.zip`);
  const { type, labels } = dataset;
  const multilabel = type === 'multilabel-text-classification';
  const toRow = (row: Row) =>
    multilabel ? { text: row.text, labels: row.labels } : { text: row.text, label: row.labels[0] ?? '' };
  const rows = dataset.train.map(toRow);
  const devRows = dataset.dev.map(toRow);
  const written = await createClassificationArchive({ type, name, labels, rows, devRows }, archive);
  if (written.isErr()) throw written.error;
  const trainer = new Trainer({
    storage,
    threads: Number(options.threads),
    seed: Number(options.seed),
    tuning: {
      ...(options.smoothing === undefined ? {} : { labelSmoothing: Number(options.smoothing) }),
      ...(options['token-dropout'] === undefined ? {} : { tokenDropout: Number(options['token-dropout']) }),
      classWeights: options.balanced ? 'balanced' : 'none',
    },
  });
  const startedAt = performance.now();
  const { id } = (
    await trainer.createTrainingJob({
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'bench', type, family: 'Papaya', size },
      training_config: {
        use_pretrained: false,
        language: dataset.language ?? 'english',
        ...(options.epochs === undefined ? {} : { num_epochs: Number(options.epochs) }),
        ...(options['learning-rate'] === undefined
          ? {}
          : { learning_rate: Number(options['learning-rate']) }),
      },
    })
  )._unsafeUnwrap();
  let parts: Blend | undefined;
  for await (const event of trainer.watch(id)) {
    if (event.type === 'blend') parts = event.parts;
    if (event.type !== 'epoch') continue;
    const { training, validation } = event.stats.metrics;
    const [loss, accuracy, f1] = [training.loss, validation.accuracy, validation.f1].map(
      (all) => all?.at(-1) ?? 0,
    );
    console.log(
      `  epoch ${event.stats.epoch}: loss ${loss?.toFixed(3)}, dev accuracy ${percent(accuracy ?? 0)}, f1 ${percent(f1 ?? 0)}`,
    );
  }
  const job = (await trainer.getTrainingJob(id))._unsafeUnwrap();
  await trainer.close();
  if (parts === undefined) throw new Error(`${name}: ${job.status} ${job.error?.message}`);
  return { id, epochs: job.training_stats.epoch, seconds: (performance.now() - startedAt) / 1000, parts };
}

async function measure(name: string, dataset: LabelledTexts) {
  const storage = fileStorage(join(folder, name));
  const { id, epochs, seconds, parts } = await train(name, dataset, storage);
  const texts = dataset.test.map(({ text }) => text);
  const predictor = new Predictor({ storage });
  const predictedAt = performance.now();
  const results: InferenceResult[] = [];
  for (let start = 0; start < texts.length; start += BATCH) {
    const queries = texts.slice(start, start + BATCH);
    results.push(...(await predictor.predictCustomBatch(id, queries))._unsafeUnwrap().data);
  }
  const textsPerSecond = texts.length / ((performance.now() - predictedAt) / 1000);
  await predictor.close();
  const directory = await storage.openFolder(id);
  if (directory === undefined) throw new Error(`${name}: no model folder`);
  const encoder = scoresOf(dataset, await predictWith(directory, parts.encoder.weights, texts));
  const expert = scoresOf(dataset, predictWithExpert(directory, parts.expert.weights, texts));
  const blend = scoresOf(dataset, results);
  const peer = linearSvc(dataset, nGramsOf(directory), options.python);
  if (typeof peer === 'string') console.log(`  without scikit-learn: ${peer}`);
  const peerScores = typeof peer === 'string' ? undefined : scoresOfIds(dataset, peer.predicted);
  const { before, after } = parts.blend.calibration_error;
  const megabytes = megabytesOf(directory);
  const row = {
    'accuracy: encoder': percent(encoder.accuracy),
    expert: percent(expert.accuracy),
    blend: percent(blend.accuracy),
    LinearSVC: peerScores ? percent(peerScores.accuracy) : undefined,
    'macro-F1: encoder': percent(encoder.f1),
    'expert ': percent(expert.f1),
    'blend ': percent(blend.f1),
    'LinearSVC ': peerScores ? percent(peerScores.f1) : undefined,
    weights: `${parts.blend.weights.encoder.toFixed(2)} : ${parts.blend.weights.expert.toFixed(2)}`,
    'dev calibration error': `${percent(before)} → ${percent(after)}`,
    epochs,
    'train (s)': Math.round(seconds),
    'LinearSVC (s)': typeof peer === 'string' ? undefined : Number(peer.seconds.toFixed(1)),
    'texts/s': Math.round(textsPerSecond),
    'MB (expert)': `${megabytes.all.toFixed(0)} (${megabytes.expert.toFixed(1)})`,
  };
  console.log(`  ${JSON.stringify(row)}`);
  return row;
}

/** A score above one half says yes in a multilabel model; in the others the first label is the answer. */
function scoresOf(dataset: LabelledTexts, results: readonly InferenceResult[]) {
  const predicted = results.map(({ labels, scores }) =>
    dataset.type === 'multilabel-text-classification'
      ? labels.filter((_, rank) => (scores[rank] ?? 0) > 0.5)
      : labels.slice(0, 1),
  );
  return scoresOfIds(
    dataset,
    predicted.map((names) => names.map((label) => dataset.labels.indexOf(label))),
  );
}

function scoresOfIds({ labels, test }: LabelledTexts, predicted: readonly (readonly number[])[]) {
  const actual = test.map((row) => row.labels.map((label) => labels.indexOf(label)));
  return classificationScores(predicted, actual, [...labels.keys()]);
}

console.log(`${machine()}; from scratch, ${size}, ${options.threads} threads, seed ${options.seed}`);
const table: Record<string, Awaited<ReturnType<typeof measure>>> = {};
for (const [name, read] of Object.entries(readers)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`${name} …`);
  table[name] = await measure(name, read(root));
}
console.table(table);
await rm(folder, { recursive: true });
