import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  checkData,
  crossValidate,
  distill,
  inferenceService,
  Medley,
  memoryStorage,
  Predictor,
  type TeacherFunction,
  train,
  tune,
} from '../../src/index.js';
import { rows } from '../public/sentiments.js';
import { errorOf, failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Options that a call would ignore are refused before anything is trained. */

const dev = rows.slice(0, 8);
const questions = ['one', 'two', 'six', 'ten'].map((each) => ({ question: `${each}?`, passage: `is ${each}` }));
const tagged = ['Oslo', 'Rome', 'Lima'].map((town) => ({ tokens: ['in', town], tags: ['O', 'B-TOWN'] }));

const unused: TeacherFunction = () => {
  throw new Error('the teacher was asked');
};

function written(name: string, content: string): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  return path;
}

const json = () => written('rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));

const refused = (loc: readonly string[], msg: unknown) => ({ code: 'validation', problems: [{ loc, msg }] });

describe('devFraction next to dev', () => {
  const problem = refused(['devFraction'], 'has no effect with `dev`; leave one of them out');

  it('is refused by train and tune', async () => {
    expect(await errorOf(train({ rows, dev, devFraction: 0.2 }))).toMatchObject(problem);
    expect(await errorOf(tune({ rows, dev, devFraction: 0.2 }))).toMatchObject(problem);
  });
});

describe('options for reading that no rows have a use for', () => {
  const offsets = refused(['offsets'], 'applies only to texts with entities; leave `offsets` out');

  it.each([
    ['train', () => errorOf(train({ rows, offsets: 'bytes' }))],
    ['train with dev and test', () => errorOf(train({ rows, dev, test: dev, offsets: 'bytes' }))],
    ['tune', () => errorOf(tune({ rows, test: dev.values(), offsets: 'bytes' }))],
    ['crossValidate', () => errorOf(crossValidate({ rows, offsets: 'bytes' }))],
    ['checkData', () => errorOf(checkData({ rows, dev, test: dev, offsets: 'bytes' }))],
    [
      'distill',
      () => errorOf(distill({ teacher: unused, texts: ['a'], rows, dev, offsets: 'bytes', answers: 'none.jsonl' })),
    ],
  ])('are refused by %s', async (_, call) => {
    expect(await call()).toMatchObject(offsets);
  });

  it.each([
    ['train', () => errorOf(train({ path: json(), delimiter: ';' }))],
    ['crossValidate', () => errorOf(crossValidate({ path: json(), delimiter: ';' }))],
    ['checkData', () => errorOf(checkData({ path: json(), delimiter: ';' }))],
  ])('are refused by %s with what a file was read as', async (_, call) => {
    const msg = expect.stringMatching(/^applies only to tables, and rows\.jsonl was read as JSON Lines: 80 texts/);
    expect(await call()).toMatchObject(refused(['delimiter'], msg));
  });

  it('may be of use only to the rows of test, which are read to find out', async () => {
    const numbered = written('test.jsonl', JSON.stringify({ tokens: ['in', 'Oslo'], tags: [0, 1] }));
    const tagNames = ['O', 'B-TOWN'];
    // What comes next is refused: the options for reading were not.
    const late = { tuning: { freeze: 99 }, threads: 1 } as const;
    const { message } = await errorOf(train({ rows: tagged, test: numbered, tagNames, ...late }));
    expect(message).not.toContain('tagNames');
    expect(await errorOf(train({ rows: tagged, test: tagged, tagNames, ...late }))).toMatchObject(
      refused(['tagNames'], expect.stringContaining('applies only to tags that are numbers')),
    );
  });
});

describe('size next to base', () => {
  const base = 'english-mini';

  it('is refused, and so are sizes to search next to bases', async () => {
    const problem = (...loc: string[]) => refused(loc, expect.stringContaining('has no effect with `base`'));
    expect(await errorOf(train({ rows, base, size: 'base' }))).toMatchObject(problem('size'));
    expect(await errorOf(crossValidate({ rows, base, size: 'base' }))).toMatchObject(problem('size'));
    const taught = distill({ teacher: unused, texts: ['a'], base, size: 'mini', answers: 'none.jsonl' });
    expect(await errorOf(taught)).toMatchObject(problem('size'));
    const size = ['mini', 'base'] as const;
    expect(await errorOf(tune({ rows, base, space: { size } }))).toMatchObject(problem('space', 'size'));
    expect(await errorOf(tune({ rows, space: { base: [base], size } }))).toMatchObject(problem('space', 'size'));
  });
});

describe('settings that question answering does not use', () => {
  it.each([
    ['effort', { effort: 'quick' }],
    ['tuning.effort', { tuning: { effort: 'quick' } }],
    ['tuning.labelSmoothing', { tuning: { labelSmoothing: 0 } }],
    ['tuning.classWeights', { tuning: { classWeights: 'balanced' } }],
  ] as const)('are refused: %s', async (name, options) => {
    const problem = refused(name.split('.'), `question-answering does not use \`${name}\`; leave it out`);
    expect(await errorOf(train({ rows: questions, ...options }))).toMatchObject(problem);
    expect(await errorOf(crossValidate({ rows: questions, folds: 2, ...options }))).toMatchObject(problem);
  });
});

it('options of an inference service are refused next to a service', async () => {
  const inference = inferenceService({ isolation: 'inline' });
  onTestFinished(() => inference.close());
  const problem = refused(['workers'], expect.stringContaining('has no effect with `inference`'));
  const storage = memoryStorage();
  expect(await failureOf('validation', () => new Predictor({ storage, inference, workers: 2 }))).toMatchObject(problem);
  expect(await failureOf('validation', () => new Medley({ inference, workers: 2 }))).toMatchObject(problem);
});
