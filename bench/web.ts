import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { catalogueDirectory } from '../models/index.js';
import { fileSizes } from '../models/recipes/catalogue/export-model.js';
import { recipesNamed } from '../models/recipes/catalogue/models/index.js';
import type { Recipe } from '../models/recipes/catalogue/recipe.js';
import { orThrow } from '../src/contract/index.js';
import { exportModel, loadModel, type TrainingRow, train } from '../src/index.js';
import { TemporaryDirectory } from '../src/system/index.js';
import { ForwardPass } from '../src/wasm/index.js';
import { type Answer, openModel } from '../src/web.js';
import { readers } from './datasets/labelled-texts.js';
import { questionReaders } from './datasets/questions.js';
import { taggedReaders } from './datasets/tagged-sentences.js';
import { machine, median } from './report.js';
import { findRuntimes } from './runtimes.js';

/**
 * `orchard-nlp/web`: sizes, speed, answers (of the catalogue, and of a model per family that is trained here), start and memory.
 *
 * Usage: `npm run bench -- web [datasets folder] [--only sizes,speed,answers,custom,start,memory] [--model sentiment-classification]
 * [--texts 1000] [--rounds 12] [--processes 10] [--runtimes node24,bun,deno]`. Answers and custom need the datasets folder,
 * start a built package. Peers: onnxruntime-web on the same encoder, one thread, alternately in one process; transformers.js.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'sizes,speed,answers,custom,start,memory' },
    model: { type: 'string', default: 'sentiment-classification' },
    texts: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '12' },
    processes: { type: 'string', default: '10' },
    runtimes: { type: 'string', default: 'bun,deno' },
  },
});
const [datasets] = positionals;
const recipes = recipesNamed(['all']);
const root = fileURLToPath(new URL('..', import.meta.url));
const entry = join(root, 'dist', 'web.js');
const temporary = new TemporaryDirectory();
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;

/** The model as one file for the web. @param folder Default: that of the catalogue model with this name */
async function webFile(name: string, folder = join(catalogueDirectory, name)): Promise<string> {
  const path = join(await temporary.path(), `${name}.orchard`);
  await orThrow(exportModel(folder, path, { for: 'web' }));
  return path;
}

async function printSizes(): Promise<void> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: "export { openModel } from './dist/web.js';", resolveDir: root },
    ...{ bundle: true, minify: true, splitting: true, write: false, metafile: true, outdir: 'page' },
    ...{ format: 'esm', platform: 'browser', logLevel: 'silent' },
  });
  const [, base64 = ''] = /"(AGFzbQ[A-Za-z0-9+/=]*)"/.exec(outputFiles.map(({ text }) => text).join('')) ?? [];
  const loadedWith = (name: string, seen: Set<string>): Set<string> => {
    if (seen.has(name)) return seen;
    seen.add(name);
    for (const { path, kind } of metafile.outputs[name]?.imports ?? []) {
      if (kind === 'import-statement') loadedWith(path, seen);
    }
    return seen;
  };
  const [start = ''] = Object.entries(metafile.outputs).flatMap(([name, { entryPoint }]) => (entryPoint ? name : []));
  const sizeOf = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + (metafile.outputs[name]?.bytes ?? 0), -base64.length);
  console.log(`WebAssembly: ${kilobytes(statSync(join(root, 'dist', 'kernels.wasm')).size)}`);
  console.log('JavaScript of openModel, minified, not compressed, without the WebAssembly that it includes:');
  for (const [family, decoder] of Object.entries({
    classification: 'papayaDecoder',
    entities: 'grapefruitDecoder',
    retrieval: 'dragonfruitDecoder',
  })) {
    const chunks = Object.entries(metafile.outputs).flatMap(([name, { exports }]) =>
      exports.includes(decoder) ? name : [],
    );
    const loaded = loadedWith(start, new Set());
    for (const chunk of chunks) loadedWith(chunk, loaded);
    console.log(`  a page that answers, ${family}: ${kilobytes(sizeOf(loaded))}`);
  }
  console.log(`  all that can be loaded: ${kilobytes(sizeOf(Object.keys(metafile.outputs)))}`);
  const rows: object[] = [];
  for (const { name } of recipes) {
    const sizes = [...(await fileSizes(join(catalogueDirectory, name))).values()];
    const folder = sizes.reduce((sum, size) => sum + size, 0);
    const file = statSync(await webFile(name)).size;
    rows.push({
      model: name,
      'file (MB)': (file / 1e6).toFixed(2),
      'folder (MB)': (folder / 1e6).toFixed(2),
      share: (file / folder).toFixed(3),
    });
  }
  console.table(rows);
}

