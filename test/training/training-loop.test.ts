import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { initialize } from '../../src/encoder/index.js';
import { GradientEngine, padBatch, type RowHead } from '../../src/engine/index.js';
import type { ClassificationDataset } from '../../src/families/classification/classification-dataset.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { tensorflowExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import type { TextWindow } from '../../src/text/index.js';
import type { Hyperparameters } from '../../src/training/hyperparameters.js';
import { ProgressReporter } from '../../src/training/progress-reporter.js';
import { runTrainingLoop, type TrainedModel } from '../../src/training/training-loop.js';
import { GOES_ON_LATER } from '../../src/training/training-run.js';
import { failureOf } from '../support/outcomes.js';
import { type LoopChanges, loopInput, words } from './loop-input.js';

/** Texts of 4 to 9 words with labels that have nothing to do with them: they can only be learned by heart. */
function randomTexts(kind: ClassificationDataset['kind'], rows: number): ClassificationDataset {
  const random = Random.fromSeed(5);
  const labels = kind === 'binary' ? ['no', 'yes'] : ['a', 'b', 'c'];
  const texts = Array.from({ length: rows }, () => {
    const text = Array.from({ length: 4 + random.integer(6) }, () => words[random.integer(10)]).join(' ');
    const labelIds =
      kind === 'multilabel' ? [0, 1, 2].filter(() => random.uniform() < 0.5) : [random.integer(labels.length)];
    return { text, labelIds };
  });
  return { kind, labels, train: texts, dev: texts, warnings: [] };
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-loop-'));
});
afterEach(() => rm(folder, { recursive: true }));

type RowInput = ReturnType<typeof loopInput<RowHead>>;

function inputFor(
  dataset: ClassificationDataset,
  hyperparameters: Partial<Hyperparameters>,
  changes: LoopChanges = {},
): RowInput {
  return loopInput(classificationTask(dataset, 'first'), folder, hyperparameters, changes);
}

function train(...args: Parameters<typeof inputFor>): Promise<TrainedModel> {
  return runTrainingLoop(inputFor(...args));
}

/** Relative distance of two sets of numbers. */
function distance(a: Float32Array, b: Float32Array): number {
  let difference = 0;
  let size = 0;
  a.forEach((value, at) => {
    difference += (value - (b[at] ?? 0)) ** 2;
    size += value ** 2;
  });
  return Math.sqrt(difference / size);
}

