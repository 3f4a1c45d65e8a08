import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load } from './http/load.js';
import { overhead } from './http/overhead.js';
import { Served } from './http/served.js';
import { trainSmallModel } from './http/small-model.js';
import { machine } from './report.js';

/**
 * What HTTP adds to a call of the library: requests per second and the median time of one, on a short text
 * and the same model in the same process; rounds take turns. With `--minutes`, many connections for that long
 * instead: errors, and the service's memory every 10 s.
 * Usage: `npm run bench -- http [--model customer-review] [--rounds 7] [--seconds 5] [--workers 2] [--minutes
 * 10] [--connections 64]`; without a model of the catalogue, one is trained on the reviews in examples/.
 */

const { values: options } = parseArgs({
  options: {
    model: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '5' },
    workers: { type: 'string', default: '2' },
    minutes: { type: 'string' },
    connections: { type: 'string', default: '64' },
  },
});
const workers = Number(options.workers);
const connections = Number(options.connections);
const query = 'The driver was kind, and the parcel came on time.';
const app_id = 'bench';
/** Connections at the same time: one, for the time of a request; then enough to keep the workers busy. */
const CONNECTIONS = [1, 2, 8, 64];

async function measureOverhead(served: Served): Promise<void> {
  const rounds = Number(options.rounds);
  const seconds = Number(options.seconds);
  console.log(`medians of ${rounds} rounds of ${seconds} s`);
  const table: Record<string, object> = {};
  for (const count of CONNECTIONS) {
    table[`${count} at a time`] = await overhead(served, { query, rounds, seconds }, count);
  }
  console.table(table);
}

async function measureLoad(served: Served, minutes: number): Promise<void> {
  const { result, residentMebibytes } = await load(served, { query, minutes, connections });
  const { errors, timeouts, non2xx, duration, latency } = result;
  const answered = result['2xx'];
  console.log(`${connections} connections for ${duration} s: ${answered} answers`);
  console.log(`${(answered / duration).toFixed(0)} requests/s; p50 ${latency.p50} ms, p99 ${latency.p99} ms`);
  console.log(`errors ${errors} (timeouts ${timeouts}), answers other than 2xx ${non2xx}`);
  console.log(`MiB every 10 s: ${residentMebibytes.map(Math.round).join(' ')}`);
}

const folder = await mkdtemp(join(tmpdir(), 'orchard-http-'));
const model = options.model === undefined ? { id: await trainSmallModel(folder, app_id) } : { name: options.model };
const served = await Served.start({ folder, app_id, model, workers });
console.log(`${machine()}; ${options.model ?? 'a small model'}, ${workers} workers`);
if (options.minutes === undefined) await measureOverhead(served);
else await measureLoad(served, Number(options.minutes));
await served.close();
await rm(folder, { recursive: true });
