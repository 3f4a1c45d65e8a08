import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { meanOfRows, unitVector } from '../src/families/index.js';
import { TextModel } from '../src/inference/index.js';
import { longProbe, probes, type SmallModelName, smallModel } from '../test/support/small-models.js';
import { architectureModels, graphResults, type TextResult } from './interop/architecture-models.js';
import { compareBlends } from './interop/blend-reader.js';
import { compareCheckpoints } from './interop/checkpoints.js';
import { type Loading, type PythonAnswer, runInPython } from './interop/python-peer.js';
import { compareRandomEncoders } from './interop/random-encoders.js';
import { compareSentenceFolders } from './interop/sentences.js';
import { machine } from './report.js';

/**
 * Compares Orchard with Python's libraries. First, small random encoders of every architecture, which transformers writes:
 * hidden states, logits and the gradients of a training step (`encoders`), and whole checkpoints with heads, asked by its
 * pipelines (`checkpoints`), and folders of sentence-transformers and its cross-encoders (`sentence`). Then folders, loaded unchanged in transformers
 * and sentence-transformers, which should give the same tokens, logits and vectors: one of each architecture with each head
 * (`architectures`), and one small trained model of each kind (`models`). Then whole answers of the catalogue's classifiers,
 * blended, against examples/python/read_model.py (`blends`).
 * Usage: `npm run bench -- interop [--python python3] [--only encoders|checkpoints|sentence|architectures|models|blends]`; Python needs `pip install torch
 * transformers sentence-transformers onnxruntime`.
 */

const { values: options } = parseArgs({
  options: { python: { type: 'string', default: 'python3' }, only: { type: 'string' } },
});

/** Largest difference between numbers that count as equal. */
const TOLERANCE = 1e-4;

const models: readonly { readonly name: SmallModelName; readonly load: Loading }[] = [
  { name: 'binary classifier', load: 'mean-classification' },
  { name: 'multiclass classifier', load: 'mean-classification' },
  { name: 'classifier of first tokens', load: 'sequence-classification' },
  { name: 'entity tagger', load: 'token-classification' },
  { name: 'retriever', load: 'sentence-vectors' },
];
const howLoaded: Readonly<Record<Loading, string>> = {
  'mean-classification': 'AutoModelForSequenceClassification, trust_remote_code',
  'sequence-classification': 'AutoModelForSequenceClassification',
  'token-classification': 'AutoModelForTokenClassification',
  'sentence-vectors': 'SentenceTransformer(folder).encode',
};

/** Our own results for the texts, computed one at a time so that nothing is padded. */
async function ourResults(directory: string, load: Loading, texts: readonly string[]): Promise<TextResult[]> {
  const model = await TextModel.load(directory, 1);
  const results: TextResult[] = [];
  for (const text of texts) {
    const [[window] = []] = await model.encode([text]);
    if (window === undefined) throw new Error('a text without tokens');
    const ids = Array.from(window.encoding.ids);
    const width = window.outputs.length / ids.length;
    const outputs =
      load === 'sentence-vectors' ? unitVector(meanOfRows(window.outputs, ids.length, width)) : window.outputs;
    results.push({ ids, outputs: Array.from(outputs) });
  }
  await model.release();
  return results;
}

/** A row of the table; `equal` is undefined if Python gave no answer. */
function compare(load: Loading, ours: readonly TextResult[], theirs: PythonAnswer | undefined) {
  const row = { 'loaded as': howLoaded[load] };
  if (theirs === undefined || 'missing' in theirs) {
    return { ...row, result: `left out: ${theirs?.missing ?? 'Python stopped before'}`, equal: undefined };
  }
  if ('failure' in theirs) return { ...row, result: theirs.failure, equal: false };
  const sameTokens = ours.every(({ ids }, at) => ids.join() === theirs.ids[at]?.join());
  const differences = ours.flatMap(({ outputs }, text) =>
    outputs.map((output, at) => Math.abs(output - (theirs.outputs[text]?.[at] ?? Number.NaN))),
  );
  const sameCounts = ours.every(({ outputs }, at) => outputs.length === theirs.outputs[at]?.length);
  const largest = Math.max(...differences);
  return {
    ...row,
    library: theirs.library,
    tokens: sameTokens ? 'equal' : 'DIFFERENT',
    numbers: differences.length,
    'largest difference': largest.toExponential(1),
    equal: sameTokens && sameCounts && largest <= TOLERANCE,
  };
}

/** What is compared, all by default; `--only` picks one. */
const parts = ['encoders', 'checkpoints', 'sentence', 'architectures', 'models', 'blends'] as const;
const isAsked = (part: (typeof parts)[number]) => options.only === undefined || options.only === part;

interface Folder {
  readonly name: string;
  readonly path: string;
  readonly load: Loading;
  readonly ours: (texts: readonly string[]) => Promise<TextResult[]>;
}

async function foldersToLoad(): Promise<Folder[]> {
  const folders: Folder[] = [];
  for (const { name, load } of isAsked('models') ? models : []) {
    const path = await smallModel(name, folder);
    folders.push({ name, path, load, ours: (texts) => ourResults(path, load, texts) });
  }
  for (const model of isAsked('architectures') ? await architectureModels(folder) : []) {
    folders.push({ ...model, ours: (texts) => graphResults(model.path, texts) });
  }
  return folders;
}

console.log(machine());
const folder = await mkdtemp(join(tmpdir(), 'orchard-interop-'));
if (isAsked('encoders')) {
  const encoders = await compareRandomEncoders(join(folder, 'encoders'), options.python);
  if (typeof encoders === 'string') console.log(`no encoders compared: ${encoders}`);
  else {
    console.table(encoders);
    if (Object.values(encoders).some(({ equal }) => !equal)) process.exitCode = 1;
  }
}
if (isAsked('checkpoints')) {
  const checkpoints = await compareCheckpoints(join(folder, 'checkpoints'), options.python);
  if (typeof checkpoints === 'string') console.log(`no checkpoints compared: ${checkpoints}`);
  else {
    console.table(checkpoints);
    if (Object.values(checkpoints).some(({ equal }) => !equal)) process.exitCode = 1;
  }
}
if (isAsked('sentence')) {
  const sentences = await compareSentenceFolders(join(folder, 'sentence'), options.python);
  if (typeof sentences === 'string') console.log(`no folders of sentence-transformers compared: ${sentences}`);
  else {
    console.table(sentences);
    if (Object.values(sentences).some(({ equal }) => !equal)) process.exitCode = 1;
  }
}
const texts = [...probes, longProbe];
const folders = await foldersToLoad();
const answers = folders.length === 0 ? [] : runInPython(folders, texts, options.python);
if (typeof answers === 'string') {
  console.log(`nothing compared: ${answers}`);
} else {
  const table: Record<string, ReturnType<typeof compare>> = {};
  for (const [at, { name, load, ours }] of folders.entries()) {
    table[name] = compare(load, await ours(texts), answers[at]);
  }
  if (folders.length > 0) console.table(table);
  if (Object.values(table).some(({ equal }) => equal === false)) process.exitCode = 1;
}
if (isAsked('blends')) {
  const blends = await compareBlends(texts, options.python);
  if (typeof blends === 'string') console.log(`no blends compared: ${blends}`);
  else {
    console.table(blends);
    if (Object.values(blends).some(({ equal }) => !equal)) process.exitCode = 1;
  }
}
await rm(folder, { recursive: true });
