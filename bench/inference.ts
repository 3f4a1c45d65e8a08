/**
 * Answers per second and the time of one answer, compared with transformers.js' pipelines on the same
 * folders: Grapefruit with token-classification, Papaya with text-classification. Orchard runs both experts
 * of a model, in as many workers as the peer has threads; the peer runs the encoder alone.
 * Usage: `npm run bench:inference -- [--rounds 7] [--threads 2] [--texts 200] [--size mini]`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileStorage, type ModelConfig, Trainer } from 'orchard-nlp';
import { modelSizeSchema } from '../src/contract/index.js';
import { Random } from '../src/random.js';
import { orchard, transformersJs } from './inference/answerers.js';
import { compare, type Scenario } from './inference/compare.js';
import { mixedCounts, sentencesOf, textsOfWords } from './inference/texts.js';
import { machine } from './report.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
    texts: { type: 'string', default: '200' },
    size: { type: 'string', default: 'mini' },
  },
});
const rounds = Number(options.rounds);
const threads = Number(options.threads);
/** Most texts of one call. */
const BATCH = 20;
/** Enough for a tagger that finds entities; speed does not depend on how well. */
const EPOCHS = 10;

/**
 * In lower case, both start from the bundled vocabulary, so that words have as many pieces as in large
 * corpora.
 */
const subjects = [
  {
    dataset: 'news-entities',
    task: 'token-classification',
    model: { type: 'sequence-labeling', family: 'Grapefruit' },
  },
  {
    dataset: 'customer-reviews',
    task: 'text-classification',
    model: { type: 'binary-text-classification', family: 'Papaya' },
  },
] as const;

const folder = await mkdtemp(join(tmpdir(), 'orchard-inference-'));
const storage = fileStorage(folder);

async function train(dataset: string, model: Pick<ModelConfig, 'type' | 'family'>) {
  await using trainer = new Trainer({ storage, threads });
  const request = {
    dataset_url: new URL(`../examples/${dataset}`, import.meta.url).href,
    model_config: { name: 'bench', size: modelSizeSchema.parse(options.size), ...model },
    training_config: { use_pretrained: false, num_epochs: EPOCHS },
  };
  const { id } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
  const { status, error } = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
  const directory = await storage.openFolder(id);
  if (directory === undefined) throw new Error(`${dataset}: ${status} ${error?.message}`);
  return { id, directory };
}

function scenariosFor(sentences: readonly string[]): Scenario[] {
  const random = Random.fromSeed(1);
  const count = Number(options.texts);
  const mixed = textsOfWords(mixedCounts(count, 3, 200, random), sentences, random);
  const shortCounts = Array.from({ length: count }, () => 10 + random.integer(21));
  const short = textsOfWords(shortCounts, sentences, random);
  return [
    { name: '3–200 words, 20 at a time', texts: mixed, batch: BATCH },
    { name: '3–200 words, one at a time', texts: mixed, batch: 1 },
    { name: '10–30 words, 20 at a time', texts: short, batch: BATCH },
    { name: '10–30 words, one at a time', texts: short, batch: 1 },
  ];
}

console.log(`${machine()}; ${options.size}, ${threads} threads, medians of ${rounds} rounds that take turns`);
for (const { dataset, task, model } of subjects) {
  const { id, directory } = await train(dataset, model);
  const ours = orchard(storage, id, threads);
  const peer = await transformersJs(directory, task, threads);
  const table: Record<string, object> = {};
  for (const scenario of scenariosFor(sentencesOf[dataset]())) {
    table[scenario.name] = await compare(scenario, ours, peer, rounds);
  }
  console.log(`\n${model.family} beside ${peer.name}, ${task}`);
  console.table(table);
  await ours.close();
  await peer.close();
}
await rm(folder, { recursive: true });
