import { parseArgs } from 'node:util';
import { modelSizeSchema } from '../src/contract/index.js';
import { initialize, newEncoder } from '../src/encoder/index.js';
import { buildEvaluationGraph, calibrate, feedsFor, LOGITS, type PaddedBatch, padBatch } from '../src/engine/index.js';
import { classificationTask } from '../src/families/index.js';
import { onnxExecutor, type Quantization, type TableBits } from '../src/graph/index.js';
import { Random } from '../src/system/index.js';
import type { Encoding } from '../src/text/index.js';
import { toOnnx } from '../test/support/to-onnx.js';
import { machine, median } from './report.js';

/**
 * Speed of an encoder with random weights as integers and in float32, in rounds that take turns.
 * Usage: `npm run bench -- quantization [--size mini] [--vocabulary 16000] [--rounds 15] [--threads 1]`
 */

const { values: options } = parseArgs({
  options: {
    size: { type: 'string', default: 'mini' },
    vocabulary: { type: 'string', default: '16000' },
    rounds: { type: 'string', default: '15' },
    threads: { type: 'string', default: '1' },
  },
});
const rounds = Number(options.rounds);
const threads = Number(options.threads);
const executor = onnxExecutor({ threads });
/** Tokens of one round: short runs are timed together. */
const TOKENS_PER_ROUND = 2000;

const random = Random.fromSeed(1);
const encoder = newEncoder(modelSizeSchema.parse(options.size), Number(options.vocabulary));
const rows = [0, 1].map((label) => ({ text: `${label}`, labelIds: [label] }));
const dataset = { kind: 'binary', labels: ['no', 'yes'], train: rows, dev: rows, warnings: [] } as const;
const { head } = classificationTask(dataset, 'mean');
const weights = new Map(
  head.parameters(encoder).map((spec) => {
    const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
    initialize(spec, values, () => random.normal());
    return [spec.name, values];
  }),
);

function textOf(tokens: number): Encoding {
  const ids = Int32Array.from({ length: tokens }, () => random.integer(encoder.vocabularySize));
  const zeros = () => new Int32Array(tokens);
  return { ids, typeIds: zeros(), sequenceIds: zeros(), offsets: new Int32Array(2 * tokens), truncated: 0 };
}

interface Subject {
  readonly name: string;
  readonly megabytes: string;
  /** Milliseconds that this many runs take. */
  time(batch: PaddedBatch, runs: number): Promise<number>;
}

async function subject(name: string, quantization?: Quantization): Promise<Subject> {
  const graph = buildEvaluationGraph(head, encoder, 'inference');
  const inputNames = new Set(graph.inputs.map((input) => input.name));
  const compiled = await executor.compile(graph, { weights, ...(quantization && { quantization }) });
  const bytes = (await toOnnx(graph, weights, quantization)).length;
  return {
    name,
    megabytes: (bytes / 1e6).toFixed(1),
    async time(batch, runs) {
      const dims = [batch.sizes.batch, head.outputs(encoder)];
      const data = new Float32Array(batch.sizes.batch * head.outputs(encoder));
      const feeds = feedsFor(batch, inputNames);
      const startedAt = performance.now();
      for (let run = 0; run < runs; run += 1) {
        await compiled.run(feeds, { [LOGITS]: { type: 'float32', dims, data } });
      }
      return performance.now() - startedAt;
    },
  };
}

const texts = Array.from({ length: 32 }, () => textOf(24));
const quantization = await calibrate(executor, head, encoder, { weights }, texts);
const tablesOf = (bits: TableBits) => new Map([...quantization.tables.keys()].map((name) => [name, bits]));
const subjects = [
  await subject('float32'),
  await subject('8 bits', { ...quantization, tables: tablesOf(8) }),
  await subject('8 bits, words in 4', quantization),
];

console.log(`${machine()}; ${options.size}, ${threads} threads, medians of ${rounds} rounds`);
for (const [batch, tokens] of [
  [1, 12],
  [1, 32],
  [16, 32],
  [16, 128],
] as const) {
  const padded = padBatch(
    Array.from({ length: batch }, () => textOf(tokens)),
    encoder,
  );
  const runs = Math.ceil(TOKENS_PER_ROUND / (batch * tokens));
  const times = new Map<Subject, number[]>(subjects.map((each) => [each, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const each of round % 2 === 0 ? subjects : [...subjects].reverse()) {
      const milliseconds = await each.time(padded, runs);
      // The first round warms up.
      if (round >= 0) times.get(each)?.push(milliseconds / runs);
    }
  }
  const [[, float32] = [undefined, []]] = times;
  console.log(`\n${batch} × ${tokens} tokens`);
  console.table(
    Object.fromEntries(
      [...times].map(([{ name, megabytes }, all]) => {
        const ratios = all.map((time, round) => (float32[round] ?? Number.NaN) / time);
        const ms = Number(median(all).toFixed(2));
        return [name, { MB: megabytes, ms, 'times as fast as float32': Number(median(ratios).toFixed(2)) }];
      }),
    ),
  );
}
