import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ModelType } from '../../src/contract/index.js';
import { grapefruit } from '../../src/families/families.js';
import type { TrainingTask } from '../../src/families/family.js';
import { familyOfType } from '../../src/families/index.js';
import type { TextOutputs } from '../../src/text/index.js';
import type { Hyperparameters } from '../../src/training/hyperparameters.js';
import { tokenize } from '../../src/training/run-training.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Everything that a training does with a dataset stops at once, and leaves its thread free meanwhile. */

/** Enough that no part takes less than a slice of time, and that all are read in a second or two. */
const ROWS = 20_000;
const DEV_ROWS = 5000;

const range = (count: number) => Array.from({ length: count }, (_, at) => at);
const word = (at: number) => `w${((at * 7919) % 50_021).toString(36)}`;
const text = (at: number) =>
  range(10)
    .map((place) => word(at * 10 + place))
    .join(' ');
const byIndex = (values: readonly unknown[]) => JSON.stringify(Object.fromEntries(values.entries()));

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryDirectory();
  for (const [name, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), contents);
  }
  return folder;
}

const split = { DATASET_NAME: 'x', DATA_DIR: '.' };
const table = (rows: number) => ['sentence\tlabel', ...range(rows).map((at) => `${text(at)}\t${at % 3}`)].join('\n');
const questions = (rows: number) =>
  byIndex(range(rows).map((at) => ({ question: text(at), context: `${at} ${text(at)}` })));
const sentences = (rows: number) => range(rows).map(text).join('\n');
const tags = (rows: number) =>
  range(rows)
    .map(() => 'B-X I-X O O O O O O O O')
    .join('\n');

const archives = {
  classification: {
    'config.json': JSON.stringify({
      ...split,
      TRAIN_FILE: 't.tsv',
      DEV_FILE: 'd.tsv',
      field_names: ['sentence', 'label'],
      NUM_CLASS_LABELS: 3,
    }),
    'label_id.json': byIndex(['a', 'b', 'c']),
    't.tsv': table(ROWS),
    'd.tsv': table(DEV_ROWS),
  },
  entities: {
    'label_id.json': byIndex(['O', 'B-X', 'I-X']),
    'train/sentences.txt': sentences(ROWS),
    'train/tags.txt': tags(ROWS),
    'val/sentences.txt': sentences(DEV_ROWS),
    'val/tags.txt': tags(DEV_ROWS),
  },
  questions: {
    'config.json': JSON.stringify({ ...split, TRAIN_FILE: 't.json', DEV_FILE: 'd.json', TEST_FILE: '' }),
    'label_id.json': byIndex(range(ROWS).map((at) => `${at} ${text(at)}`)),
    't.json': questions(ROWS),
    'd.json': questions(DEV_ROWS),
  },
};

type Read = (signal?: AbortSignal) => TrainingTask | Promise<TrainingTask>;
const tasks: Readonly<Record<keyof typeof archives, Read>> = {
  classification: reader('multiclass-text-classification', archives.classification),
  entities: reader('sequence-labeling', archives.entities),
  questions: reader('question-answering', archives.questions),
};

function reader(type: ModelType, files: Readonly<Record<string, string>>): Read {
  return async (signal) => {
    const family = familyOfType(type);
    if (family === undefined) throw new TypeError(`no family of ${type}`);
    const [rows, training] = [await family.rows(), await family.training()];
    return training.task(await rows.read(folderWith(files), type, signal));
  };
}

/** Runs work that is stopped once it lets others have some turns; that it ends by that shows that it does let them. */
async function expectStops(work: (signal: AbortSignal) => unknown): Promise<void> {
  const stop = new AbortController();
  const stopSoon = async () => {
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    stop.abort();
  };
  void stopSoon();
  const error = await failureOf('aborted', async () => work(stop.signal));
  expect(error.code).toBe('aborted');
}

const expertOptions = { lowercase: true, language: 'english', balanced: false, seed: 1 };

describe.each(['classification', 'entities', 'questions'] as const)('a training run of %s', (name) => {
  it('can be stopped while its dataset is read', () => expectStops((signal) => tasks[name](signal)));

  it('can be stopped while its lexical expert is trained', async () => {
    const task = await tasks[name]();
    await expectStops((signal) => task.trainExpert({ ...expertOptions, signal }));
  });

  it('can be stopped while a vocabulary is learned and texts are read', async () => {
    const task = await tasks[name]();
    const choices: Hyperparameters = {
      ...{ batchSize: 8, learningRate: 1e-3, epochs: 1, maxTokens: 64, language: 'german', lowercase: true },
      ...{ augment: false, pretrained: false, tokenDropout: 0, labelSmoothing: 0, balanced: false },
    };
    await expectStops((signal) => tokenize(task, grapefruit, choices, undefined, signal));
  });
});

describe('a trained classifier', () => {
  it('can be stopped while dev is measured, and while it is blended', async () => {
    const task = await tasks.classification();
    const window = {
      encoding: {
        ids: new Int32Array(3),
        typeIds: new Int32Array(3),
        sequenceIds: new Int32Array(3),
        offsets: null,
        truncated: 0,
      },
      outputs: Float32Array.of(0.1, 0.2, 0.3),
    };
    const outputs: TextOutputs[] = task.dev.map(() => [window]);
    const { signal } = new AbortController();
    const expert = await task.trainExpert({ ...expertOptions, signal });
    await expectStops((stop) => expert.finish(outputs, stop));
    const scores = await task.evaluate(outputs);
    expect(scores.accuracy).toBeGreaterThan(0);
  });
});
