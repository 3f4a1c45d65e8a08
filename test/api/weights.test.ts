import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkData,
  createClassificationArchive,
  crossValidate,
  type ScoredLabel,
  type TrainOptions,
  train,
} from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTypedRows } from '../../src/api/training/prepare-dataset.js';
import { classificationRows } from '../../src/families/classification/rows.js';
import type { ClassificationType } from '../../src/families/index.js';
import { errorOf, failureOf, resultOf } from '../support/outcomes.js';

/** Rows that count several times, and rows that say how probable each label is. */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-weights-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, ...lines: string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

const praise = ['a lovely film', 'great fun', 'I enjoyed it', 'what a treat', 'wonderful acting', 'superb'];
const blame = ['a dull film', 'no fun', 'I was bored', 'what a mess', 'terrible acting', 'awful'];
const rows = [...praise.map((text) => ({ text, label: 'good' })), ...blame.map((text) => ({ text, label: 'bad' }))];
const asked = ['a film', 'a treat', 'the acting'];

/** What a quickly trained model says of some texts. */
async function scores(options: TrainOptions): Promise<readonly (readonly ScoredLabel[])[]> {
  await using model = await resultOf(train({ effort: 'quick', threads: 1, ...options }));
  const answers = await resultOf(model.predict(asked));
  return answers.map((answer) => (answer.kind === 'labels' ? answer.scores : []));
}

const scoreOf = (of: readonly ScoredLabel[] = [], label: string) => of.find((each) => each.label === label)?.score ?? 0;

/** The rows of a source as a family trains on them. */
async function datasetOf(source: Parameters<typeof readTypedRows>[0], type?: ClassificationType, columns = {}) {
  const reading = Object.keys(columns).length > 0 ? { columns } : {};
  const common = { labels: undefined, passages: undefined, effort: undefined, signal: undefined };
  const read = await readTypedRows(source, { ...common, type, reading });
  const { dataset } = await classificationRows.check({ train: read.table, dev: read.table }, read.type.type);
  return { ...dataset, type: read.type.type, readAs: read.table.readAs };
}

describe('a weight', () => {
  it('moves the model toward the row', async () => {
    const even = await scores({ rows });
    const heavy = await scores({ rows: rows.map((row) => ({ ...row, weight: row.text === 'a dull film' ? 20 : 1 })) });
    expect(scoreOf(heavy[0], 'bad')).toBeGreaterThan(scoreOf(even[0], 'bad') + 0.02);
  });

  it('of 1 changes nothing', async () => {
    const weighted = await scores({ rows: rows.map((row) => ({ ...row, weight: 1 })) });
    for (const [at, each] of (await scores({ rows })).entries()) {
      expect(scoreOf(weighted[at], 'good')).toBeCloseTo(scoreOf(each, 'good'), 4);
    }
  });

  it('is not counted by figures', async () => {
    await using model = await resultOf(train({ rows, effort: 'quick', threads: 1 }));
    const plain = await resultOf(model.evaluate(rows));
    const weighted = await resultOf(model.evaluate(rows.map((row, at) => ({ ...row, weight: 1 + at }))));
    expect(weighted).toEqual(plain);
  });

  it.each([
    [0, 'give a number above 0; to ignore the row, remove it'],
    [-1, 'give a number above 0'],
    [Number.POSITIVE_INFINITY, 'give a number above 0'],
    [Number.NaN, 'give a number above 0'],
  ])('of %d is refused', async (weight, message) => {
    const error = await errorOf(train({ rows: rows.map((row, at) => (at === 3 ? { ...row, weight } : row)) }));
    expect(error.message).toContain(`rows.3.weight: ${message}`);
  });

  it('is a column of a table, recognized by its name or told', async () => {
    const table = ['text,w,label', 'a,2,x', 'b,0.5,y'];
    const told = await datasetOf(await file('told.csv', ...table), undefined, { weight: 'w' });
    expect(told.train.map(({ weight }) => weight)).toEqual([2, 0.5]);
    expect(told.readAs).toContain('weights in "w"');
    const found = await datasetOf(await file('found.csv', 'text,weight,label', 'a,2,x', 'b,0.5,y'));
    expect(found.train.map(({ weight }) => weight)).toEqual([2, 0.5]);
    const json = await datasetOf(
      await file('w.jsonl', '{"text":"a","label":"x","weight":3}', '{"text":"b","label":"y"}'),
    );
    expect(json.train.map(({ weight }) => weight)).toEqual([3, undefined]);
    const wrong = await file('wrong.csv', 'text,weight,label', 'a,2,x', 'b,,y');
    const error = await failureOf('dataset', () => datasetOf(wrong));
    expect(error.message).toContain('wrong.csv line 3, column weight: found ""; expected a number above 0');
  });
});

