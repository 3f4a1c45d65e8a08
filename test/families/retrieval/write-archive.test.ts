import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import { unzip } from '../../../src/datasets/index.js';
import { createRetrievalArchive, type QuestionRow, type RetrievalArchiveOptions } from '../../../src/families/index.js';
import { retrievalRows } from '../../../src/families/retrieval/rows.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const PARIS = { question: 'Where is Paris?', context: 'Paris is in France.' };
const ROME = { question: 'Where is Rome?', context: 'Rome is in Italy.' };
const OSLO = { question: 'Where is Oslo?', context: 'Oslo is in Norway.' };

async function create(options: Partial<RetrievalArchiveOptions> = {}) {
  const path = join(temporaryDirectory(), 'out', 'capitals.zip');
  const rows = [PARIS, ROME];
  const result = await createRetrievalArchive({ name: 'capitals', rows, devRows: [OSLO], ...options }, path);
  return { path, result };
}

async function readBack(path: string) {
  const directory = temporaryDirectory();
  await unzip(path, directory);
  return retrievalRows.read(directory, 'question-answering');
}

async function problemsOf(options: Partial<RetrievalArchiveOptions>) {
  const { path, result } = await create(options);
  const error = result._unsafeUnwrapErr();
  expect(existsSync(path)).toBe(false);
  return error.code === 'dataset' ? error.problems.map(describeDatasetProblem) : [error.message];
}

describe('createRetrievalArchive', () => {
  it('writes what training reads', async () => {
    const { path, result } = await create();
    expect(result._unsafeUnwrap()).toEqual({
      path,
      passages: 3,
      train: 2,
      dev: 1,
      removedDuplicates: 0,
      warnings: [],
    });
    expect(await readBack(path)).toEqual({
      passages: [PARIS.context, ROME.context, OSLO.context],
      train: [
        { question: PARIS.question, passage: 0 },
        { question: ROME.question, passage: 1 },
      ],
      dev: [{ question: OSLO.question, passage: 2 }],
      warnings: [],
    });
  });

  it('adds passages without a question, each passage once', async () => {
    const { path, result } = await create({ passages: ['Bern is in Switzerland.', ROME.context] });
    expect(result._unsafeUnwrap()).toMatchObject({
      passages: 4,
      warnings: [{ kind: 'passage_without_question', count: 1 }],
    });
    expect((await readBack(path)).passages).toContain('Bern is in Switzerland.');
  });

  it('leaves out repeated rows', async () => {
    const { result } = await create({ rows: [PARIS, ROME, PARIS] });
    expect(result._unsafeUnwrap()).toMatchObject({ train: 2, removedDuplicates: 1 });
  });

  it('sets questions aside for dev, keeps similar ones together, and never takes all', async () => {
    const rows = fc.array(
      fc.record({
        question: fc.constantFrom('a?', 'A?', 'b?', 'c?', 'd?'),
        context: fc.constantFrom('x', 'y'),
      }),
      { minLength: 6, maxLength: 30 },
    );
    const isUsable = (given: readonly QuestionRow[]) =>
      new Set(given.map(({ context }) => context)).size === 2 &&
      new Set(given.map(({ question }) => question.toLowerCase())).size > 1;
    const property = fc.asyncProperty(
      rows.filter(isUsable),
      fc.double({ min: 0.01, max: 0.99, noNaN: true }),
      async (given, devFraction) => {
        const { path } = await create({ rows: given, devRows: undefined, devFraction });
        const { train, dev } = await readBack(path);
        expect(train.length).toBeGreaterThan(0);
        expect(dev.length).toBeGreaterThan(0);
        const asked = new Set(train.map(({ question }) => question.toLowerCase()));
        expect(dev.filter(({ question }) => asked.has(question.toLowerCase()))).toEqual([]);
        const rowsKept = new Set(given.map(({ question, context }) => `${question} ${context}`));
        expect(train.length + dev.length).toBe(rowsKept.size);
      },
    );
    await fc.assert(property, { numRuns: 20 });
  });

  it('sets the same questions aside for the same seed, others for another seed', async () => {
    const rows = Array.from({ length: 50 }, (_, n) => ({
      question: `what is ${n}?`,
      context: `number ${n}`,
    }));
    const devOf = async (seed: number) => {
      const { path } = await create({ rows, devRows: undefined, seed });
      return (await readBack(path)).dev.map(({ question }) => question);
    };
    expect(await devOf(1)).toEqual(await devOf(1));
    expect(await devOf(1)).toHaveLength(5);
    expect(await devOf(2)).not.toEqual(await devOf(1));
  });

  it('lists what is wrong, by the number of the row, and writes nothing', async () => {
    const problems = await problemsOf({
      rows: [PARIS, { question: '', context: ' ' }],
      devRows: [{ question: '\uD83D', context: 'x' }],
      passages: ['fine', ''],
    });
    expect(problems).toEqual([
      'passages line 2: found an empty text; expected a text that is not blank',
      'rows line 2, column question: found an empty text; expected a text that is not blank',
      'rows line 2, column context: found an empty text; expected a text that is not blank',
      'devRows line 1, column question: found half a surrogate pair; expected whole characters',
    ]);
  });

  it.each([
    ['no rows', { rows: [] }, 'rows: found no rows'],
    ['one passage only', { rows: [PARIS], devRows: [PARIS] }, 'rows: found 1 passage'],
    [
      'one question only',
      { rows: [PARIS, { ...ROME, question: 'where is paris?' }], devRows: undefined },
      'rows: found too few questions',
    ],
    ['a name with a slash', { name: 'a/b' }, 'name: give 1 to 100'],
    ['a dev fraction of 1', { devFraction: 1 }, 'devFraction: give a number'],
    ['half a seed', { seed: 0.5 }, 'seed: give a whole number'],
  ])('refuses %s', async (_, options, start) => {
    const [problem, ...others] = await problemsOf(options);
    expect(problem).toContain(start);
    expect(others).toEqual([]);
  });
});