describe('training', () => {
  it.each(['binary', 'multiclass', 'multilabel'] as const)('learns random %s labels by heart', async (kind) => {
    const { stats } = await train(randomTexts(kind, 24), { epochs: 150 });
    const { loss } = stats.metrics.training;
    expect(loss.at(-1)).toBeLessThan(0.6 * (loss[0] ?? 0));
    expect(stats.best_eval_metric_value).toBe(1);
  });

  it('keeps the weights of the epoch with the best main metric', async () => {
    const dataset = randomTexts('multiclass', 24);
    const { stats, devOutputs } = await train(dataset, { epochs: 12, learningRate: 0.02 });
    const accuracies = stats.metrics.validation.accuracy ?? [];
    expect(stats.best_eval_metric_value).toBe(Math.max(...accuracies));
    // The last epoch is not the best one, and what is handed on is what the best one answered.
    expect(accuracies.at(-1)).toBeLessThan(Math.max(...accuracies));
    const scores = await classificationTask(dataset, 'first').evaluate(devOutputs);
    expect(scores.accuracy).toBe(Math.max(...accuracies));
  });

  it('stops early once the main metric has not risen for half of the epochs', async () => {
    const { stats } = await train(randomTexts('multiclass', 24), { epochs: 300 });
    const accuracies = stats.metrics.validation.accuracy ?? [];
    const best = accuracies.indexOf(Math.max(...accuracies)) + 1;
    expect(stats.epoch).toBe(best + 150);
    expect(stats.metrics.elapsed_time).toHaveLength(stats.epoch);
  });

  it('gives the same weights for the same seed, and others for another, dropout included', async () => {
    const dataset = randomTexts('binary', 16);
    const options = { dropout: 0.1 };
    const first = await train(dataset, { tokenDropout: 0.2 }, options);
    const again = await train(dataset, { tokenDropout: 0.2 }, options);
    const other = await train(dataset, { tokenDropout: 0.2 }, { ...options, seed: 4 });
    expect(again.weights).toEqual(first.weights);
    expect(other.weights).not.toEqual(first.weights);
    expect(again.stats.metrics.training).toEqual(first.stats.metrics.training);
  });

  it.each(['binary', 'multiclass', 'multilabel'] as const)(
    'has the losses and answers on TensorFlow.js that it has on ONNX Runtime: %s',
    async (kind) => {
      await tf.setBackend('cpu');
      const dataset = randomTexts(kind, 16);
      const hyperparameters = { epochs: 4, learningRate: 0.01, tokenDropout: 0.1, balanced: true };
      const onOnnx = await train(dataset, hyperparameters, { dropout: 0.1 });
      const executor = tensorflowExecutor(tf);
      const onTensorFlow = await train(dataset, hyperparameters, { dropout: 0.1, executor });
      const losses = onTensorFlow.stats.metrics.training.loss;
      const expected = onOnnx.stats.metrics.training.loss;
      expect(losses).toHaveLength(expected.length);
      expect(distance(Float32Array.from(losses), Float32Array.from(expected))).toBeLessThan(1e-5);
      expect(distance(flatOutputs(onTensorFlow.devOutputs), flatOutputs(onOnnx.devOutputs))).toBeLessThan(1e-5);
    },
  );

  it('stops within two steps when asked to', async () => {
    const stop = new AbortController();
    let steps = 0;
    const progress = new ProgressReporter(() => {});
    progress.stepped = () => {
      steps += 1;
      if (steps === 2) stop.abort(); // of the three steps of an epoch, or more
    };
    const options = { signal: stop.signal, progress };
    await failureOf('aborted', () => train(randomTexts('binary', 80), { epochs: 9 }, options));
    expect(steps).toBe(2);
  });

  it('resumes from a checkpoint to the exact weights of an uninterrupted run', async () => {
    const dataset = randomTexts('multiclass', 24);
    const hyperparameters = { epochs: 5, tokenDropout: 0.1 };
    const options = { dropout: 0.1 };
    const whole = await train(dataset, hyperparameters, options);
    const stop = new AbortController();
    const progress = new ProgressReporter(() => {});
    progress.epochEnded = ({ epoch }) => {
      if (epoch === 3) stop.abort();
    };
    const checkpoint = { file: join(folder, 'resumed.safetensors'), fingerprint: 'x', intervalMs: 0 };
    const interrupted = inputFor(dataset, hyperparameters, {
      ...options,
      checkpoint,
      signal: stop.signal,
      progress,
    });
    await failureOf('aborted', () => runTrainingLoop(interrupted));
    const resumed = await train(dataset, hyperparameters, { ...options, checkpoint });
    expect(resumed.weights).toEqual(whole.weights);
    expect(resumed.stats.metrics.training).toEqual(whole.stats.metrics.training);
    expect(resumed.stats.epoch).toBe(whole.stats.epoch);
  });

  it.each([
    ['within an epoch', 'stepped'],
    ['while it measures an epoch', 'evaluating'],
  ] as const)('leaves a checkpoint where it is stopped %s to go on later', async (_, moment) => {
    const dataset = randomTexts('multiclass', 48);
    const hyperparameters = { epochs: 5, tokenDropout: 0.1 };
    const options = { dropout: 0.1 };
    const whole = await train(dataset, hyperparameters, options);
    const stop = new AbortController();
    const progress = new ProgressReporter(() => {});
    let times = 0;
    progress[moment] = () => {
      times += 1;
      if (times === 3) stop.abort(GOES_ON_LATER);
    };
    const checkpoint = { file: join(folder, 'put-off.safetensors'), fingerprint: 'x', intervalMs: 1e9 };
    const putOff = { ...options, checkpoint, signal: stop.signal, progress };
    await failureOf('aborted', () => train(dataset, hyperparameters, putOff));
    const steps: number[] = [];
    const counting = new ProgressReporter(() => {});
    counting.stepped = ({ step }) => steps.push(step);
    const resumed = await train(dataset, hyperparameters, { ...options, checkpoint, progress: counting });
    expect(steps[0]).toBe(moment === 'stepped' ? 4 : 19);
    expect(resumed.weights).toEqual(whole.weights);
    expect(resumed.stats.metrics.training).toEqual(whole.stats.metrics.training);
  });

  it('leaves checkpoints within a long epoch, which a run goes on from after its process has died', async () => {
    const dataset = randomTexts('multiclass', 48);
    const hyperparameters = { epochs: 3, tokenDropout: 0.1 };
    const options = { dropout: 0.1 };
    const whole = await train(dataset, hyperparameters, options);
    const stop = new AbortController();
    const progress = new ProgressReporter(() => {});
    progress.stepped = ({ step }) => {
      if (step === 3) stop.abort();
    };
    const plan = { file: join(folder, 'within.safetensors'), fingerprint: 'x', intervalMs: 1e9 };
    const dies = { ...options, signal: stop.signal, progress, checkpoint: { ...plan, withinEpochMs: 0 } };
    await failureOf('aborted', () => train(dataset, hyperparameters, dies));
    const steps: number[] = [];
    const counting = new ProgressReporter(() => {});
    counting.stepped = ({ step }) => steps.push(step);
    const resumed = await train(dataset, hyperparameters, {
      ...options,
      checkpoint: plan,
      progress: counting,
    });
    expect(steps[0]).toBe(4);
    expect(resumed.weights).toEqual(whole.weights);
    expect(resumed.stats.metrics.training).toEqual(whole.stats.metrics.training);
  });

  it('resumes from a checkpoint whose fingerprint has its fields in another order', async () => {
    const dataset = randomTexts('binary', 16);
    const file = join(folder, 'reordered.safetensors');
    const saved = { file, fingerprint: '{"seed":1,"rows":[16,16]}', intervalMs: 0 };
    await train(dataset, { epochs: 2 }, { checkpoint: saved });
    const fingerprint = '{"rows":[16,16],"seed":1}';
    const { stats } = await train(dataset, { epochs: 4 }, { checkpoint: { ...saved, fingerprint } });
    const fresh = await train(dataset, { epochs: 2 });
    expect(stats.metrics.training.loss.slice(0, 2)).toEqual(fresh.stats.metrics.training.loss);
    expect(stats.epoch).toBe(4);
  });

  it('starts anew if the checkpoint is of another run', async () => {
    const dataset = randomTexts('binary', 16);
    const file = join(folder, 'other.safetensors');
    await train(dataset, {}, { checkpoint: { file, fingerprint: '{"of":"one","rows":16}', intervalMs: 0 } });
    const { stats } = await train(
      dataset,
      {},
      { checkpoint: { file, fingerprint: '{"of":"two","rows":16}', intervalMs: 0 } },
    );
    expect(stats.epoch).toBe(2);
    expect(stats.metrics.training.loss[0]).toBeGreaterThan(0.5);
  });

  it('fails with a TrainingError that says what to do when it diverges', async () => {
    const diverging = { learningRate: 1e30, epochs: 20 };
    const error = await failureOf('training', () => train(randomTexts('binary', 16), diverging));
    expect(error.message).toContain('`learningRate`');
  });
});

