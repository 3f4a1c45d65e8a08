import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CrossValidation, crossValidate, type FoldSummary, type LabelAnswer } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';

/** Cross-validation, from rows to figures and doubtful labels. */

/** One row of each label is labelled wrongly. */
const WRONG = [3, 15];
const noisy = rows.map((row, at) =>
  WRONG.includes(at) ? { ...row, label: row.label === 'positive' ? 'negative' : 'positive' } : row,
);

let folder: string;
let base: string;
let validation: CrossValidation<LabelAnswer>;
const told: FoldSummary[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-folds-'));
  base = writeCheckpoint(join(folder, 'base'));
  const onFold = (fold: FoldSummary) => told.push(fold);
  const quick = { base, epochs: 1, threads: 1, tuning: { quantize: false } };
  const validated = await crossValidate({ rows: noisy, ...quick, folds: 3, resamples: 100, onFold });
  if (validated.isErr()) throw validated.error;
  validation = validated.value;
});
afterAll(() => rm(folder, { recursive: true }));

const failure = async (options: Parameters<typeof crossValidate>[0]) => {
  const validated = await crossValidate(options);
  if (validated.isOk()) throw new Error('it was validated');
  return validated.error;
};

describe('a cross-validation', () => {
  it('answers each row once, by a model that has not seen it', () => {
    const { answers, folds } = validation;
    expect(answers.map(({ row }) => row)).toEqual([...noisy.keys()]);
    expect(folds.map(({ repeat, fold }) => [repeat, fold])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
    ]);
    for (const { fold, train, test } of folds) {
      expect(train + test).toBe(noisy.length);
      expect(answers.filter((each) => each.fold === fold)).toHaveLength(test);
      const labels = answers.filter((each) => each.fold === fold).map(({ row }) => noisy[row]?.label);
      const positive = labels.filter((label) => label === 'positive').length;
      expect(Math.abs(positive - noisy.length / 6)).toBeLessThan(1.5);
    }
    expect(told).toEqual(folds);
  });

  it('judges all rows together, and fold by fold', () => {
    const [evaluation] = validation.evaluations;
    if (evaluation?.kind !== 'labels') throw new Error('it has labels');
    const isRight = validation.answers.map(({ row, answer }) => answer.label === noisy[row]?.label);
    const share = (some: readonly boolean[]) => some.filter(Boolean).length / some.length;
    expect(evaluation.rows).toBe(noisy.length);
    expect(evaluation.accuracy).toBeCloseTo(share(isRight), 12);
    const each = [0, 1, 2].map((fold) => share(isRight.filter((_, at) => validation.answers[at]?.fold === fold)));
    const accuracy = validation.figures.find(({ name }) => name === 'accuracy');
    expect(validation.folds.map(({ figures }) => figures.accuracy)).toEqual(each);
    expect(accuracy?.mean).toBeCloseTo((Math.max(...each) + Math.min(...each) + (each.sort()[1] ?? 0)) / 3, 12);
  });

  it('finds the labels that are wrong', () => {
    const found = validation.doubtful.map(({ row }) => row);
    expect(found.slice(0, 2).sort((a, b) => a - b)).toEqual(WRONG);
    expect(validation.doubtful[0]?.suggested).not.toEqual(validation.doubtful[0]?.given);
  });
});

describe('a cross-validation of other kinds of rows', () => {
  it('answers sentences with their entities, and questions by all passages', async () => {
    const quick = { base, folds: 2, epochs: 1, threads: 1, resamples: 100 };
    const towns = ['Rome', 'Oslo', 'Bern', 'Lima', 'Cork', 'Bonn'];
    const sentences = towns.flatMap((town) => [
      { tokens: ['the', 'room', 'in', town], tags: ['O', 'O', 'O', 'B-TOWN'] },
      {
        tokens: ['the', 'lamp', 'is', 'great', town.length > 4 ? 'x' : town.toLowerCase()],
        tags: Array(5).fill('O'),
      },
    ]);
    const tagged = (await crossValidate({ rows: sentences, ...quick }))._unsafeUnwrap();
    expect(tagged.evaluations).toMatchObject([{ kind: 'entities', rows: sentences.length }]);
    expect(tagged.answers.map(({ row }) => row)).toEqual([...sentences.keys()]);
    const questions = towns.map((town) => ({ question: `where is ${town}?`, passage: `${town} is here` }));
    const asked = (await crossValidate({ rows: questions, ...quick }))._unsafeUnwrap();
    expect(asked.evaluations).toMatchObject([{ kind: 'passages', rows: questions.length }]);
    // A passage can be found by the model that never saw its question.
    for (const { answer } of asked.answers) expect(answer.passages).toHaveLength(questions.length);
  });
});

describe('rows that cannot be divided', () => {
  it('are refused before any training', async () => {
    expect((await failure({ rows: rows.slice(3, 7), folds: 5 })).message).toMatch(/too few for 5 folds/);
    const lonely = [
      { text: 'a', label: 'x' },
      { text: 'b', label: 'x' },
      { text: 'c', label: 'y' },
    ];
    expect((await failure({ rows: lonely, folds: 2 })).message).toMatch(/fewer than two labels/);
    expect((await failure({ rows, groups: ['a'] })).message).toMatch(
      /found 1 group for 80 rows; give one group for each row/,
    );
    expect((await failure({ rows, groupColumn: 'author' })).message).toMatch(/with `groups`/);
    expect((await failure({ path: 'rows.csv', groups: ['a'] })).message).toMatch(/groupColumn/);
  });

  it('are told with their lines, and so is a column that is not there', async () => {
    const path = join(folder, 'rows.csv');
    await writeFile(path, `text,label,author\n${noisy.map(({ text, label }) => `${text},${label},ann`).join('\n')}\n`);
    expect((await failure({ path, groupColumn: 'writer' })).message).toMatch(/no column "writer".*"author"/);
    expect((await failure({ path, groupColumn: 'author' })).message).toMatch(/1 distinct text or group,/);
    // One group per row, but for rows that are left out.
    const lines = noisy.map(({ text, label }, at) => `${text},${label},${at === 40 ? 'bob' : 'ann'}`);
    const leftOut = [' ,good,cyd', 'a text, ,cyd'];
    await writeFile(
      path,
      `${['text,label,author', leftOut[0], ...lines.slice(0, 40), leftOut[1], ...lines.slice(40)].join('\n')}\n`,
    );
    const skipping = { path, groupColumn: 'author', skipInvalid: true };
    expect((await failure(skipping)).message).toMatch(/2 distinct texts or groups/);
    await writeFile(path, 'text,label\ngood,a\n,b\nbad,b\nworse,b\nbetter,a\n');
    expect((await failure({ path, folds: 2 })).message).toMatch(/rows\.csv line 3/);
  });
});
