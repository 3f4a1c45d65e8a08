import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Graph, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { type OperationCase, operationCases } from '../../testing/operation-cases.js';
import { operationsByProvider } from '../support/profiles.js';
import { describeWebGpu } from '../support/software-vulkan.js';

/** Which operations have nodes that WebGPU leaves to the processor. */

/** Their numbers are of 64 bits, which only exported graphs have, or become such. */
const LEFT_TO_THE_PROCESSOR = ['rowNumbers', 'cast'];
const TIMEOUT_MS = 600_000;

/** The nodes of a case that ran on the processor. */
async function leftNodes({ feeds, build, expected }: OperationCase, profile: string): Promise<readonly string[]> {
  const graph = new Graph();
  const inputs = Object.entries(feeds).map(([name, { type, dims }]) => graph.input(name, type, dims));
  graph.output('y', build(graph, inputs));
  const compiled = await onnxExecutor({ provider: 'webgpu', profile }).compile(graph);
  await compiled.run(feeds, { y: emptyLike(expected) });
  await compiled.release();
  return (await operationsByProvider(profile)).get('CPUExecutionProvider') ?? [];
}

function emptyLike({ type, dims, data: { length } }: TensorData): TensorData {
  if (type === 'float32') return { type, dims, data: new Float32Array(length) };
  return type === 'int32'
    ? { type, dims, data: new Int32Array(length) }
    : { type, dims, data: new BigInt64Array(length) };
}

describeWebGpu('the nodes of operations on WebGPU', () => {
  it(
    'run there, but for those of 64-bit integers',
    async () => {
      const left = new Map<string, readonly string[]>();
      for (const [operation, cases] of Object.entries(operationCases)) {
        for (const each of cases) {
          const folder = await mkdtemp(join(tmpdir(), 'orchard-operations-'));
          onTestFinished(() => rm(folder, { recursive: true }));
          const nodes = await leftNodes(each, join(folder, 'profile'));
          if (nodes.length > 0) left.set(operation, [...(left.get(operation) ?? []), ...nodes]);
        }
      }
      for (const operation of LEFT_TO_THE_PROCESSOR) left.delete(operation);
      expect(Object.fromEntries(left)).toEqual({});
    },
    TIMEOUT_MS,
  );
});