const LENGTHS = [12, 24, 64, 128];
/** The ratios that we want to reach. */
const BARS = [1.6, 1.4, 1.3, 1.2];
/** How long each of a pair computes in a row, so that the clock's steps don't count. */
const BLOCK_MS = 60;

/** The part of onnxruntime-web that is used; it comes with transformers.js. */
interface OnnxRuntimeWeb {
  readonly env: { readonly wasm: { numThreads: number } };
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => object;
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: { readonly executionProviders: readonly string[] },
    ): Promise<{ run(feeds: Readonly<Record<string, object>>): Promise<unknown> }>;
  };
}

/** onnxruntime-web on both graphs of the model; the float32 one is what an 8-bit one has to beat there, too. */
async function peersOf(folder: string) {
  const require = createRequire(createRequire(import.meta.url).resolve('@huggingface/transformers'));
  const ort: OnnxRuntimeWeb = await import(require.resolve('onnxruntime-web'));
  ort.env.wasm.numThreads = 1;
  const float32 = join(await temporary.path(), 'float32');
  await orThrow(exportModel(folder, float32, { weights: 'float32' }));
  const graphs = {
    '8-bit graph': join(folder, 'onnx', 'model_quantized.onnx'),
    'float32 graph': join(float32, 'onnx', 'model.onnx'),
  };
  const peers = new Map<string, (ids: Int32Array) => Promise<unknown>>();
  for (const [name, path] of Object.entries(graphs)) {
    const session = await ort.InferenceSession.create(readFileSync(path), { executionProviders: ['wasm'] });
    const tensor = (values: Int32Array) =>
      new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
    peers.set(name, (ids) =>
      session.run({
        input_ids: tensor(ids),
        attention_mask: tensor(ids.map(() => 1)),
        token_type_ids: tensor(ids.map(() => 0)),
      }),
    );
  }
  return {
    version: JSON.parse(readFileSync(join(require.resolve('onnxruntime-web'), '..', '..', 'package.json'), 'utf8'))
      .version,
    peers,
  };
}

async function printSpeed(): Promise<void> {
  const folder = join(catalogueDirectory, options.model);
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const pass = ForwardPass.open({
    ...{ config, configFile: 'config.json', maxTokens: 128, pooling: config.orchard.pooling, classifier: true },
    ...{ graph: readFileSync(join(folder, 'onnx', 'model_quantized.onnx')), graphFile: 'model_quantized.onnx' },
  });
  let found: Awaited<ReturnType<typeof peersOf>>;
  try {
    found = await peersOf(folder);
  } catch (thrown) {
    console.log(`Left out: onnxruntime-web, ${String(thrown).slice(0, 200)}`);
    return;
  }
  const { version, peers } = found;
  console.log(
    `Encoder and head of ${options.model}, compared with onnxruntime-web ${version}, one thread, one process`,
  );
  const rows: object[] = [];
  for (const [at, tokens] of LENGTHS.entries()) {
    const ids = Int32Array.from({ length: tokens }, (_, place) => 5 + ((97 * place) % (config.vocab_size - 10)));
    const typeIds = new Int32Array(tokens);
    const own = async () => void pass.run({ ids, typeIds });
    const row: Record<string, string | number> = { tokens, bar: BARS[at] ?? 0 };
    for (const [name, peer] of peers) {
      const ratios: number[] = [];
      const ours: number[] = [];
      for (let round = 0; round < Number(options.rounds); round += 1) {
        const pair =
          round % 2 === 0
            ? [await timed(own), await timed(() => peer(ids))]
            : [await timed(() => peer(ids)), await timed(own)].reverse();
        const [mine = 0, theirs = 0] = pair;
        ours.push(mine);
        ratios.push(theirs / mine);
      }
      row['ours (ms)'] = median(ours).toFixed(2);
      row[name] = `×${median(ratios).toFixed(2)}`;
    }
    rows.push(row);
  }
  console.table(rows);
}

/**
 * Milliseconds of the processor that a run takes, the mean of those in a block, after one that doesn't count. Both sides
 * compute in this thread alone, so that this is their time, but without what other processes take.
 */
async function timed(run: () => Promise<unknown>): Promise<number> {
  await run();
  const from = process.cpuUsage();
  for (let runs = 1; ; runs += 1) {
    await run();
    const { user, system } = process.cpuUsage(from);
    const ms = (user + system) / 1000;
    if (ms >= BLOCK_MS) return ms / runs;
  }
}

