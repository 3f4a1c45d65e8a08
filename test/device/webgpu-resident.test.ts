import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  DeviceEngine,
  Evaluator,
  GeneratedDropout,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
  type TaskLearner,
} from '../../src/engine/index.js';
import type { TrainingTask } from '../../src/families/index.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { Graph, type GraphExecutor, onnxExecutor } from '../../src/graph/index.js';
import { classes, largestDifference, learnerOf, lossesOf, pairs, tags } from '../engine/small-tasks.js';
import { operationsByProvider } from '../support/profiles.js';
import { residentOnBuffers } from '../support/resident-on-buffers.js';
import { describeWebGpu, itWithTime } from '../support/software-vulkan.js';
import { loopInput } from '../training/loop-input.js';

/** Trainings whose weights stay on a WebGPU device, in software: against the same on ordinary arrays. */

const onDevice = (profile?: string): GraphExecutor =>
  onnxExecutor({ provider: 'webgpu', ...(profile !== undefined && { profile }) });
const onArrays = (): GraphExecutor => residentOnBuffers(onnxExecutor());

/** The first step compiles the programs of the device, which takes a processor a quarter of a minute or more. */
const PATIENCE_MS = 600_000;
/** Of losses, relative. */
const TOLERANCE = 1e-4;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-resident-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function trained(learning: TaskLearner, steps: number) {
  const losses = await lossesOf(learning, steps);
  const weights = await learning.engine.store.copyWeights();
  await learning.release();
  return { losses, weights };
}

async function hasLossesOfTheCpu(steps: number, make: () => TrainingTask): Promise<void> {
  const expected = await trained(await learnerOf(make(), 0.1, { executor: onArrays() }), steps);
  const profile = join(folder, 'profile');
  const learning = await learnerOf(make(), 0.1, { executor: onDevice(profile) });
  expect(learning.engine).toBeInstanceOf(DeviceEngine);
  const { losses } = await trained(learning, steps);
  expect(new Set(expected.losses).size).toBe(steps);
  expect(largestDifference(losses, expected.losses)).toBeLessThan(TOLERANCE);
  const ran = await operationsByProvider(profile);
  expect(ran.get('WebGpuExecutionProvider')?.length).toBeGreaterThan(100 * steps);
  expect(ran.get('CPUExecutionProvider') ?? []).toEqual([]);
}

describeWebGpu('a training whose weights stay on the device', () => {
  it(
    'has the losses of the CPU for 20 steps, masks included, and leaves no node to it: classes of texts',
    () => hasLossesOfTheCpu(20, classes),
    PATIENCE_MS,
  );

  itWithTime.each([
    ['tags of tokens', tags],
    ['questions and passages, in several runs a step', pairs],
  ] as const)(
    'has the losses of the CPU for 2 steps, masks included, and leaves no node to it: %s',
    (_, make) => hasLossesOfTheCpu(2, make),
    PATIENCE_MS,
  );

  itWithTime(
    'gives the same run for the same seed',
    async () => {
      const runs = [];
      for (let run = 0; run < 2; run += 1) {
        runs.push(await trained(await learnerOf(classes(), 0.1, { executor: onDevice() }), 2));
      }
      expect(runs[1]).toEqual(runs[0]);
    },
    PATIENCE_MS,
  );

  itWithTime(
    'is evaluated there, and goes on from its checkpoint there or on the CPU',
    async () => {
      const input = loopInput(classes(), '');
      const whole = await trained(await learnerOf(classes(), 0.1, { executor: onDevice() }), 3);
      const first = await learnerOf(classes(), 0.1, { executor: onDevice() });
      const losses = await lossesOf(first, 2);
      const evaluator = await Evaluator.create(onDevice(), input.task.head, input.encoder);
      await expect(evaluator.outputs(input.dev, first.engine.parameterFeeds)).rejects.toThrow('memory');
      await evaluator.release();
      const file = join(folder, 'checkpoint.safetensors');
      await saveCheckpoint(file, first.engine.store, { state: {} });
      const checkpoint = (await readCheckpoint(file)) ?? expect.fail('there is no checkpoint');
      const { state } = first.learner;
      await first.release();
      for (const executor of [onDevice(), onArrays()]) {
        const second = await learnerOf(classes(), 0.1, { executor });
        await restoreParameters(checkpoint, second.engine.store);
        second.learner.state = state;
        const all = [...losses, ...(await lossesOf(second, 1))];
        expect(largestDifference(all, whole.losses)).toBeLessThan(TOLERANCE);
        const own = await Evaluator.create(executor, input.task.head, input.encoder);
        const outputs = flatOutputs(await own.outputs(input.dev, second.engine.parameterFeeds));
        expect(outputs.every(Number.isFinite)).toBe(true);
        await own.release();
        await second.release();
      }
    },
    PATIENCE_MS,
  );
});

describeWebGpu('dropout masks on the device', () => {
  it('are those of the CPU, bit for bit', async () => {
    const masks: Float32Array[] = [];
    for (const executor of [onDevice(), onnxExecutor()]) {
      const graph = new Graph();
      const dropout = new GeneratedDropout(graph);
      const x = graph.input('x', 'float32', ['batch', 3, 'tokens', 'tokens']);
      graph.output('y', dropout.apply(x, 0.1));
      const compiled = await executor.compile(graph);
      const sizes = { batch: 5, tokens: 17 };
      const dims = [5, 3, 17, 17];
      const count = 5 * 3 * 17 * 17;
      const y = { type: 'float32', dims, data: new Float32Array(count) } as const;
      const feeds = dropout.feeds({ seed: 1, position: 2 }, sizes);
      await compiled.run({ x: { ...y, data: new Float32Array(count).fill(1) }, ...feeds }, { y });
      masks.push(y.data);
      await compiled.release();
    }
    expect(masks[0]?.filter((value) => value === 0).length).toBeGreaterThan(300);
    expect(masks[0]).toEqual(masks[1]);
  });
});
