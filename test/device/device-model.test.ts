import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Graph, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { deviceModel } from '../../src/graph/onnx/device-model.js';
import { someNumbers } from '../support/finite-differences.js';
import { toOnnx } from '../support/to-onnx.js';

/** Files of ours, rewritten for devices: the same numbers, with operators of ONNX alone. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-device-model-'));
});
afterEach(() => rm(folder, { recursive: true }));

const floats = (dims: number[], seed: number) => {
  const count = dims.reduce((product, size) => product * size, 1);
  return { type: 'float32', dims, data: someNumbers(count, 1, seed) } as const satisfies TensorData;
};

/** Attention, as encoders have it, over inputs of [tokens, batch, 8]. */
function attention(): Graph {
  const graph = new Graph();
  const split = (name: string) =>
    graph.reshape(graph.input(name, 'float32', ['tokens', 'batch', 8]), ['tokens', 'batch', 2, 4]);
  const scores = graph.batchMatMul(split('query'), split('key'), {
    ...{ rowsFirstA: true, rowsFirstB: true, transposeB: true, alpha: 0.3 },
  });
  const weights = graph.softmax(graph.scale(scores, 2));
  // Its own transposition, whose name another must not take.
  const value = graph.transpose(graph.transpose(split('value'), [1, 0, 2, 3]), [1, 0, 2, 3]);
  graph.output('context', graph.batchMatMul(weights, value, { rowsFirstB: true }));
  return graph;
}

async function run(file: string): Promise<Float32Array> {
  const loaded = await onnxExecutor().load(file);
  const context = { type: 'float32', dims: [3, 2, 5, 4], data: new Float32Array(120) } as const;
  const feeds = { query: floats([5, 3, 8], 1), key: floats([5, 3, 8], 2), value: floats([5, 3, 8], 3) };
  await loaded.run(feeds, { context });
  await loaded.release();
  return context.data;
}

it('have products without FusedMatMul that give the same', async () => {
  const file = join(folder, 'model.onnx');
  const bytes = await toOnnx(attention());
  await writeFile(file, bytes);
  const rewritten = await deviceModel(file);
  expect(Buffer.from(bytes).includes('FusedMatMul')).toBe(true);
  const other = join(folder, 'rewritten.onnx');
  await writeFile(other, rewritten ?? '');
  expect(await deviceModel(other)).toBeUndefined();
  const expected = await run(file);
  const given = await run(other);
  expect(Math.hypot(...expected)).toBeGreaterThan(1);
  given.forEach((value, at) => {
    expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 6);
  });
});

it('may be larger than what is read of a file at a time', async () => {
  const graph = attention();
  const table = graph.parameter('table', [40_000]);
  graph.output('same', graph.scale(table, 2));
  const file = join(folder, 'model.onnx');
  const weights = new Map([['table', new Float32Array(40_000)]]);
  await writeFile(file, await toOnnx(graph, weights));
  expect((await deviceModel(file))?.length).toBeGreaterThan(160_000);
});

it('stay as they are where they have no such product', async () => {
  const graph = new Graph();
  graph.output('y', graph.exp(graph.input('x', 'float32', ['n'])));
  const file = join(folder, 'model.onnx');
  await writeFile(file, await toOnnx(graph));
  expect(await deviceModel(file)).toBeUndefined();
});