interface Asked {
  readonly text: string;
  /** Of a classifier's text. */
  readonly labels?: readonly string[];
}

/** At most this many texts of all tests of a model, evenly from each. */
async function textsOf(recipe: Recipe, folder: string, most: number): Promise<Asked[]> {
  const all: Asked[][] = [];
  for (const test of recipe.tests) {
    const read: unknown = await test.read(folder);
    all.push(askedOf(read));
  }
  const each = Math.ceil(most / all.length);
  return all.flatMap((texts) => evenly(texts, each)).slice(0, most);
}

function askedOf(read: unknown): Asked[] {
  if (typeof read === 'object' && read !== null && 'questions' in read && Array.isArray(read.questions))
    return read.questions.map(({ question }) => ({ text: question }));
  if (!Array.isArray(read)) return [];
  return read.map((row) => ('words' in row ? { text: row.words.join(' ') } : { text: row.text, labels: row.labels }));
}

function evenly<Item>(items: readonly Item[], count: number): Item[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, at) => items[Math.floor((at * items.length) / count)]).filter(
    (item) => item !== undefined,
  );
}

/** What has to be equal in two answers: labels, entities with their places, the best passage. */
const decision = (answer: Answer): string => {
  if (answer.kind === 'labels') return JSON.stringify([...answer.labels].sort());
  if (answer.kind === 'entities')
    return JSON.stringify(answer.entities.map(({ type, start, end }) => [type, start, end]));
  return answer.passages[0]?.text ?? '';
};

/** The largest difference of the probabilities of the same label, entity or passage. */
function difference(ours: Answer, theirs: Answer): number {
  const scores = (answer: Answer) =>
    new Map(
      answer.kind === 'labels'
        ? answer.scores.map(({ label, score }) => [label, score])
        : answer.kind === 'entities'
          ? answer.entities.map(({ type, start, end, score }) => [`${type} ${start} ${end}`, score])
          : answer.passages.map(({ text, score }) => [text, score]),
    );
  const others = scores(theirs);
  let most = 0;
  for (const [name, score] of scores(ours)) {
    const other = others.get(name);
    if (other !== undefined) most = Math.max(most, Math.abs(score - other));
  }
  return most;
}

/** Answers of a model folder in Node and on the web. */
async function comparison(model: string, folder: string, read: readonly Asked[]): Promise<object> {
  const asked = read.filter(({ text }) => text.trim() !== '');
  const texts = asked.map(({ text }) => text);
  const web = await orThrow(openModel(await webFile(model, folder)));
  await using node = await orThrow(loadModel(folder));
  const [ours, theirs] = [await orThrow(web.predict(texts)), await orThrow(node.predict(texts))];
  web.close();
  const pairs = ours.flatMap((own, at) => {
    const other = theirs[at];
    return other === undefined ? [] : [{ own, other, labels: asked[at]?.labels }];
  });
  const differences = pairs.map(({ own, other }) => difference(own, other));
  const share = (holds: (pair: (typeof pairs)[number]) => boolean) => {
    const judged = pairs.filter(({ labels }) => labels !== undefined);
    if (judged.length === 0) return '';
    return ((100 * judged.filter(holds).length) / judged.length).toFixed(2);
  };
  const isRight = (answer: Answer, labels: readonly string[] = []) =>
    answer.kind === 'labels' && JSON.stringify([...labels].sort()) === decision(answer);
  const same = pairs.filter(({ own, other }) => decision(own) === decision(other)).length;
  return {
    model,
    texts: pairs.length,
    'same (%)': ((100 * same) / pairs.length).toFixed(2),
    'largest difference': Math.max(...differences).toFixed(5),
    '> 5e-3 (%)': ((100 * differences.filter((each) => each > 5e-3).length) / differences.length).toFixed(2),
    'accuracy (%)': share(({ own, labels }) => isRight(own, labels)),
    'in Node (%)': share(({ other, labels }) => isRight(other, labels)),
  };
}

async function printAnswers(): Promise<void> {
  if (datasets === undefined) return console.log('Left out: answers, which need the datasets folder');
  const rows: object[] = [];
  for (const recipe of recipes) {
    const asked = await textsOf(recipe, datasets, Number(options.texts));
    rows.push(await comparison(recipe.name, join(catalogueDirectory, recipe.name), asked));
  }
  console.table(rows);
}

