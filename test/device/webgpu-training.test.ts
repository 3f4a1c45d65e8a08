import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { Evaluator } from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import type { TrainingTask } from '../../src/families/index.js';
import { type GraphExecutor, onnxExecutor } from '../../src/graph/index.js';
import { classes, largestDifference, learnerOf, lossesOf } from '../engine/small-tasks.js';
import { operationsByProvider } from '../support/profiles.js';
import { describeWebGpu, itWithTime } from '../support/software-vulkan.js';
import { loopInput } from '../training/loop-input.js';

/**
 * Training on WebGPU, in software, whose weights are fed at every step, as on devices that keep no tensors: the losses are
 * the CPU's, and no node of a graph leaves the device.
 */

/** In software each takes about a second. */
const STEPS = 3;
/** Programs are compiled for some tens of seconds at first, longer on a busy machine. */
const TIMEOUT_MS = 600_000;
/** Of a loss, relative. */
const TOLERANCE = 1e-4;

function severalLabels(): TrainingTask {
  const rows = ['red dog', 'blue sea', 'one cat', 'two red suns'].map((text, at) => ({
    text,
    labelIds: [at % 3, 2],
  }));
  const dataset = { labels: ['a', 'b', 'c'], train: rows, dev: rows, warnings: [] };
  return classificationTask({ kind: 'multilabel', ...dataset }, 'mean');
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-webgpu-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The losses of some steps, and the outputs of the model that came of them. */
async function trained(task: TrainingTask, executor: GraphExecutor) {
  const learning = await learnerOf(task, 0.1, { executor });
  const losses = await lossesOf(learning, STEPS);
  const { encoder, dev } = loopInput(task, '', {}, { dropout: 0.1 });
  const evaluator = await Evaluator.create(executor, task.head, encoder);
  const texts = await evaluator.outputs(dev, learning.engine.parameterFeeds);
  await evaluator.release();
  await learning.release();
  return { losses, outputs: texts.flatMap((windows) => windows.flatMap(({ outputs }) => [...outputs])) };
}

/** Without the tensors that stay on the device. */
function fedExecutor(profile: string): GraphExecutor {
  const { resident: _, ...executor } = onnxExecutor({ provider: 'webgpu', profile });
  return executor;
}

describeWebGpu('a training on WebGPU', () => {
  itWithTime.each([
    ['classes of texts', classes],
    ['several labels of a text', severalLabels],
  ] as const)(
    `gives the losses of the CPU for ${STEPS} steps: %s`,
    async (_, make) => {
      const onCpu = await trained(make(), onnxExecutor());
      const profile = join(folder, 'profile');
      const onDevice = await trained(make(), fedExecutor(profile));
      expect(new Set(onCpu.losses).size).toBe(STEPS);
      expect(largestDifference(onDevice.losses, onCpu.losses)).toBeLessThan(TOLERANCE);
      onCpu.outputs.forEach((output, at) => {
        expect(onDevice.outputs[at]).toBeCloseTo(output, 3);
      });
      const ran = await operationsByProvider(profile);
      expect(ran.get('WebGpuExecutionProvider')?.length).toBeGreaterThan(100 * STEPS);
      expect(ran.get('CPUExecutionProvider') ?? []).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