describe('GradientEngine', () => {
  it('gives the gradients of a whole batch when it is split into unequal runs', async () => {
    const dataset = randomTexts('multiclass', 12);
    const input = inputFor(dataset, {});
    const whole = await gradientsOf(input, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]);
    const split = await gradientsOf(input, [
      [0, 1, 2, 3, 4, 5, 6],
      [7, 8, 9],
      [10, 11],
    ]);
    expect(distance(whole, split)).toBeLessThan(1e-5);
    const wrong = await gradientsOf(input, [[0, 1, 2, 3, 4, 5, 6]]);
    expect(distance(whole, wrong)).toBeGreaterThan(1e-2);
  });

  it('leaves nothing of one batch in the next one', async () => {
    const input = inputFor(randomTexts('binary', 12), {});
    const alone = await gradientsOf(input, [[3, 4]]);
    const engine = await engineFor(input);
    for (const windows of [input.train.slice(5, 12), input.train.slice(3, 5)]) {
      await engine.run(padded(windows), input.task.head.targets(windows, input.hyperparameters));
    }
    expect(distance(alone, allGradients(engine))).toBeLessThan(1e-6);
    await engine.release();
  });
});

async function engineFor({ task: { head }, encoder, executor }: RowInput): Promise<GradientEngine> {
  const parameters = head.parameters(encoder);
  const engine = await GradientEngine.create({
    executor,
    head,
    encoder,
    trainable: parameters,
    batchSize: 12,
    longest: 16,
    seed: 1,
  });
  const random = Random.fromSeed(9);
  for (const spec of parameters) {
    initialize(spec, engine.store.get(spec.name).weights, () => 5 * random.normal());
  }
  return engine;
}

function padded(windows: readonly TextWindow[]) {
  const encodings = windows.map(({ encoding }) => encoding);
  return padBatch(encodings, { padId: 0, firstPosition: 0 });
}

/** Gradients of all parameters in one array, of the mean loss over all rows of the runs. */
async function gradientsOf(input: RowInput, runs: readonly (readonly number[])[]): Promise<Float32Array> {
  const engine = await engineFor(input);
  const total = runs.flat().length;
  let sum: Float32Array | undefined;
  for (const rows of runs) {
    const windows = rows.flatMap((row) => input.train[row] ?? []);
    const targets = input.task.head.targets(windows, input.hyperparameters);
    await engine.run(padded(windows), targets);
    const share = allGradients(engine).map((value) => (value * targets.weight) / total);
    sum = sum === undefined ? share : sum.map((value, at) => value + (share[at] ?? 0));
  }
  await engine.release();
  return sum ?? new Float32Array();
}

function allGradients({ store }: GradientEngine): Float32Array {
  return Float32Array.from(store.parameters.flatMap(({ gradients }) => [...gradients]));
}
