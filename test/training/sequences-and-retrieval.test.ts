import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SequenceDataset } from '../../src/families/entities/sequence-dataset.js';
import { sequenceTask } from '../../src/families/entities/training.js';
import type { TrainingTask } from '../../src/families/index.js';
import type { RetrievalDataset } from '../../src/families/retrieval/retrieval-dataset.js';
import { retrievalTask } from '../../src/families/retrieval/training.js';
import { Random } from '../../src/system/numbers.js';
import { ProgressReporter } from '../../src/training/progress-reporter.js';
import { runTrainingLoop, type TrainedModel } from '../../src/training/training-loop.js';
import { failureOf } from '../support/outcomes.js';
import { loopInput, words } from './loop-input.js';

/** The training loop on tokens that are labelled, and on texts that are compared with each other. */

const random = Random.fromSeed(5);
const someWords = (least: number, most: number) =>
  Array.from({ length: least + random.integer(most - least + 1) }, () => words[random.integer(10)] ?? '');

/**
 * Sentences of 4 to 20 words, some longer than the encoder reads, whose tags can only be learned by heart.
 */
const sentences = Array.from({ length: 16 }, () => {
  const sentence = someWords(4, 20);
  let previous = 0;
  const tags = sentence.map(() => {
    // An I- only after its B-.
    const allowed = previous === 1 || previous === 2 ? [0, 1, 2, 3] : [0, 1, 3];
    previous = allowed[random.integer(allowed.length)] ?? 0;
    return previous;
  });
  return { words: sentence, tags };
});
const tagging: SequenceDataset = {
  tags: ['O', 'B-X', 'I-X', 'B-Y'],
  train: sentences,
  dev: sentences,
  warnings: [],
};

/** Questions that have nothing to do with the passages that answer them. */
const questions = Array.from({ length: 20 }, (_, passage) => ({
  question: someWords(4, 9).join(' '),
  passage,
}));
const retrieval: RetrievalDataset = {
  passages: questions.map(() => someWords(3, 12).join(' ')),
  train: questions,
  dev: questions,
  warnings: [],
};

const tasks: readonly (readonly [string, TrainingTask])[] = [
  ['sequence labelling', sequenceTask(tagging)],
  ['retrieval', retrievalTask(retrieval)],
];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-loop-'));
});
afterEach(() => rm(folder, { recursive: true }));

type Changes = Parameters<typeof loopInput>[3];

function inputFor(task: TrainingTask, hyperparameters: Parameters<typeof loopInput>[2], changes?: Changes) {
  return loopInput(task, folder, hyperparameters, changes);
}

async function train(...args: Parameters<typeof inputFor>): Promise<TrainedModel> {
  return runTrainingLoop(inputFor(...args));
}

describe('training', () => {
  it('memorizes random tags, including those in later windows of long sentences', async () => {
    const task = sequenceTask(tagging);
    const { stats, devOutputs } = await train(task, { epochs: 120 });
    expect(Math.max(...devOutputs.map((windows) => windows.length))).toBeGreaterThan(1);
    const { loss } = stats.metrics.training;
    expect(loss.at(-1)).toBeLessThan(0.5 * (loss[0] ?? 0));
    expect(stats.main_eval_metric).toBe('f1');
    expect(stats.best_eval_metric_value).toBeGreaterThan(0.9);
    expect(stats.metrics.validation.accuracy).toBeUndefined();
    expect(stats.metrics.validation.f1).toHaveLength(stats.epoch);
  });

  it('memorizes which passage answers which question', async () => {
    const { stats } = await train(retrievalTask(retrieval), { epochs: 60 });
    const { topk = [] } = stats.metrics.validation;
    expect(topk).toHaveLength(stats.epoch);
    expect(topk[0]?.[1]).toBeLessThan(0.5);
    expect(Math.max(...topk.map((shares) => shares[1]))).toBe(1);
    expect(stats.main_eval_metric).toBeUndefined();
    expect(stats.best_eval_metric_value).toBeUndefined();
  });

  it.each(tasks)('goes on from a checkpoint to the very weights of an uninterrupted training: %s', async (_, task) => {
    const hyperparameters = { epochs: 4, tokenDropout: 0.1, labelSmoothing: 0.1 };
    const options = { dropout: 0.1 };
    const whole = await train(task, hyperparameters, options);
    const stop = new AbortController();
    const progress = new ProgressReporter(() => {});
    progress.epochEnded = ({ epoch }) => {
      if (epoch === 2) stop.abort();
    };
    const checkpoint = { file: join(folder, 'resumed.safetensors'), fingerprint: 'x', intervalMs: 0 };
    const interrupted = inputFor(task, hyperparameters, {
      ...options,
      checkpoint,
      signal: stop.signal,
      progress,
    });
    await failureOf('aborted', () => runTrainingLoop(interrupted));
    const resumed = await train(task, hyperparameters, { ...options, checkpoint });
    expect(resumed.weights).toEqual(whole.weights);
    expect(resumed.stats.metrics.training).toEqual(whole.stats.metrics.training);
    expect(resumed.stats.metrics.validation).toEqual(whole.stats.metrics.validation);
  });

  it.each(tasks)(
    'ends in a blend that is no worse than either expert, and in the record of its mistakes: %s',
    async (_, task) => {
      const { signal } = new AbortController();
      const options = { lowercase: true, language: 'english', balanced: false, seed: 1, signal };
      const expert = await task.trainExpert(options);
      const { devOutputs } = await train(task, { epochs: 3 });
      const { blend, evaluation } = await expert.finish(devOutputs);
      const first = ({ topk, f1 }: typeof blend.blend) => topk?.[1] ?? f1;
      expect(first(blend.blend)).toBeGreaterThanOrEqual(Math.max(first(blend.encoder) ?? 1, first(blend.expert) ?? 1));
      expect(evaluation?.rows).toBe(task.examples?.dev ?? task.dev.length);
      expect(evaluation?.retrieval?.topk).toEqual(blend.blend.topk);
      expect(evaluation?.mistakes.length).toBeLessThanOrEqual(evaluation?.rows ?? 0);
    },
  );
});