/** Of each family, a model that is trained here on some rows of a dataset. */
async function printCustom(): Promise<void> {
  if (datasets === undefined) return console.log('Left out: models trained here, which need the datasets folder');
  const most = Number(options.texts);
  const sentences = readers.sst2?.(datasets);
  const tagged = taggedReaders.wnut17?.(datasets);
  const questions = questionReaders.squad_dev?.(datasets);
  if (sentences === undefined || tagged === undefined || questions === undefined) throw new Error('no such datasets');
  const trainings: readonly [name: string, rows: readonly TrainingRow[], asked: readonly Asked[]][] = [
    [
      'classification',
      evenly(sentences.train, 2 * most).map(({ text, labels }) => ({ text, label: labels[0] ?? '' })),
      evenly(sentences.test, most),
    ],
    [
      'entities',
      evenly(tagged.train, 2 * most).map(({ words, tags }) => ({ tokens: words, tags })),
      evenly(tagged.test, most).map(({ words }) => ({ text: words.join(' ') })),
    ],
    [
      'retrieval',
      evenly(questions.train, 2 * most).map(({ question, context }) => ({ question, passage: context })),
      evenly(questions.test, most).map(({ question }) => ({ text: question })),
    ],
  ];
  const rows: object[] = [];
  for (const [name, labelled, asked] of trainings) {
    const output = join(await temporary.path(), name);
    const model = await orThrow(train({ rows: labelled, output, epochs: 1 }));
    await model.close();
    console.log(`${name}: trained on ${labelled.length} rows`);
    rows.push(await comparison(name, output, asked));
  }
  console.table(rows);
}

/** Milliseconds from the start of a process to the first thing that it prints. */
function firstOutputMs([command = '', ...args]: readonly string[]): Promise<number> {
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let ms: number | undefined;
    child.stdout.once('data', () => {
      ms = performance.now() - from;
    });
    child.once('error', reject);
    child.once('exit', () => (ms === undefined ? reject(new Error(`${command} printed nothing`)) : resolve(ms)));
  });
}

const TEXT = 'a fine film';

async function printStart(): Promise<void> {
  const file = await webFile(options.model);
  const program = join(root, 'bench', 'web', 'answer.mjs');
  const peer = join(root, 'bench', 'first-answer', 'transformers.mjs');
  const rows: object[] = [];
  for (const { name, command } of findRuntimes(options.runtimes)) {
    const own = [...command, program, entry, file, TEXT];
    const other = [...command, peer, catalogueDirectory, options.model, TEXT, '1', 'q8'];
    const measured = { own: [] as number[], other: [] as number[] };
    let absent: string | undefined;
    await firstOutputMs(own);
    for (let process = 0; process < Number(options.processes); process += 1) {
      measured.own.push(await firstOutputMs(own));
      if (absent === undefined)
        await firstOutputMs(other).then(
          (ms) => measured.other.push(ms),
          (thrown) => (absent = String(thrown).slice(0, 60)),
        );
    }
    const ours = median(measured.own);
    rows.push({
      runtime: name,
      'ours (ms)': ours.toFixed(0),
      'transformers.js (ms)': absent ?? median(measured.other).toFixed(0),
      share: absent === undefined ? (ours / median(measured.other)).toFixed(2) : '',
    });
  }
  console.log(`From the start of a process to its first answer, median of ${options.processes} processes`);
  console.table(rows);
}

async function printMemory(): Promise<void> {
  const file = await webFile(options.model);
  const program = join(root, 'bench', 'web', 'answer.mjs');
  const measured = Array.from({ length: 5 }, () => {
    const printed = execFileSync(process.execPath, ['--expose-gc', program, entry, file, TEXT, 'memory'], {
      encoding: 'utf8',
    });
    return Number(JSON.parse(printed).bytes);
  });
  console.log(`Memory of ${options.model}, open, after 21 answers: ${(median(measured) / 2 ** 20).toFixed(1)} MiB`);
}

const parts: Readonly<Record<string, () => Promise<void>>> = {
  sizes: printSizes,
  speed: printSpeed,
  answers: printAnswers,
  custom: printCustom,
  start: printStart,
  memory: printMemory,
};
console.log(machine());
for (const name of options.only.split(',')) {
  const print = parts[name];
  if (print === undefined) throw new Error(`--only ${name}: give some of ${Object.keys(parts).join(', ')}`);
  console.log(`\n${name}`);
  await print();
}
await temporary.remove();
process.exit(0);
