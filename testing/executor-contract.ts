import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CompiledGraph,
  emptyTensor,
  Graph,
  type GraphExecutor,
  type ResidentMemory,
  type TensorData,
} from '../src/graph/index.js';
import type { ContractCase } from './contract-case.js';
import { floats, type OperationCase, operationCases } from './operation-cases.js';
import { assertClose, doubled, residentChecks } from './resident-checks.js';

type ExecutorChecks = Readonly<Record<string, (executor: GraphExecutor) => Promise<void>>>;

/**
 * What every {@link GraphExecutor} must do, as tests for any test runner:
 * ```ts
 * for (const { name, run } of graphExecutorContract(() => tensorflowExecutor(tf))) it(name, run);
 * ```
 */
export function graphExecutorContract(create: () => GraphExecutor): readonly ContractCase[] {
  const operations = Object.entries(operationCases).flatMap(([operation, cases]) =>
    cases.map((each) => ({
      name: `computes ${operation}${each.variant === undefined ? '' : `: ${each.variant}`}`,
      run: () => checkOperation(create(), each),
    })),
  );
  const promises = Object.entries(runChecks).map(([name, check]) => ({ name, run: () => check(create()) }));
  const residence = create().resident === undefined ? [] : Object.entries(residentChecks);
  return [
    ...operations,
    ...promises,
    ...residence.map(([name, check]) => ({ name, run: () => check(memoryOf(create())) })),
  ];
}

function memoryOf({ resident }: GraphExecutor): ResidentMemory {
  assert(resident !== undefined, 'this executor offered to keep tensors before');
  return resident;
}

async function checkOperation(executor: GraphExecutor, { feeds, build, expected }: OperationCase): Promise<void> {
  const graph = new Graph();
  const inputs = Object.entries(feeds).map(([name, { type, dims }]) => graph.input(name, type, dims));
  graph.output('y', build(graph, inputs));
  const compiled = await executor.compile(graph);
  const y = emptyTensor(expected.type, expected.dims);
  await compiled.run(feeds, { y });
  await compiled.release();
  assertClose(y, expected);
}

