import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine, median } from './report.js';
import { configurationNamed } from './training/configurations.js';
import { Peer } from './training/peer.js';
import { writeRandomBackbone } from './training/random-backbone.js';

/**
 * Adapters over a frozen backbone beside training all of it, in rounds that take turns: the time of a step, by the clock
 * and of the processors, and the peak memory of a process each. Then a whole job with adapters over a backbone of 278
 * million weights, for its memory. Processor time is best read with one thread, as threads wait for each other busily.
 * Usage: `npm run bench -- adapters [--only d --rounds 5 --threads 2 --rank 8 --job m --rows 256]`; `--only none` leaves
 * the first part out, `--job none` the second.
 */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'd' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    rank: { type: 'string', default: '8' },
    job: { type: 'string', default: 'm' },
    rows: { type: 'string', default: '256' },
  },
});
const here = (file: string): string => fileURLToPath(new URL(`training/${file}`, import.meta.url));
const adapters = { rank: Number(options.rank) };

console.log(`${machine()}; ${options.threads} threads`);
const folder = await mkdtemp(join(tmpdir(), 'orchard-adapters-'));
try {
  for (const name of options.only.split(',').filter((each) => each !== 'none')) await compareSteps(name);
  if (options.job !== 'none') await measureJob(options.job);
} finally {
  await rm(folder, { recursive: true });
}

/** Starts a process for each way to train, and asks them for steps in turn. */
async function compareSteps(name: string): Promise<void> {
  const configuration = configurationNamed(name);
  const { layers, hidden, batch, tokens, vocabulary, steps } = configuration;
  console.log(`\n${name}: ${layers} × ${hidden}, batch ${batch} × ${tokens} tokens, vocabulary ${vocabulary}`);
  const directory = join(folder, name);
  await writeRandomBackbone(directory, configuration);
  const ways = {
    'all weights': {},
    'half of the layers frozen': { freeze: Math.floor(layers / 2) },
    [`adapters of rank ${adapters.rank}`]: { adapters },
  };
  const peers: { way: string; peer: Peer; times: number[]; seconds: number[] }[] = [];
  for (const [way, tuning] of Object.entries(ways)) {
    const args = [here('orchard-peer.ts'), name, options.threads, 'onnx', directory, JSON.stringify(tuning)];
    const peer = await Peer.start(process.execPath, ['--import', 'tsx', ...args]);
    if (typeof peer === 'string') throw new Error(peer);
    await peer.round(2);
    peers.push({ way, peer, times: [], seconds: [] });
  }
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const { peer, times, seconds } of peers) {
      times.push(median(await peer.round(steps)));
      seconds.push(peer.processorSeconds / steps);
    }
  }
  const [whole] = peers;
  const table: Record<string, object> = {};
  let most = Number.NaN;
  for (const { way, peer, times, seconds } of peers) {
    const mebibytes = await peer.stop();
    if (way === whole?.way) most = mebibytes;
    const ratios = times.map((time, round) => (whole?.times[round] ?? Number.NaN) / time);
    table[way] = {
      'step (ms)': Number(median(times).toFixed(0)),
      'times as fast': Number(median(ratios).toFixed(2)),
      'processor time a step (s)': Number(median(seconds).toFixed(2)),
      'by round': ratios.map((ratio) => ratio.toFixed(2)).join(' '),
      'peak memory (MiB)': Math.round(mebibytes),
      'of all weights': `${Math.round((100 * mebibytes) / most)} %`,
    };
  }
  console.table(table);
}

/** Runs a job in a process of its own, which prints what became of it. */
async function measureJob(name: string): Promise<void> {
  const configuration = configurationNamed(name);
  const directory = join(folder, 'job', name);
  await writeRandomBackbone(directory, configuration);
  const args = [here('adapter-job.ts'), directory, options.threads, options.rows, JSON.stringify({ adapters })];
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the job's process ended with ${code}`);
}
