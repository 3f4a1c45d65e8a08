import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { modelSizeSchema } from '../src/contract/index.js';
import { compareFirstAnswers, firstAnswersTable } from './first-answer/measure.js';
import { overhead } from './http/overhead.js';
import { Served } from './http/served.js';
import { BusyProcesses } from './inference/busy-processes.js';
import { type Agreement, closeSides, compare, compareAnswers, openSides } from './inference/compare.js';
import { Models, subjectNames } from './inference/models.js';
import { agreementLine, comparisonTable, type Measured, runtimesTable, titleOf } from './inference/tables.js';
import { scenariosFor, textsFor } from './inference/texts.js';
import { machine } from './report.js';
import { findRuntimes, ownRuntime, type Runtime } from './runtimes.js';

/**
 * The public API compared with transformers.js on the same graph: the 8-bit one with the 8-bit one, float32 with float32;
 * and onnxruntime in Python with `--python`. Texts per second, also per second of processor time, the time of a call,
 * stalls of the event loop, memory, and the first answer of a fresh process. Every library runs in processes of its own,
 * the peers with each number of threads, in rounds that take turns. Orchard answers with both experts, the peers with the
 * encoder alone. With `--runtimes`, one caller and batches are also measured there.
 *
 * Usage: `npm run bench -- inference [--trained mini|base] [--precisions int8,float32] [--only <part of a subject's or
 * scenario's name, as in "tagging, short">] [--rounds 5] [--texts 400] [--workers 2] [--runtimes node24,bun,deno] [--busy
 * 0,1,2,4] [--python <python>] [--models <folder>] [--json <file>]`. A runtime may be the path of a binary. Without
 * `--trained`, the models are the catalogue's, in float32 with their 8-bit weights converted back; with it, they are trained on
 * examples/. `--models` keeps them for the next time.
 *
 * Orchard by itself, each instead of the comparison: `--profile` (where the time of one short text goes), `--soak
 * 100000` (memory over so many requests), `--cycles 200` (memory over so many loads and unloads), `--overload 10000`
 * (so many requests at once), `--engines 400` (so many texts by ONNX Runtime and by WebAssembly), `--latency-at-load 0.7` (random arrivals at that share of the highest throughput),
 * `--http` (what HTTP adds to a call).
 */

