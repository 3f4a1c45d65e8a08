import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { cpuExecutor } from '../../src/graph/index.js';
import { Graph, type GraphExecutor, onnxExecutor, type TensorData, tensorflowExecutor } from '../../src/graph.js';
import { graphExecutorContract } from '../../src/testing.js';
import { residentOnBuffers } from '../support/resident-on-buffers.js';
import { describeWebGpu } from '../support/software-vulkan.js';

beforeAll(async () => {
  await tf.setBackend('cpu');
});

const executors: Readonly<Record<string, () => GraphExecutor>> = {
  onnxExecutor,
  'adaptiveThreads of onnxExecutor': () => cpuExecutor(2),
  tensorflowExecutor: () => tensorflowExecutor(tf),
  residentOnBuffers: () => residentOnBuffers(onnxExecutor()),
};

describeWebGpu('onnxExecutor on WebGPU', () => {
  for (const { name, run } of graphExecutorContract(() => onnxExecutor({ provider: 'webgpu' }))) it(name, run);
});

for (const [executor, create] of Object.entries(executors)) {
  describe(executor, () => {
    for (const { name, run } of graphExecutorContract(create)) it(name, run);
  });
}

describe('tensorflowExecutor', () => {
  it.each([false, true])('leaves no tensor behind; reading results fails: %s', async (fails) => {
    const graph = new Graph();
    const x = graph.input('x', 'float32', [2, 2]);
    const y = graph.gemm(graph.softmax(x), graph.parameter('w', [2, 2]));
    graph.output('y', y);
    graph.output('z', graph.exp(y));
    const before = tf.memory().numTensors;
    const weights = new Map([['w', Float32Array.of(1, 2, 3, 4)]]);
    const compiled = await tensorflowExecutor(tf).compile(graph, { weights });
    if (fails) {
      const lost = vi.spyOn(tf.Tensor.prototype, 'data').mockRejectedValue(new Error('device lost'));
      onTestFinished(() => lost.mockRestore());
    }
    for (let run = 0; run < 3; run += 1) {
      const outcome = compiled.run({ x: twoByTwo() }, { y: twoByTwo(), z: twoByTwo() });
      if (fails) await expect(outcome).rejects.toThrow('device lost');
      else await outcome;
    }
    await compiled.release();
    expect(tf.memory().numTensors).toBe(before);
  });
});

const twoByTwo = (): TensorData => ({ type: 'float32', dims: [2, 2], data: new Float32Array(4) });
