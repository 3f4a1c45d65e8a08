import { fileURLToPath } from 'node:url';
import { median } from '../report.js';
import { configurationNamed, configurations } from './configurations.js';
import { ownCeiling, speedOfStep, squareCeiling } from './gemm-ceiling.js';
import { Peer } from './peer.js';

export interface StepOptions {
  readonly threads: number;
  readonly rounds: number;
  /** Names of configurations. */
  readonly asked: readonly string[];
  /** Pythons that have the newest PyTorch, and Debian's. */
  readonly python: string;
  readonly systemPython: string;
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/**
 * Times training steps of every configuration and peer, in rounds that take turns, and prints a table of
 * each.
 */
export async function compareSteps(options: StepOptions): Promise<void> {
  for (const name of options.asked) {
    const configuration = configurationNamed(name);
    const { layers, hidden, batch, tokens, vocabulary, steps } = configuration;
    console.log(`\n${name}: ${layers} layers × ${hidden}, batch ${batch} × ${tokens} tokens, vocabulary ${vocabulary}`);
    const peers = await startPeers(name, options);
    const times = new Map<Peer, number[]>(peers.map((peer) => [peer, []]));
    const squares: number[] = [];
    const owns: number[] = [];
    for (const peer of peers) await peer.round(2);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const peer of rotated(peers, round)) {
        times.get(peer)?.push(median(await peer.round(isSlow(peer) ? 1 : steps)));
      }
      squares.push(await squareCeiling(options.threads));
      owns.push(await ownCeiling(configuration, options.threads));
    }
    const ceiling = median(squares);
    const own = median(owns);
    const [orchard] = peers;
    const ours = (orchard && times.get(orchard)) ?? [];
    const rows = peers.map((peer) => {
      const all = times.get(peer) ?? [];
      const ratios = all.map((time, round) => (ours[round] ?? Number.NaN) / time);
      return [peer, all, ratios] as const;
    });
    const table: Record<string, object> = {};
    for (const [peer, all, ratios] of rows) {
      const speed = speedOfStep(configuration, median(all));
      table[peer.name] = {
        'step (ms)': Number(median(all).toFixed(1)),
        'Orchard / peer': Number(median(ratios).toFixed(2)),
        'by round': ratios.map((ratio) => ratio.toFixed(2)).join(' '),
        'GFLOP/s': Math.round(speed / 1e9),
        'of 2048³ alone': `${Math.round((100 * speed) / ceiling)} %`,
        'of its own products alone': `${Math.round((100 * speed) / own)} %`,
        'peak memory (MiB)': Math.round(await peer.stop()),
      };
    }
    console.log(`one product of 2048³: ${Math.round(ceiling / 1e9)} GFLOP/s; the step's own: ${Math.round(own / 1e9)}`);
    console.table(table);
  }
}

/** Rotates the order, so that no peer always follows the same other one. */
const rotated = <T>(all: readonly T[], by: number): T[] => [
  ...all.slice(by % all.length),
  ...all.slice(0, by % all.length),
];

const isSlow = ({ name }: Peer): boolean => name.includes('TensorFlow');

async function startPeers(name: string, options: StepOptions): Promise<Peer[]> {
  const threads = String(options.threads);
  const json = JSON.stringify(configurations[name]);
  const node = (runtime: string) =>
    Peer.start(process.execPath, ['--import', 'tsx', here('orchard-peer.ts'), name, threads, runtime]);
  const environment = { OMP_NUM_THREADS: threads, OPENBLAS_NUM_THREADS: threads };
  const python = (path: string, mode: string) =>
    Peer.start(path, [here('pytorch_peer.py'), json, threads, mode], environment);
  const started = [
    await node('onnx'),
    await python(options.python, 'fp32'),
    await python(options.python, 'bf16'),
    await python(options.python, 'compile'),
    await python(options.systemPython, 'fp32'),
    ...(name === 'a' ? [await node('tensorflow')] : []),
  ];
  for (const peer of started) if (typeof peer === 'string') console.log(`  left out: ${peer}`);
  return started.filter((peer) => peer instanceof Peer);
}
