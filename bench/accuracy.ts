import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { folderModels } from 'orchard-nlp';
import { modelSizeSchema } from '../src/contract/index.js';
import { tuningSchema } from '../src/jobs/index.js';
import { measureClassifier } from './accuracy/classifier.js';
import { measureRetriever } from './accuracy/retriever.js';
import { measureTagger } from './accuracy/tagger.js';
import type { Setting } from './accuracy/train.js';
import { readers } from './datasets/labelled-texts.js';
import { limited } from './datasets/limited.js';
import { questionReaders } from './datasets/questions.js';
import { taggedReaders } from './datasets/tagged-sentences.js';
import { machine } from './report.js';

/**
 * Trains on real labelled data through the public API and measures: classifiers against scikit-learn's linear
 * model, entity taggers against their CRF, retrieval against BM25.
 * `npm run bench -- accuracy <datasets folder> [dataset …] [--size mini] [--threads 2] [--seed 1] [--python
 * python3]`, at most `--rows` for training and `--test-rows`, `--backbone <folder of a checkpoint>` to start from, or
 * `--backbone bundled` for the one that a job of this language, size and type takes by itself, and settings of the
 * training: `--epochs --learning-rate --smoothing --token-dropout --balanced --quantize --adapters <rank> --alpha
 * --targets query,value --freeze <embeddings or layers>`.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: 'string', default: 'mini' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    python: { type: 'string', default: 'python3' },
    rows: { type: 'string' },
    'test-rows': { type: 'string' },
    backbone: { type: 'string' },
    smoothing: { type: 'string' },
    'token-dropout': { type: 'string' },
    'learning-rate': { type: 'string' },
    epochs: { type: 'string' },
    balanced: { type: 'boolean', default: false },
    quantize: { type: 'boolean', default: false },
    adapters: { type: 'string' },
    alpha: { type: 'string' },
    targets: { type: 'string' },
    freeze: { type: 'string' },
  },
});
const [root, ...asked] = positionals;
if (root === undefined) {
  console.error('give the folder of the datasets: npm run bench -- accuracy <datasets folder> [dataset …]');
  process.exit(2);
}

/** What is chosen elsewhere if it isn't given. */
const chosen = (written: string | undefined): number | undefined =>
  written === undefined ? undefined : Number(written);
const learningRate = chosen(options['learning-rate']);
const epochs = chosen(options.epochs);
const labelSmoothing = chosen(options.smoothing);
const tokenDropout = chosen(options['token-dropout']);
const adapters = options.adapters && {
  rank: Number(options.adapters),
  ...(options.alpha && { alpha: Number(options.alpha) }),
  ...(options.targets && { targets: options.targets.split(',') }),
};
const freeze = options.freeze === 'embeddings' ? options.freeze : chosen(options.freeze);
const frozen = tuningSchema.parse({
  ...(adapters && { adapters }),
  ...(freeze !== undefined && { freeze }),
});

const most = { train: chosen(options.rows), test: chosen(options['test-rows']) };
const setting: Setting = {
  folder: await mkdtemp(join(tmpdir(), 'orchard-accuracy-')),
  size: modelSizeSchema.parse(options.size),
  threads: Number(options.threads),
  seed: Number(options.seed),
  python: options.python,
  training: {
    ...(epochs !== undefined && { num_epochs: epochs }),
    ...(learningRate !== undefined && { learning_rate: learningRate }),
  },
  tuning: {
    ...(labelSmoothing !== undefined && { labelSmoothing }),
    ...(tokenDropout !== undefined && { tokenDropout }),
    classWeights: options.balanced ? 'balanced' : 'none',
    quantize: options.quantize,
    ...frozen,
  },
  ...(options.backbone !== undefined && { start: startFrom(options.backbone) }),
};

function startFrom(backbone: string): NonNullable<Setting['start']> {
  if (backbone === 'bundled') return {};
  const folder = resolve(backbone);
  return { backbone: basename(folder), modelLoader: folderModels(dirname(folder)) };
}

/** Measures the datasets that are asked for, each with a table of its own kind. */
async function measureAll<Dataset extends Parameters<typeof limited>[0]>(
  all: Readonly<Record<string, (root: string) => Dataset>>,
  measure: (name: string, dataset: Dataset, setting: Setting) => Promise<object>,
  folder: string,
): Promise<void> {
  const table: Record<string, object> = {};
  for (const [name, read] of Object.entries(all)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.log(`${name} …`);
    table[name] = await measure(name, limited(read(folder), most), setting);
  }
  if (Object.keys(table).length > 0) console.table(table);
}

console.log(
  `${machine()}; from ${options.backbone === undefined ? 'scratch' : basename(options.backbone)}, ${setting.size}, ${setting.threads} threads, seed ${setting.seed}`,
);
await measureAll(readers, measureClassifier, root);
await measureAll(taggedReaders, measureTagger, root);
await measureAll(questionReaders, measureRetriever, root);
await rm(setting.folder, { recursive: true });
