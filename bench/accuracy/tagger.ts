import { join } from 'node:path';
import { createSequenceArchive, fileStorage, Predictor } from 'orchard-nlp';
import { entityScores } from '../../src/families/index.js';
import type { TaggedSentences } from '../datasets/tagged-sentences.js';
import { megabytesOf } from '../model-parts.js';
import { tagWith } from './tagger-parts.js';
import { percent, type Setting, train } from './train.js';

/** Measures encoder, CRF and blend on the test sentences: F1 over entities, as conlleval counts it. */
export async function measureTagger(name: string, dataset: TaggedSentences, setting: Setting) {
  const storage = fileStorage(join(setting.folder, name));
  const archive = join(setting.folder, `${name}.zip`);
  const written = await createSequenceArchive({ name, rows: dataset.train, devRows: dataset.dev }, archive);
  if (written.isErr()) throw written.error;
  const model = {
    type: 'sequence-labeling',
    family: 'Grapefruit',
    preprocessing: { lowercase: false },
  } as const;
  const { id, epochs, seconds, parts } = await train(archive, model, storage, setting);
  const directory = await storage.openFolder(id);
  if (directory === undefined) throw new Error(`${name}: no model folder`);
  const actual = dataset.test.map(({ tags }) => tags);
  const sentences = dataset.test.map(({ words }) => words);
  const scores = async (part: keyof typeof parts) =>
    entityScores(await tagWith(directory, parts[part].weights, sentences), actual);
  const encoder = await scores('encoder');
  const expert = await scores('expert');
  const blend = await scores('blend');
  const megabytes = megabytesOf(directory);
  const row = {
    'F1: encoder': percent(encoder.f1),
    CRF: percent(expert.f1),
    blend: percent(blend.f1),
    precision: percent(blend.precision),
    recall: percent(blend.recall),
    'words right': percent(blend.accuracy),
    'dev F1': percent(parts.blend.f1),
    weights: `${parts.blend.weights.encoder.toFixed(2)} : ${parts.blend.weights.expert.toFixed(2)}`,
    epochs,
    'train (s)': Math.round(seconds),
    'sentences/s': Math.round(await speed(id, storage, sentences)),
    'MB (CRF)': `${megabytes.all.toFixed(0)} (${megabytes.expert.toFixed(1)})`,
  };
  console.log(`  ${JSON.stringify(row)}`);
  return row;
}

/** Most queries of one call. */
const BATCH = 20;
const MOST_TIMED = 2000;

/** Sentences per second through the public API, which gets them as text. */
async function speed(
  id: string,
  storage: ReturnType<typeof fileStorage>,
  sentences: readonly (readonly string[])[],
): Promise<number> {
  const texts = sentences.slice(0, MOST_TIMED).map((words) => words.join(' '));
  const predictor = new Predictor({ storage });
  await predictor.predictCustomBatch(id, texts.slice(0, BATCH));
  const startedAt = performance.now();
  for (let start = 0; start < texts.length; start += BATCH) {
    (await predictor.predictCustomBatch(id, texts.slice(start, start + BATCH)))._unsafeUnwrap();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await predictor.close();
  return texts.length / seconds;
}
