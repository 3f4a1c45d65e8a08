import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { probes } from '../test/support/small-models.js';
import { compareFineTuning } from './backbone/fine-tuning.js';
import { openFolder, type SentenceVector, sentenceVectors } from './backbone/our-vectors.js';
import { type PythonAnswer, runInPython } from './interop/python-peer.js';
import { machine } from './report.js';

/**
 * Other libraries' checkpoints as backbones. Compares the sentence vectors of a folder, and of random
 * checkpoints of every model type that can be read, with those of sentence-transformers. With --fine-tune,
 * also compares a classifier that Orchard fine-tunes from the folder with one that plain PyTorch fine-tunes
 * with the same settings.
 * Usage: `npm run bench -- backbone <folder of a BERT> [--python python3] [--fine-tune <datasets folder>
 * --dataset banking77]`, and `--epochs 5 --learning-rate 2e-4 --batch 32 --threads 2 --seed 1`. Python needs
 * `pip install torch transformers sentence-transformers`.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    python: { type: 'string', default: 'python3' },
    'fine-tune': { type: 'string' },
    dataset: { type: 'string', default: 'banking77' },
    epochs: { type: 'string', default: '5' },
    'learning-rate': { type: 'string', default: '2e-4' },
    batch: { type: 'string', default: '32' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
  },
});
const [given] = positionals;
if (given === undefined) {
  console.error('give the folder of a BERT checkpoint: npm run bench -- backbone <folder>');
  process.exit(2);
}
const backboneFolder = resolve(given);

/** Largest difference between numbers that count as equal. */
const TOLERANCE = 1e-4;

/** Folders with one random checkpoint of each model type, or why there are none. */
function randomCheckpoints(source: string, target: string): string[] | string {
  const script = fileURLToPath(new URL('backbone/make_checkpoints.py', import.meta.url));
  const { stdout, stderr, status } = spawnSync(options.python, [script, source, target], {
    encoding: 'utf8',
  });
  if (status !== 0) return (stderr ?? `${options.python} does not start`).trim().slice(-300);
  return z.array(z.string()).parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

const unit = (vector: readonly number[]): number[] => {
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
};

function compare(ours: readonly SentenceVector[], theirs: PythonAnswer | undefined) {
  if (theirs === undefined || 'missing' in theirs) {
    return { result: `left out: ${theirs?.missing ?? 'Python stopped before'}`, equal: undefined };
  }
  if ('failure' in theirs) return { result: theirs.failure, equal: false };
  const sameTokens = ours.every(({ ids }, at) => ids.join() === theirs.ids[at]?.join());
  const differences = ours.flatMap(({ vector }, text) => {
    const other = unit(theirs.outputs[text] ?? []);
    return vector.map((value, at) => Math.abs(value - (other[at] ?? Number.NaN)));
  });
  const largest = Math.max(...differences);
  return {
    library: theirs.library,
    tokens: sameTokens ? 'equal' : 'DIFFERENT',
    numbers: differences.length,
    'largest difference': largest.toExponential(1),
    equal: sameTokens && largest <= TOLERANCE,
  };
}

async function compareVectors(target: string): Promise<void> {
  const random = randomCheckpoints(backboneFolder, target);
  if (typeof random === 'string') console.log(`no other model types: ${random}`);
  const folders = [backboneFolder, ...(typeof random === 'string' ? [] : random)];
  const asked = folders.map((path) => ({ path, load: 'sentence-vectors' as const }));
  const answers = runInPython(asked, probes, options.python);
  if (typeof answers === 'string') return console.log(`nothing compared: ${answers}`);
  const table: Record<string, ReturnType<typeof compare>> = {};
  for (const [at, folder] of folders.entries()) {
    const name = at === 0 ? basename(folder) : `random ${basename(folder)}`;
    table[name] = compare(await sentenceVectors(await openFolder(folder), probes), answers[at]);
  }
  console.table(table);
  if (Object.values(table).some(({ equal }) => equal === false)) process.exitCode = 1;
}

console.log(machine());
const work = await mkdtemp(join(tmpdir(), 'orchard-backbone-'));
await compareVectors(work);
if (options['fine-tune'] !== undefined) {
  await compareFineTuning(options['fine-tune'], options.dataset, {
    backbone: backboneFolder,
    folder: work,
    python: options.python,
    epochs: Number(options.epochs),
    learningRate: Number(options['learning-rate']),
    batchSize: Number(options.batch),
    threads: Number(options.threads),
    seed: Number(options.seed),
  });
}
await rm(work, { recursive: true });
