import { describe, expect, it } from 'vitest';
import { cpuExecutor, Graph, type GraphExecutor, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';

const random = Random.fromSeed(5);

function noise(dims: readonly number[]): TensorData {
  const count = dims.reduce((product, size) => product * size, 1);
  return { type: 'float32', dims, data: Float32Array.from({ length: count }, () => random.normal()) };
}

interface Shape {
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
}

/** x·Wᵀ + b for each token. */
function linearLayer({ inner, columns }: Pick<Shape, 'inner' | 'columns'>): Graph {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['tokens', inner]);
  const w = graph.parameter('w', [columns, inner]);
  graph.output('y', graph.gemm(x, w, { transposeB: true }, graph.parameter('b', [columns])));
  return graph;
}

/** The layer's outputs on each executor, as bits. */
async function outputsOn(
  executors: readonly GraphExecutor[],
  graph: Graph,
  { rows, inner, columns }: Shape,
): Promise<Buffer[]> {
  const feeds = { x: noise([rows, inner]), w: noise([columns, inner]), b: noise([columns]) };
  const results: Buffer[] = [];
  for (const executor of executors) {
    const compiled = await executor.compile(graph);
    const y = noise([rows, columns]);
    await compiled.run(feeds, { y });
    await compiled.release();
    results.push(Buffer.from(y.data.buffer));
  }
  return results;
}

const shapes: readonly Shape[] = [3, 15, 40, 200].flatMap((rows) =>
  [2, 32, 77, 128, 256].flatMap((columns) => [64, 300, 512].map((inner) => ({ rows, columns, inner }))),
);

describe('the bits of products', () => {
  it.each([2, 4])('are the same whether %i threads spin or sleep while they wait', async (threads) => {
    const executors = [true, false].map((spinning) => onnxExecutor({ threads, spinning }));
    for (const shape of shapes) {
      const graph = linearLayer(shape);
      const [spun, slept] = await outputsOn(executors, graph, shape);
      expect(slept?.equals(spun ?? Buffer.of()), JSON.stringify(shape)).toBe(true);
    }
  });
});

it('a layer is the same on an executor that adapts its threads', async () => {
  const shape = { rows: 15, inner: 512, columns: 128 };
  const graph = linearLayer(shape);
  const feeds = { x: noise([15, 512]), w: noise([128, 512]), b: noise([128]) };
  const adaptive = await cpuExecutor(2).compile(graph);
  const fixed = await onnxExecutor({ threads: 2 }).compile(graph);
  const [y, expected] = [noise([15, 128]), noise([15, 128])];
  await fixed.run(feeds, { y: expected });
  for (let run = 0; run < 20; run += 1) {
    await adaptive.run(feeds, { y });
    expect(y.data).toEqual(expected.data);
  }
  await Promise.all([adaptive.release(), fixed.release()]);
});
