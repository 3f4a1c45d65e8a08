import { describe, expect, it } from 'vitest';
import { cpuExecutor, Graph, onnxExecutor, sameNumbersWith, type TensorData } from '../../src/graph/index.js';
import { Random } from '../../src/random.js';

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

/** x·Wᵀ + b for each token, or for each text of a batch. */
function linearLayer({ inner, columns }: Pick<Shape, 'inner' | 'columns'>, rows: string): Graph {
  const graph = new Graph();
  const symbols = rows.split('*');
  graph.input('sizes', 'float32', symbols);
  const x = graph.input('x', 'float32', [rows, inner]);
  const w = graph.parameter('w', [columns, inner]);
  graph.output('y', graph.gemm(x, w, { transposeB: true }, graph.parameter('b', [columns])));
  return graph;
}

/** The layer's outputs with each number of threads, as bits. */
async function outputsWith(threads: readonly number[], graph: Graph, shape: Shape): Promise<Buffer[]> {
  const { rows, inner, columns } = shape;
  const sizes: TensorData = noise(graph.inputs[0]?.shape.length === 1 ? [rows] : [rows, 1]);
  const feeds = { sizes, x: noise([rows, inner]), w: noise([columns, inner]), b: noise([columns]) };
  const results: Buffer[] = [];
  for (const count of threads) {
    const compiled = await onnxExecutor({ threads: count, idleSpinning: false }).compile(graph);
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

describe('products with one thread and with several', () => {
  it.each([2, 4])('are the same, bit by bit, where the rule for %i threads says so', async (threads) => {
    let same = 0;
    for (const shape of shapes) {
      const graph = linearLayer(shape, 'tokens*batch');
      if (!sameNumbersWith(threads)(graph)({ tokens: shape.rows, batch: 1 })) continue;
      const [one, several] = await outputsWith([1, threads], graph, shape);
      expect(several?.equals(one ?? Buffer.of()), JSON.stringify(shape)).toBe(true);
      same += 1;
    }
    expect(same).toBeGreaterThan(shapes.length / 2);
  });

  it('are the same with one row for each text, whatever their sizes', async () => {
    for (const shape of shapes) {
      const graph = linearLayer(shape, 'batch');
      expect(sameNumbersWith(8)(graph)({ batch: shape.rows })).toBe(true);
      const [one, ...several] = await outputsWith([1, 2, 3], graph, shape);
      expect(
        several.every((each) => each.equals(one ?? Buffer.of())),
        JSON.stringify(shape),
      ).toBe(true);
    }
  });

  it('may differ in narrow layers with fewer rows than columns', () => {
    const rule = sameNumbersWith(2)(linearLayer({ inner: 512, columns: 128 }, 'tokens*batch'));
    expect([rule({ tokens: 5, batch: 3 }), rule({ tokens: 32, batch: 4 })]).toEqual([false, true]);
  });
});

it('a layer is the same on an executor that adapts its threads', async () => {
  const shape = { rows: 15, inner: 512, columns: 128 };
  const graph = linearLayer(shape, 'tokens*batch');
  const feeds = { sizes: noise([15, 1]), x: noise([15, 512]), w: noise([128, 512]), b: noise([128]) };
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
