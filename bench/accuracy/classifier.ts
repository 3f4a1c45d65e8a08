import { join } from 'node:path';
import { createClassificationArchive, fileStorage, type InferenceResult, Predictor } from 'orchard-nlp';
import { classificationScores } from '../../src/families/index.js';
import type { LabelledTexts, Row } from '../datasets/labelled-texts.js';
import { megabytesOf, nGramsOf, predictWith, predictWithExpert } from '../model-parts.js';
import { linearSvc } from '../peers/linear-svc.js';
import { percent, type Setting, train } from './train.js';

/** Most queries of one call. */
const BATCH = 20;

async function writeArchive(name: string, dataset: LabelledTexts, folder: string): Promise<string> {
  const archive = join(folder, `${name}.zip`);
  const { type, labels } = dataset;
  const multilabel = type === 'multilabel-text-classification';
  const toRow = (row: Row) =>
    multilabel ? { text: row.text, labels: row.labels } : { text: row.text, label: row.labels[0] ?? '' };
  const rows = dataset.train.map(toRow);
  const devRows = dataset.dev.map(toRow);
  const written = await createClassificationArchive({ type, name, labels, rows, devRows }, archive);
  if (written.isErr()) throw written.error;
  return archive;
}

/** Encoder, lexical expert and blend on the test texts, beside scikit-learn's linear model. */
export async function measureClassifier(name: string, dataset: LabelledTexts, setting: Setting) {
  const storage = fileStorage(join(setting.folder, name));
  const model = { type: dataset.type, family: 'Papaya' } as const;
  const archive = await writeArchive(name, dataset, setting.folder);
  const { id, epochs, seconds, parts } = await train(archive, model, storage, setting, dataset.language);
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
  const expert = scoresOfIds(dataset, predictWithExpert(directory, parts.expert.weights, dataset));
  const blend = scoresOf(dataset, results);
  const peer = linearSvc(dataset, nGramsOf(directory), setting.python);
  if (typeof peer === 'string') console.log(`  without scikit-learn: ${peer}`);
  const peerScores = typeof peer === 'string' ? undefined : scoresOfIds(dataset, peer.predicted);
  const { before = 0, after = 0 } = parts.blend.calibration_error ?? {};
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

/** In a multilabel model, a score above one half says yes; in the others, the first label is the answer. */
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
