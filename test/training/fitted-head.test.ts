import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bareName, initialize } from '../../src/encoder/index.js';
import type { TrainingHead } from '../../src/engine/index.js';
import type { ClassificationDataset } from '../../src/families/classification/classification-dataset.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { sequenceTask } from '../../src/families/entities/training.js';
import type { TrainingTask } from '../../src/families/index.js';
import { Random } from '../../src/system/numbers.js';
import { ProgressReporter } from '../../src/training/progress-reporter.js';
import { runTrainingLoop } from '../../src/training/training-loop.js';
import { GOES_ON_LATER } from '../../src/training/training-run.js';
import { failureOf } from '../support/outcomes.js';
import { type LoopChanges, loopInput, words } from './loop-input.js';

/** A run from a backbone begins with a head that is fitted to what the backbone says already. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-fitted-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Texts whose labels are words that stand in them. */
function tellingTexts(kind: ClassificationDataset['kind']): ClassificationDataset {
  const random = Random.fromSeed(5);
  const labels = kind === 'binary' ? ['red', 'green'] : ['red', 'green', 'blue'];
  const texts = Array.from({ length: 400 }, (_, row) => {
    const labelIds = kind === 'multilabel' ? [0, 1, 2].filter(() => random.uniform() < 0.5) : [row % labels.length];
    const named = labelIds.map((id) => labels[id]);
    const others = Array.from({ length: 4 }, () => words[3 + random.integer(7)]);
    return { text: [...others, ...named].join(' '), labelIds };
  });
  return { kind, labels, train: texts, dev: texts, warnings: [] };
}

/** Sentences in which red, green and blue are entities, wherever they stand; some are longer than a window. */
function colouredSentences() {
  const random = Random.fromSeed(5);
  const sentences = Array.from({ length: 200 }, (_, row) => {
    const drawn = Array.from({ length: row % 10 === 0 ? 24 : 6 }, () => random.integer(words.length));
    return { words: drawn.map((at) => words[at] ?? ''), tags: drawn.map((at) => (at < 3 ? 1 : 0)) };
  });
  return sequenceTask({ tags: ['O', 'B-COLOUR'], train: sentences, dev: sentences, warnings: [] });
}

/** A learning rate by which nothing is learned. */
const NEXT_TO_NOTHING = 1e-9;

/** An encoder of weights at hand, or of random ones. */
function input(
  task: TrainingTask<TrainingHead>,
  isPretrained: boolean,
  learningRate: number,
  changes: LoopChanges = {},
) {
  const plain = loopInput(task, folder, { epochs: 2, learningRate }, changes);
  const random = Random.fromSeed(9);
  const weights = plain.encoder.parameters(plain.encoder.prefix).map((spec) => {
    const values = new Float32Array(spec.shape.reduce((product, each) => product * each, 1));
    initialize(spec, values, () => 5 * random.normal());
    return [bareName(plain.encoder, spec.name), values] as const;
  });
  return isPretrained ? { ...plain, pretrained: new Map(weights) } : plain;
}

const classifier = (kind: ClassificationDataset['kind']) => classificationTask(tellingTexts(kind), 'mean');

describe('the first epoch from a backbone', () => {
  it.each(['binary', 'multiclass', 'multilabel'] as const)(
    'has a head that tells %s labels before anything is learned; from random weights it has none',
    async (kind) => {
      const fitted = await runTrainingLoop(input(classifier(kind), true, NEXT_TO_NOTHING));
      expect(fitted.stats.metrics.validation.accuracy?.[0]).toBeGreaterThan(0.9);
      const drawn = await runTrainingLoop(input(classifier(kind), false, NEXT_TO_NOTHING));
      expect(drawn.stats.metrics.validation.accuracy?.[0]).toBeLessThan(0.8);
    },
  );

  it('has a head that finds entities before anything is learned; from random weights it has none', async () => {
    const fitted = await runTrainingLoop(input(colouredSentences(), true, NEXT_TO_NOTHING));
    expect(fitted.stats.metrics.validation.f1?.[0]).toBeGreaterThan(0.9);
    const drawn = await runTrainingLoop(input(colouredSentences(), false, NEXT_TO_NOTHING));
    expect(drawn.stats.metrics.validation.f1?.[0]).toBeLessThan(0.5);
  });

  it('is fitted once: a run that goes on has the weights of one that was never stopped', async () => {
    const whole = await runTrainingLoop(input(classifier('multiclass'), true, 3e-3));
    const stop = new AbortController();
    const progress = new ProgressReporter(() => {});
    progress.stepped = ({ step }) => {
      if (step === 3) stop.abort(GOES_ON_LATER);
    };
    await failureOf('aborted', () =>
      runTrainingLoop(input(classifier('multiclass'), true, 3e-3, { signal: stop.signal, progress })),
    );
    const resumed = await runTrainingLoop(input(classifier('multiclass'), true, 3e-3));
    expect(resumed.weights).toEqual(whole.weights);
  });
});
