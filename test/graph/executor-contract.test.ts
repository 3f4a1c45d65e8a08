import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  Graph,
  type GraphExecutor,
  graphExecutorContract,
  onnxExecutor,
  type TensorData,
  tensorflowExecutor,
} from '../../src/graph/index.js';

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const executors: Readonly<Record<string, () => GraphExecutor>> = {
  onnxExecutor,
  tensorflowExecutor: () => tensorflowExecutor(tf),
};

for (const [executor, create] of Object.entries(executors)) {
  describe(executor, () => {
    for (const { name, run } of graphExecutorContract(create)) it(name, run);
  });
}

describe('tensorflowExecutor', () => {
  it('leaves no tensor behind', async () => {
    const graph = new Graph();
    const x = graph.input('x', 'float32', [2, 2]);
    graph.output('y', graph.gemm(graph.softmax(x), graph.parameter('w', [2, 2])));
    const before = tf.memory().numTensors;
    const weights = new Map([['w', Float32Array.of(1, 2, 3, 4)]]);
    const compiled = await tensorflowExecutor(tf).compile(graph, { weights });
    const feed: TensorData = { type: 'float32', dims: [2, 2], data: new Float32Array(4) };
    const y: TensorData = { type: 'float32', dims: [2, 2], data: new Float32Array(4) };
    for (let run = 0; run < 3; run += 1) await compiled.run({ x: feed }, { y });
    await compiled.release();
    expect(tf.memory().numTensors).toBe(before);
  });
});
