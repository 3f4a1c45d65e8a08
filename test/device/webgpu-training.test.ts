/** Trainings on WebGPU, in software: the losses are the CPU's, and no node of a graph leaves the device. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTaskLearner, Evaluator } from '../../src/engine/index.js';
import { retrievalTask } from '../../src/families/dragonfruit/retrieval-task.js';
import { sequenceTask } from '../../src/families/grapefruit/sequence-task.js';
import type { TrainingTask } from '../../src/families/index.js';
import { classificationTask } from '../../src/families/papaya/classification-task.js';
import { type GraphExecutor, onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/random.js';
import { operationsByProvider } from '../support/profiles.js';
import { describeWebGpu } from '../support/software-vulkan.js';
import { loopInput, words } from '../training/loop-input.js';

const random = Random.fromSeed(5);
const sentence = () => Array.from({ length: 3 + random.integer(9) }, () => words[random.integer(10)] ?? '');
const texts = Array.from({ length: 24 }, () => sentence().join(' '));

function classification(kind: 'multiclass' | 'multilabel', pooling: 'first' | 'mean'): TrainingTask {
  const rows = texts.map((text, row) => ({
    text,
    labelIds: kind === 'multilabel' ? [row % 3, 2] : [row % 3],
  }));
  const dataset = { kind, labels: ['a', 'b', 'c'], train: rows, dev: rows, warnings: [] };
  return classificationTask(dataset, pooling);
}

function tagging(): TrainingTask {
  const sentences = texts.map((text) => {
    const own = text.split(' ');
    return { words: own, tags: own.map((_, at) => (at % 3 === 0 ? 1 : 0)) };
  });
  return sequenceTask({ tags: ['O', 'B-X'], train: sentences, dev: sentences, warnings: [] });
}

function retrieval(): TrainingTask {
  const questions = texts.map((question, passage) => ({ question, passage }));
  const passages = texts.map(() => sentence().join(' '));
  return retrievalTask({ passages, train: questions, dev: questions, warnings: [] });
}

/** In software each takes about a second, so that only the first task takes all of them. */
const STEPS = 20;
const FEW_STEPS = 3;
/** Programs are compiled for some tens of seconds at first, longer on a busy machine. */
const TIMEOUT_MS = 600_000;
const LEARNING_RATE = 1e-3;
const tasks: readonly (readonly [number, string, () => TrainingTask])[] = [
  [STEPS, 'classes, read from the first token', () => classification('multiclass', 'first')],
  [FEW_STEPS, 'several labels a text, read from all tokens', () => classification('multilabel', 'mean')],
  [FEW_STEPS, 'tags of tokens', tagging],
  [FEW_STEPS, 'questions and passages', retrieval],
];

/** Of a loss, relative. */
const TOLERANCE = 1e-4;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-webgpu-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The losses of some steps, and the outputs of the model that came of them. */
async function trained(task: TrainingTask, executor: GraphExecutor, steps: number) {
  const input = loopInput(task, folder, {}, { dropout: 0.1, executor });
  const options = { ...input.hyperparameters, tokenDropout: 0.1 };
  const batchSize = 8;
  const learning = await createTaskLearner({
    ...{ ...input, head: task.head, options, batchSize, language: 'english' },
  });
  const losses: number[] = [];
  for (let step = 0; step < steps; step += 1) losses.push((await learning.learner.step(LEARNING_RATE)).loss);
  const evaluator = await Evaluator.create(executor, task.head, input.encoder);
  const outputs = await evaluator.outputs(input.dev, learning.engine.parameterFeeds);
  await evaluator.release();
  await learning.release();
  return { losses, outputs: outputs.flatMap((windows) => windows.flatMap((each) => [...each.outputs])) };
}

describeWebGpu('a training on WebGPU', () => {
  it.each(tasks)(
    'gives the losses of the CPU for %i steps: %s',
    async (steps, _, make) => {
      const onCpu = await trained(make(), onnxExecutor(), steps);
      const profile = join(folder, 'profile');
      const onDevice = await trained(make(), onnxExecutor({ provider: 'webgpu', profile }), steps);
      expect(onDevice.losses).toHaveLength(steps);
      expect(new Set(onCpu.losses).size).toBe(steps);
      for (const [step, loss] of onCpu.losses.entries()) {
        const given = onDevice.losses[step] ?? Number.NaN;
        expect(Math.abs(given / loss - 1), `step ${step}`).toBeLessThan(TOLERANCE);
      }
      onCpu.outputs.forEach((output, at) => {
        expect(onDevice.outputs[at]).toBeCloseTo(output, 3);
      });
      const ran = await operationsByProvider(profile);
      expect(ran.get('WebGpuExecutionProvider')?.length).toBeGreaterThan(100 * steps);
      expect(ran.get('CPUExecutionProvider') ?? []).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
