import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Graph, onnxExecutor, onnxPieces } from '../../src/graph/index.js';
import { someNumbers } from '../support/finite-differences.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('a model that is written piece by piece loads, and its weights are asked for one by one', async () => {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['rows', 300]);
  const hidden = graph.gemm(x, graph.parameter('first', [200, 300]), { transposeB: true });
  graph.output('y', graph.gemm(hidden, graph.parameter('second', [200, 1])));
  const weights = new Map([
    ['first', someNumbers(60_000, 1, 1)],
    ['second', someNumbers(200, 1, 2)],
  ]);
  const asked: string[] = [];
  const watched = new Map(weights);
  watched.get = (name) => {
    asked.push(name);
    return weights.get(name);
  };
  const file = join(temporaryDirectory(), 'model.onnx');
  const pieces: Uint8Array[] = [];
  for (const piece of onnxPieces(graph, watched)) pieces.push(piece);
  expect(asked).toEqual(['first', 'second']);
  writeFileSync(file, Buffer.concat(pieces));
  const [loaded, compiled] = [await onnxExecutor().load(file), await onnxExecutor().compile(graph, { weights })];
  const feeds = { x: { type: 'float32', dims: [2, 300], data: someNumbers(600, 1, 3) } } as const;
  const run = async (model: typeof compiled) => {
    const y = { type: 'float32', dims: [2, 1], data: new Float32Array(2) } as const;
    await model.run(feeds, { y });
    await model.release();
    return y.data;
  };
  const expected = await run(compiled);
  for (const [at, value] of (await run(loaded)).entries()) expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 3);
});
