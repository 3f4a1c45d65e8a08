import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { modelSizeSchema } from '../src/contract/index.js';
import { measureAlone } from './inference/alone/index.js';
import { measureAll } from './inference/measure-all.js';
import { Models } from './inference/models.js';
import { machine } from './report.js';

/**
 * The public API beside transformers.js on the same weights, and onnxruntime in Python where `--python` has it: texts
 * per second, the time of a call, the event loop's delay, memory. Every library runs in a process of its own, in rounds
 * that take turns. Orchard answers with both experts, the peers with the encoder alone.
 *
 * Usage: `npm run bench -- inference [--size mini|base] [--only <part of a scenario's name>] [--rounds 7] [--texts 200]
 * [--workers 2] [--busy 0,1,2,4] [--python <python>] [--models <folder>] [--json <file>]`. `--models` keeps the trained
 * models for the next time.
 *
 * Orchard by itself, each instead of the comparison: `--profile` (where the time of one short text goes), `--soak
 * 100000` (memory over so many requests), `--cycles 200` (memory over so many loads and unloads), `--overload 10000`
 * (so many requests at once), `--latency-at-load 0.7` (random arrivals at that share of the highest throughput),
 * `--http` (what HTTP adds to a call).
 */

const { values: options } = parseArgs({
  options: {
    size: { type: 'string', default: 'mini' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '7' },
    texts: { type: 'string', default: '200' },
    workers: { type: 'string', default: `${availableParallelism()}` },
    busy: { type: 'string', default: '0' },
    python: { type: 'string' },
    models: { type: 'string' },
    json: { type: 'string' },
    profile: { type: 'boolean', default: false },
    soak: { type: 'string' },
    cycles: { type: 'string' },
    overload: { type: 'string' },
    'latency-at-load': { type: 'string' },
    http: { type: 'boolean', default: false },
  },
});
const size = modelSizeSchema.parse(options.size);
const workers = Number(options.workers);
const comparison = {
  only: options.only,
  rounds: Number(options.rounds),
  texts: Number(options.texts),
  busy: options.busy.split(',').map(Number),
  workers,
  python: options.python,
};
/** Measurements of Orchard alone; an amount that is undefined was not asked for. */
const alone = [
  { mode: 'profile', amount: options.profile ? options.texts : undefined },
  { mode: 'soak', amount: options.soak },
  { mode: 'cycles', amount: options.cycles },
  { mode: 'overload', amount: options.overload },
  { mode: 'latency-at-load', amount: options['latency-at-load'] },
  { mode: 'http', amount: options.http ? options.rounds : undefined },
] as const;

const header = `${machine()}; ${size}, ${workers} workers`;
console.log(header);
const folder = options.models ?? (await mkdtemp(join(tmpdir(), 'orchard-inference-')));
try {
  const models = await Models.prepare(join(folder, size), size, workers);
  const figures: Record<string, unknown> = { header, size, workers };
  for (const { mode, amount } of alone) {
    if (amount === undefined) continue;
    figures[mode] = await measureAlone(models, { mode, amount: Number(amount), workers });
  }
  if (alone.every(({ amount }) => amount === undefined)) {
    Object.assign(figures, await measureAll(models, comparison));
  }
  if (options.json !== undefined) await writeFile(options.json, JSON.stringify(figures, undefined, 2));
} finally {
  if (options.models === undefined) await rm(folder, { recursive: true });
}