const { values: options } = parseArgs({
  options: {
    trained: { type: 'string' },
    precisions: { type: 'string', default: 'int8,float32' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    texts: { type: 'string', default: '400' },
    workers: { type: 'string', default: `${availableParallelism()}` },
    runtimes: { type: 'string', default: '' },
    busy: { type: 'string', default: '0' },
    python: { type: 'string' },
    models: { type: 'string' },
    json: { type: 'string' },
    profile: { type: 'boolean', default: false },
    soak: { type: 'string' },
    cycles: { type: 'string' },
    overload: { type: 'string' },
    engines: { type: 'string' },
    'latency-at-load': { type: 'string' },
    http: { type: 'boolean', default: false },
  },
});
const origin = options.trained === undefined ? 'catalogue' : modelSizeSchema.parse(options.trained);
const workers = Number(options.workers);
const rounds = Number(options.rounds);
const precisions = (['int8', 'float32'] as const).filter((each) => options.precisions.split(',').includes(each));
/** Measurements of Orchard alone; an amount that is undefined was not asked for. */
const alone = [
  { mode: 'profile', amount: options.profile ? options.texts : undefined },
  { mode: 'soak', amount: options.soak },
  { mode: 'cycles', amount: options.cycles },
  { mode: 'overload', amount: options.overload },
  { mode: 'engines', amount: options.engines },
  { mode: 'latency-at-load', amount: options['latency-at-load'] },
  { mode: 'http', amount: options.http ? options.rounds : undefined },
];
const HTTP_SECONDS = 3;
const FIRST_ANSWER = {
  catalogue: fileURLToPath(new URL('../models/catalogue', import.meta.url)),
  model: 'sentiment-classification',
  query: 'a fine film',
};

/** Prints a table of each precision. */
async function measureAlone(models: Models, mode: string, amount: string): Promise<Record<string, object>> {
  const tables: Record<string, object> = {};
  for (const precision of precisions) {
    // Its models are all three.
    if (models.of('medley', precision) === undefined) continue;
    const folder = models.folderOf(precision);
    const rows = mode === 'http' ? await measureHttp(folder) : await runAlone(mode, amount, folder);
    console.log(`\n--${mode} ${amount}, ${precision}`);
    console.table(rows);
    tables[precision] = rows;
  }
  return tables;
}

async function runAlone(mode: string, amount: string, folder: string): Promise<object> {
  const script = fileURLToPath(new URL('inference/alone/process.ts', import.meta.url));
  const args = [...process.execArgv, '--expose-gc', script, mode, amount, folder, `${workers}`];
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
}

/** One request at a time over a connection on loopback, and calls of the library in the service's process. */
async function measureHttp(pretrained: string): Promise<object> {
  const folder = join(pretrained, 'storage');
  const served = await Served.start({
    folder,
    app_id: 'bench',
    model: { name: 'classification' },
    workers,
    pretrained,
  });
  const [query = ''] = textsFor('classification', 'short', 1);
  try {
    return { 'one at a time': await overhead(served, { query, rounds, seconds: HTTP_SECONDS }, 1) };
  } finally {
    await served.close();
  }
}

/** Measures and prints every scenario that was asked for, then the first answers. */
async function measureAll(models: Models): Promise<Record<string, unknown>> {
  const runtimes = findRuntimes(options.runtimes);
  const tables: Record<string, readonly Measured[]> = {};
  const agreements: Agreement[] = [];
  for (const subject of subjectNames) {
    for (const precision of precisions) {
      const { only, python } = options;
      const scenarios = scenariosFor(subject, Number(options.texts)).filter(({ name }) =>
        `${subject}, ${name}`.includes(only),
      );
      const found = models.of(subject, precision);
      if (found === undefined) console.log(`\n${titleOf(subject, precision, 0)}: left out, training kept float32`);
      if (found === undefined || scenarios.length === 0) continue;
      const { sides, notes } = await openSides(found, precision, { workers, runtimes, python });
      for (const note of notes) console.log(note);
      try {
        agreements.push(...(await compareAnswers(models, subject, precision, sides)));
        for (const busy of options.busy.split(',').map(Number)) {
          using _ = new BusyProcesses(busy);
          const measured: Measured[] = [];
          for (const { name, isMain, round } of scenarios) {
            if (busy > 0 && !isMain) continue;
            const here = sides.filter(
              ({ runtime }) => round.callers === 1 || runtime === ownRuntime.name || runtime === 'Python',
            );
            measured.push({ scenario: name, results: await compare(here, round, rounds) });
          }
          if (measured.length === 0) continue;
          const title = titleOf(subject, precision, busy);
          tables[title] = measured;
          print(title, measured, runtimes);
        }
      } finally {
        await closeSides(sides);
      }
    }
  }
  console.log(`\n${agreements.map(agreementLine).join('\n')}`);
  const firstAnswers = options.only === '' ? await compareFirstAnswers(runtimes, FIRST_ANSWER, rounds) : [];
  if (options.only === '') console.log(`\n${firstAnswersTable(firstAnswers)}`);
  return { tables, agreements, firstAnswers };
}

/** "Orchard / peer" in each cell. */
function print(title: string, measured: readonly Measured[], runtimes: readonly Runtime[]): void {
  const versions = new Set(measured.flatMap(({ results }) => results.map(({ version }) => version)));
  console.log(`\n${title}: ${[...versions].join(' / ')}`);
  const tables = [
    comparisonTable(measured, 'transformers.js', ownRuntime.name),
    comparisonTable(measured, 'onnxruntime in Python', ownRuntime.name),
    runtimesTable(
      measured,
      runtimes.map(({ name }) => name),
    ),
  ];
  for (const table of tables) if (table !== '') console.log(`\n${table}`);
}

const header = `${machine()}; ${origin}, ${workers} workers`;
console.log(header);
const folder = options.models ?? (await mkdtemp(join(tmpdir(), 'orchard-inference-')));
try {
  const models = await Models.prepare(join(folder, origin), origin, workers);
  const figures: Record<string, unknown> = { header, origin, workers };
  for (const { mode, amount } of alone) {
    if (amount !== undefined) figures[mode] = await measureAlone(models, mode, amount);
  }
  if (alone.every(({ amount }) => amount === undefined)) Object.assign(figures, await measureAll(models));
  if (options.json !== undefined) await writeFile(options.json, JSON.stringify(figures, undefined, 2));
} finally {
  if (options.models === undefined) await rm(folder, { recursive: true });
}
