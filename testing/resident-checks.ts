import assert from 'node:assert/strict';
import { emptyTensor, Graph, type ResidentMemory, type ResidentTensor, type TensorData } from '../src/graph/index.js';
import { floats, ints } from './operation-cases.js';

type ResidentChecks = Readonly<Record<string, (memory: ResidentMemory) => Promise<void>>>;

/** What the memory of an executor that keeps tensors must do. */
export const residentChecks: ResidentChecks = {
  async 'keeps a tensor as it was when it came'(memory) {
    for (const tensor of [floats([2, 2], [1, -2, 3, 4.5]), ints([3], [7, -1, 2 ** 31 - 1])]) {
      const expected = structuredClone(tensor);
      const kept = await memory.upload(tensor);
      assert.deepEqual([kept.type, kept.dims], [tensor.type, tensor.dims]);
      if (tensor.type !== 'int64') tensor.data.fill(0);
      for (let time = 0; time < 2; time += 1) assert.deepEqual(await memory.download(kept), expected);
      memory.free(kept);
    }
  },

  async 'feeds what one run left to the next, together with ordinary tensors'(memory) {
    const graph = new Graph();
    const x = graph.input('x', 'float32', ['rows', 2]);
    graph.output('next', graph.multiply(x, graph.input('factor', 'float32', [])));
    graph.output('sum', graph.reduceSum(x, [0, 1]));
    const compiled = await memory.compile(graph, { stays: new Set(['next']) });
    const sum = floats([], [0]);
    let kept = await memory.upload(floats([2, 2], [1, 2, 3, 4]));
    for (const [factor, expected] of [
      [2, 10],
      [-1, 20],
      [0.5, -20],
    ] as const) {
      const left = await compiled.run({ x: kept, factor: floats([], [factor]) }, { sum });
      assert.deepEqual(Object.keys(left), ['next']);
      assertClose(sum, floats([], [expected]));
      memory.free(kept);
      kept = required(left.next);
    }
    assertClose(await memory.download(kept), floats([2, 2], [-1, -2, -3, -4]));
    memory.free(kept);
    await compiled.release();
  },

  async 'leaves a new tensor at every run, of the size of its feeds, and the old ones as they are'(memory) {
    const compiled = await memory.compile(doubled(), { stays: new Set(['y']) });
    const left: ResidentTensor[] = [];
    for (const rows of [1, 3, 1]) {
      const x = floats([rows, 2], Array(2 * rows).fill(rows + left.length));
      left.push(required((await compiled.run({ x }, {})).y));
    }
    await compiled.release();
    const numbers: TensorData[] = [];
    for (const tensor of left) numbers.push(await memory.download(tensor));
    assert.deepEqual(
      numbers.map(({ dims, data }) => [dims, data[0]]),
      [
        [[1, 2], 2],
        [[3, 2], 8],
        [[1, 2], 6],
      ],
    );
    for (const tensor of left) memory.free(tensor);
  },

  async 'runs with weights that are fixed, and leaves nothing where nothing is to stay'(memory) {
    const graph = new Graph();
    const x = graph.input('x', 'float32', [2]);
    graph.output('y', graph.add(x, graph.parameter('fixed', [2])));
    const weights = new Map([['fixed', Float32Array.of(10, 20)]]);
    const compiled = await memory.compile(graph, { weights, stays: new Set() });
    const kept = await memory.upload(floats([2], [1, 2]));
    const y = emptyTensor('float32', [2]);
    assert.deepEqual(await compiled.run({ x: kept }, { y }), {});
    assertClose(y, floats([2], [11, 22]));
    memory.free(kept);
    await compiled.release();
  },

  async 'computes with whole numbers modulo 2^32, and divides toward zero'(memory) {
    const [a, b] = [1_234_567_891, -987_654_321];
    const graph = new Graph();
    const [x, y] = [graph.input('x', 'int32', [2, 1]), graph.input('y', 'int32', [3])];
    graph.output('sum', graph.add(x, y));
    graph.output('product', graph.multiply(x, y));
    graph.output('part', graph.divide(x, graph.constant([65_536], [], 'int32')));
    graph.output('above', graph.greater(x, y));
    const names = ['sum', 'product', 'part', 'above'];
    const compiled = await memory.compile(graph, { stays: new Set(names) });
    const row = [a, -1, 2 ** 31 - 1];
    const left = await compiled.run({ x: ints([2, 1], [a, b]), y: ints([3], row) }, {});
    const outer = (compute: (x: number, y: number) => number) => [a, b].flatMap((x) => row.map((y) => compute(x, y)));
    const expected = [
      ints(
        [2, 3],
        outer((x, y) => (x + y) | 0),
      ),
      ints([2, 3], outer(Math.imul)),
      ints([2, 1], [Math.trunc(a / 65_536), Math.trunc(b / 65_536)]),
      floats(
        [2, 3],
        outer((x, y) => Number(x > y)),
      ),
    ];
    for (const [at, name] of names.entries()) {
      const tensor = required(left[name]);
      assert.deepEqual(await memory.download(tensor), expected[at]);
      memory.free(tensor);
    }
    await compiled.release();
  },

  async 'names a feed that is missing or of the wrong shape'(memory) {
    const compiled = await memory.compile(doubled(), { stays: new Set(['y']) });
    const kept = await memory.upload(floats([1, 3], [1, 2, 3]));
    for (const feeds of [{}, { x: kept }]) {
      await assert.rejects(
        compiled.run(feeds, {}),
        (thrown) => thrown instanceof Error && thrown.name === 'ShapeError' && /\bx\b/.test(thrown.message),
      );
    }
    memory.free(kept);
    await compiled.release();
  },

  async 'refuses a tensor that was freed, which may be freed twice'(memory) {
    const compiled = await memory.compile(doubled(), { stays: new Set(['y']) });
    const kept = await memory.upload(floats([1, 2], [1, 2]));
    memory.free(kept);
    memory.free(kept);
    await assert.rejects(memory.download(kept), RangeError);
    await assert.rejects(compiled.run({ x: kept }, {}), RangeError);
    await compiled.release();
    await compiled.release();
    await assert.rejects(compiled.run({ x: floats([1, 2], [1, 2]) }, {}));
  },
};

/** y = 2·x for x [rows, 2]. */
export function doubled(): Graph {
  const graph = new Graph();
  graph.output('y', graph.scale(graph.input('x', 'float32', ['rows', 2]), 2));
  return graph;
}

/** Largest relative error of an executor's numbers. */
const TOLERANCE = 1e-5;

export function assertClose(actual: TensorData, expected: TensorData): void {
  const [given, wanted] = [actual, expected].map(({ data }) => Array.from(data, Number));
  for (const [index, value] of (wanted ?? []).entries()) {
    const got = given?.[index] ?? Number.NaN;
    assert(
      Math.abs(got - value) <= TOLERANCE * Math.max(1, Math.abs(value)),
      `element ${index}: ${got}, expected ${value}`,
    );
  }
}

function required(tensor: ResidentTensor | undefined): ResidentTensor {
  assert(tensor !== undefined, 'the run left no such tensor');
  return tensor;
}
