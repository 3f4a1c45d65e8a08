import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Contestant, type Measured, measureBeside } from './contention/rounds.js';
import { changesTable, stepsTable } from './contention/tables.js';
import { machine } from './report.js';
import { configurationNamed } from './training/configurations.js';
import { Peer } from './training/peer.js';

/**
 * Training steps beside busy processes: with one thread, with several (as before threads adapted), with several that
 * don't spin while they wait, and with threads that adapt, each in a process of its own, in rounds that take turns.
 * Usage: `npm run bench -- contention [--only b --busy 0,1,2,4 --threads 2 --rounds 4 --seconds 3.5]`. Takes about five
 * minutes; prints Markdown tables.
 */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'b' },
    busy: { type: 'string', default: '0,1,2,4' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '3.5' },
  },
});
const { layers, hidden, batch, tokens } = configurationNamed(options.only);

const PEER = fileURLToPath(new URL('training/orchard-peer.ts', import.meta.url));

async function contestant(name: string, threads: string, mode: string): Promise<Contestant> {
  const peer = await Peer.start(process.execPath, ['--import', 'tsx', PEER, options.only, threads, mode]);
  if (typeof peer === 'string') throw new Error(peer);
  return { name, peer };
}

const { threads } = options;
const contestants = [
  await contestant('one thread', '1', 'onnx'),
  await contestant(`${threads} threads`, threads, 'onnx'),
  await contestant(`${threads} without spinning`, threads, 'without-spinning'),
  await contestant('adaptive', threads, 'adaptive'),
];
console.log(`${machine()}; ${options.only}: ${layers} × ${hidden}, batches of ${batch} × ${tokens} tokens\n`);
const measured: Measured[] = [];
for (const busy of options.busy.split(',').map(Number)) {
  const rounds = Number(options.rounds);
  measured.push(await measureBeside(busy, contestants, { rounds, seconds: Number(options.seconds) }));
}
for (const { peer } of contestants) await peer.stop();
console.log(stepsTable(measured));
console.log(changesTable(measured));