const runChecks: ExecutorChecks = {
  async 'runs with every size of its symbols after one compilation'(executor) {
    const compiled = await executor.compile(doubled());
    for (const rows of [3, 1, 5]) {
      const values = [...Array(2 * rows).keys()];
      const x = floats([rows, 2], values);
      const y = emptyTensor(x.type, x.dims);
      await compiled.run({ x }, { y });
      const twice = values.map((value) => 2 * value);
      assertClose(y, floats([rows, 2], twice));
    }
    await compiled.release();
  },

  async 'keeps the weights it was compiled with, and takes the others at every run'(executor) {
    const graph = new Graph();
    const fixed = graph.parameter('fixed', [2]);
    graph.output('y', graph.add(fixed, graph.parameter('fed', [2])));
    const compiled = await executor.compile(graph, { weights: new Map([['fixed', Float32Array.of(1, 2)]]) });
    const y = floats([2], [0, 0]);
    await compiled.run({ fed: floats([2], [10, 20]) }, { y });
    assertClose(y, floats([2], [11, 22]));
    await compiled.run({ fed: floats([2], [0, 1]) }, { y });
    assertClose(y, floats([2], [1, 3]));
    await compiled.release();
  },

  async 'takes fixed weights from a file'(executor) {
    const graph = new Graph();
    const [first, second] = [graph.parameter('first', [2]), graph.parameter('second', [1, 2])];
    const fed = graph.parameter('fed', [2, 2]);
    graph.output('y', graph.add(graph.gemm(fed, graph.reshape(first, [2, 1])), graph.transpose(second, [1, 0])));
    const folder = await mkdtemp(join(tmpdir(), 'orchard-weights-'));
    try {
      const file = join(await realpath(folder), 'two.weights');
      await writeFile(file, new Uint8Array(Float32Array.of(-1, 5, 6, 1, 2).buffer));
      const offsets = new Map([
        ['second', 4],
        ['first', 12],
      ]);
      const compiled = await executor.compile(graph, { stored: { file, offsets } });
      const y = floats([2, 1], [0, 0]);
      await compiled.run({ fed: floats([2, 2], [10, 20, 30, 40]) }, { y });
      assertClose(y, floats([2, 1], [55, 116]));
      await compiled.release();
    } finally {
      await rm(folder, { recursive: true });
    }
  },

  async 'sees what was written into a fed buffer since the last run'(executor) {
    const compiled = await executor.compile(doubled());
    const x = floats([1, 2], [1, 2]);
    const y = emptyTensor(x.type, x.dims);
    await compiled.run({ x }, { y });
    x.data[0] = 7;
    await compiled.run({ x }, { y });
    assertClose(y, floats([1, 2], [14, 4]));
    await compiled.release();
  },

  async 'outputs one tensor under several names, and an input unchanged'(executor) {
    const graph = new Graph();
    const x = graph.input('x', 'float32', [2]);
    const twice = graph.scale(x, 2);
    for (const name of ['y', 'again']) graph.output(name, twice);
    graph.output('same', x);
    const compiled = await executor.compile(graph);
    const [y, again, same] = [floats([2], [0, 0]), floats([2], [0, 0]), floats([2], [0, 0])];
    await compiled.run({ x: floats([2], [1, 2]) }, { y, again, same });
    assertClose(y, floats([2], [2, 4]));
    assertClose(again, floats([2], [2, 4]));
    assertClose(same, floats([2], [1, 2]));
    await compiled.release();
  },

  async 'names a feed that is missing'(executor) {
    await refuses(executor, {}, { y: floats([1, 2], [0, 0]) }, /\bx\b/);
  },

  async 'names a feed of the wrong shape'(executor) {
    await refuses(executor, { x: floats([1, 3], [0, 0, 0]) }, { y: floats([1, 2], [0, 0]) }, /\bx\b/);
  },

  async 'names a feed of the wrong type'(executor) {
    const x: TensorData = { type: 'int32', dims: [1, 2], data: new Int32Array(2) };
    await refuses(executor, { x }, { y: floats([1, 2], [0, 0]) }, /\bx\b/);
  },

  async 'names a feed that no one asked for'(executor) {
    const x = floats([1, 2], [0, 0]);
    await refuses(executor, { x, extra: x }, { y: floats([1, 2], [0, 0]) }, /\bextra\b/);
  },

  async 'names an output whose buffer is missing or has another shape'(executor) {
    const x = floats([1, 2], [0, 0]);
    await refuses(executor, { x }, {}, /\by\b/);
    await refuses(executor, { x }, { y: floats([2, 2], [0, 0, 0, 0]) }, /\by\b/);
  },

  async 'names a feed or an output whose data does not have the length of its shape'(executor) {
    const fitting = floats([1, 2], [0, 0]);
    for (const values of [[0], [0, 0, 0]]) {
      const wrong = floats([1, 2], values);
      await refuses(executor, { x: wrong }, { y: fitting }, /\bx\b/);
      await refuses(executor, { x: fitting }, { y: wrong }, /\by\b/);
    }
  },

  async 'refuses to run once it is released, and can be released twice'(executor) {
    const compiled = await executor.compile(doubled());
    await compiled.release();
    await compiled.release();
    const x = floats([1, 2], [0, 0]);
    await assert.rejects(compiled.run({ x }, { y: emptyTensor(x.type, x.dims) }));
  },
};

async function refuses(
  executor: GraphExecutor,
  feeds: Parameters<CompiledGraph['run']>[0],
  outputs: Parameters<CompiledGraph['run']>[1],
  message: RegExp,
): Promise<void> {
  const compiled = await executor.compile(doubled());
  await assert.rejects(compiled.run(feeds, outputs), (thrown) => {
    // Compared by name: two copies of this package have a class each.
    assert(thrown instanceof Error && thrown.name === 'ShapeError', `expected a ShapeError, not ${thrown}`);
    assert.match(thrown.message, message);
    return true;
  });
  await compiled.release();
}
