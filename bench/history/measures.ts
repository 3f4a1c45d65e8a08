import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { loadModel } from '../../src/api/index.js';
import { Graph, onnxExecutor } from '../../src/graph/index.js';
import { trainLinearExpert } from '../../src/lexical/index.js';
import { Peer } from '../training/peer.js';

/** What is measured of each commit: short work of each kind, each beside work that no commit of ours can change. */

/** Does its work once. @returns the processor's time for it in seconds, of all threads and of processes that it starts */
export type Work = () => Promise<number>;

export interface Measure {
  readonly name: string;
  /** What it is divided by. */
  readonly yardstick: Work;
  readonly work: Work;
  readonly close?: () => Promise<unknown>;
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const MODEL = 'sentiment-classification';
const TEXTS = 100;

/** @returns the processor's seconds that this process used meanwhile; threads that wait for work use none. */
async function processorSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function reviews(): readonly (readonly [text: string, label: number])[] {
  const lines = readFileSync(here('../../examples/customer-reviews/train.tsv'), 'utf8').trimEnd().split('\n');
  return lines.slice(1).map((line) => {
    const [text = '', id = '0'] = line.split('\t');
    return [text, Number(id)] as const;
  });
}

/** Matrix products by ONNX Runtime itself, on one thread. */
async function products(): Promise<Work> {
  const graph = new Graph();
  const dims = [512, 512];
  const data = Float32Array.from({ length: 512 * 512 }, (_, at) => ((at * 37) % 101) / 101 - 0.5);
  const matrix = { type: 'float32', dims, data } as const;
  graph.output('y', graph.gemm(graph.input('a', 'float32', dims), graph.input('b', 'float32', dims), {}));
  const compiled = await onnxExecutor({ threads: 1 }).compile(graph);
  const outputs = { y: { type: 'float32', dims, data: new Float32Array(data.length) } as const };
  return () =>
    processorSeconds(async () => {
      for (let run = 0; run < 30; run += 1) await compiled.run({ a: matrix, b: matrix }, outputs);
    });
}

/** Words counted in a map and sorted: strings and numbers as the lexical expert has them. */
const words: Work = () =>
  processorSeconds(() => {
    for (let run = 0; run < 20; run += 1) {
      const counts = new Map<string, number>();
      for (const [text] of reviews())
        for (let at = 0; at + 4 <= text.length; at += 1) {
          const gram = text.slice(at, at + 4);
          counts.set(gram, (counts.get(gram) ?? 0) + 1);
        }
      [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
    }
  });

/** A process of its own that prints the processor's seconds it used. */
const processOf =
  (...args: readonly string[]): Work =>
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [...args]);
    return Number(stdout);
  };

/** Opens what is measured. @throws Error where a model or a process does not start */
export async function measures(): Promise<readonly Measure[]> {
  const gemm = await products();
  const rows = reviews();
  const texts = rows.slice(0, TEXTS).map(([text]) => text);
  const loaded = await loadModel(MODEL);
  if (loaded.isErr()) throw loaded.error;
  const model = loaded.value;
  const peer = await Peer.start(process.execPath, [
    '--import',
    'tsx',
    here('../training/orchard-peer.ts'),
    'a',
    '1',
    'onnx',
  ]);
  if (typeof peer === 'string') throw new Error(peer);
  const lexical = { outputs: 1, lowercase: true, seed: 1 };
  const labels = rows.map(([, label]) => (label === 1 ? [0] : []));
  return [
    { name: 'a batch of texts', yardstick: gemm, work: () => processorSeconds(() => model.predict(texts)) },
    {
      name: 'texts one by one',
      yardstick: gemm,
      work: () =>
        processorSeconds(async () => {
          for (const text of texts) await model.predict(text);
        }),
      close: () => model.close(),
    },
    {
      name: 'training steps',
      yardstick: gemm,
      work: async () => {
        await peer.round(10);
        return peer.processorSeconds;
      },
      close: () => peer.stop(),
    },
    {
      name: 'the lexical expert',
      yardstick: words,
      work: () =>
        processorSeconds(() =>
          trainLinearExpert(
            rows.map(([text]) => text),
            labels.map((active) => ({ active })),
            lexical,
          ),
        ),
    },
    {
      name: 'a first answer',
      yardstick: processOf(here('empty-process.mjs')),
      work: processOf(here('first-answer.mjs'), MODEL),
    },
  ];
}