describe('a second text', () => {
  it('is a column of a table, recognized by its name or told', async () => {
    const path = await file('pairs.tsv', 'q1\tq2\tlabel', 'a\tb\tx', 'c\td\ty');
    const told = await datasetOf(path, undefined, { text: 'q1', text2: 'q2' });
    expect(told).toMatchObject({
      arePairs: true,
      train: [
        { text: 'a', text2: 'b' },
        { text: 'c', text2: 'd' },
      ],
    });
    expect(told.readAs).toContain('second texts in "q2"');
    const found = await datasetOf(await file('found.csv', 'text,text2,label', 'a,b,x', 'c,d,y'));
    expect(found.train).toMatchObject([{ text2: 'b' }, { text2: 'd' }]);
    const lacking = await failureOf('dataset', () => datasetOf(path, undefined, { text: 'q1', text2: 'q3' }));
    expect(lacking.message).toContain('the column "q3"');
  });
});

describe('probabilities of labels', () => {
  const certain = rows.map(({ text, label }) => ({
    text,
    labels: { good: label === 'good' ? 1 : 0, bad: label === 'bad' ? 1 : 0 },
  }));

  it('that are 0 and 1 train the same model as the labels', async () => {
    expect(await scores({ rows: certain })).toEqual(await scores({ rows }));
  });

  it('make the model as unsure as they are', async () => {
    const unsure = rows.map(({ text, label }) => ({
      text,
      labels: label === 'good' ? { good: 0.6, bad: 0.4 } : { good: 0.4, bad: 0.6 },
    }));
    const [sure, soft] = [await scores({ rows }), await scores({ rows: unsure })];
    expect(scoreOf(soft[1], 'good')).toBeLessThan(scoreOf(sure[1], 'good'));
    expect(scoreOf(soft[1], 'good')).toBeLessThan(0.7);
  });

  it('are brought to a sum of 1; figures count the most probable label', async () => {
    const { train: read, type } = await datasetOf([
      { text: 'a', labels: { x: 0.333, y: 0.3335, z: 0.333 } },
      { text: 'b', labels: { x: 1 } },
      { text: 'c', labels: { z: 0.75, x: 0.25 } },
    ]);
    expect(type).toBe('multiclass-text-classification');
    expect(read.map(({ labelIds }) => labelIds)).toEqual([[1], [0], [2]]);
    expect(read[0]?.shares?.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(read[1]?.shares).toBeUndefined();
    expect(read[2]?.shares).toEqual([0.25, 0, 0.75]);
  });

  it('may each be anything in a multilabel model, if type says that it is one', async () => {
    const multilabel = [
      { text: 'a', labels: { x: 0.9, y: 0.8 } },
      { text: 'b', labels: { x: 0.2, y: 0.1 } },
      { text: 'c', labels: { x: 0.2, y: 0.7 } },
    ];
    const { train: read } = await datasetOf(multilabel, 'multilabel-text-classification');
    expect(read.map(({ labelIds }) => labelIds)).toEqual([[0, 1], [], [1]]);
    expect(read[0]?.shares).toEqual([0.9, 0.8]);
    const ambiguous = await errorOf(train({ rows: multilabel }));
    expect(ambiguous.message).toContain("add up to 1.7; pass `type: 'multilabel-text-classification'` if the labels");
    const wrong = await errorOf(train({ rows: multilabel, type: 'binary-text-classification' }));
    expect(wrong.message).toContain('found probabilities that add up to 1.7');
  });

  it.each([
    [{ good: 1.2, bad: -0.2 }, 'rows.0.labels.good: give a probability from 0 to 1'],
    [{}, 'rows.0.labels: give at least one label'],
    [['good'], 'rows.0.labels: give an object with the probability of each label'],
  ])('refuse %j', async (labels, message) => {
    const given = [{ text: 'a', labels }, ...certain];
    const mixed = Array.isArray(labels) ? [...certain.slice(0, 1), { text: 'a', labels }] : given;
    const error = await errorOf(train(JSON.parse(JSON.stringify({ rows: mixed }))));
    expect(error.message).toContain(Array.isArray(labels) ? message.replace('rows.0', 'rows.1') : message);
  });

  it('are read of JSON, and of cells of JSON', async () => {
    const json = await file('soft.jsonl', '{"text":"a","labels":{"x":0.3,"y":0.7}}', '{"text":"b","labels":{"x":1}}');
    const cells = await file('soft.csv', 'text,labels', 'a,"{""x"":0.3,""y"":0.7}"', 'b,"{""x"":1}"');
    for (const path of [json, cells]) {
      const { train: read } = await datasetOf(path);
      expect(read).toMatchObject([{ labelIds: [1], shares: [0.3, 0.7] }, { labelIds: [0] }]);
    }
  });

  it('are compared with the most probable label by evaluate and crossValidate, which doubt none of them', async () => {
    const soft = rows.map(({ text, label }) => ({
      text,
      labels: label === 'good' ? { good: 0.9, bad: 0.1 } : { good: 0.2, bad: 0.8 },
    }));
    await using model = await resultOf(train({ rows: soft, effort: 'quick', threads: 1 }));
    expect(await resultOf(model.evaluate(soft))).toEqual(await resultOf(model.evaluate(rows)));
    const validated = await resultOf(
      crossValidate({ rows: soft, folds: 2, effort: 'quick', threads: 1, resamples: 100 }),
    );
    expect(validated).toMatchObject({ type: 'binary-text-classification', doubtful: [] });
    const check = await resultOf(checkData({ rows: soft, threads: 1 }));
    expect(check.labelErrors).toBeUndefined();
    expect(check.labels).toEqual([
      { label: 'good', rows: 6 },
      { label: 'bad', rows: 6 },
    ]);
  });
});

describe('rows of other models, and archives', () => {
  const entities = [{ text: 'Ada', entities: [{ start: 0, end: 3, type: 'PER' }] }];
  it.each([
    ['text2', entities.map((row) => ({ ...row, text2: 'b' }))],
    ['weight', entities.map((row) => ({ ...row, weight: 2 }))],
    ['text2', [{ tokens: ['Ada'], tags: ['B-PER'], text2: 'b' }]],
    ['weight', [{ question: 'a', passage: 'b', weight: 2 }]],
    ['text2', [{ question: 'a', passages: ['b'], text2: 'c' }]],
  ])('refuse a %s by name', async (field, given) => {
    const error = await errorOf(train(JSON.parse(JSON.stringify({ rows: given }))));
    expect(error.message).toContain(`rows.0.${field}: only rows of classifiers have a ${field}`);
  });

  it('refuse it as a column that is asked for', async () => {
    const path = await file('qa.csv', 'question,passage,w', 'a,b,2');
    const error = await errorOf(train({ path, columns: { weight: 'w' } }));
    expect(error.message).toContain('rows of a classifier, since only those have a weight');
  });

  it.each([
    [
      'text2',
      [
        { text: 'a', text2: 'b', label: 'x' },
        { text: 'c', text2: 'd', label: 'y' },
      ],
    ],
    [
      'weight',
      [
        { text: 'a', weight: 2, label: 'x' },
        { text: 'c', label: 'y' },
      ],
    ],
    [
      'probability for each label',
      [
        { text: 'a', labels: { x: 0.4, y: 0.6 } },
        { text: 'c', labels: { x: 1 } },
      ],
    ],
  ])('have no place for a %s in an archive', async (field, given) => {
    const options = { type: 'binary-text-classification', name: 'rows', rows: given } as const;
    const error = await errorOf(
      createClassificationArchive(JSON.parse(JSON.stringify(options)), join(folder, 'a.zip')),
    );
    expect(error.message).toContain(`rows have a ${field}, but an archive has no place for it`);
    const path = await file('rows.jsonl', ...given.map((row) => JSON.stringify(row)));
    const ofFile = createClassificationArchive(
      { ...options, rows: { path }, devRows: { path } },
      join(folder, 'b.zip'),
    );
    expect((await errorOf(ofFile)).message).toContain('since an archive has no place for more');
  });
});
