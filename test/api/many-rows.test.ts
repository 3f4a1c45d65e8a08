import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareDataset } from '../../src/api/training/prepare-dataset.js';
import { datasetOfFold, readColumn, readTable, readTypedTable } from '../../src/api/training/read-apart.js';
import { trainSettings } from '../../src/api/training/train-options.js';
import { describeError, toOrchardError } from '../../src/contract/errors.js';
import { readRows, rowPlace } from '../../src/datasets/index.js';
import { createClassificationArchive, readDataset } from '../../src/families/index.js';
import { checkData, crossValidate, loadModel, type TrainingRow, train, tune } from '../../src/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What a thread reads of many rows, compared with what this thread reads of the same: `isolation: 'inline'` has no thread. */

const rows = Array.from({ length: 900 }, (_, row) => ({ text: `row ${row}, "quoted"`, label: `l${row % 3}` }));
const tagged = rows.map(({ text }) => ({ tokens: text.split(' '), tags: ['O', 'B-NUMBER', 'I-NUMBER'] }));
const questions = rows.map(({ text, label }) => ({ question: text, passage: label }));

function fileOf(name: string, content: string): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  return path;
}

const json = (given: readonly object[]) => fileOf('rows.jsonl', given.map((row) => JSON.stringify(row)).join('\n'));

/** The dataset that is trained on, whichever way it comes. */
async function prepared(options: object, isolation: 'worker' | 'inline') {
  const work = temporaryDirectory();
  const { dataset, rows: given, ...facts } = await prepareDataset(trainSettings({ ...options, isolation }), work);
  const isFile = 'file' in dataset;
  const made = isFile ? await readDataset(dataset.file) : 'rows' in dataset ? dataset.rows : dataset;
  return { isFile, same: { dataset: made, rows: given && [...given], ...facts } };
}

describe('a dataset of many rows', () => {
  it.each<[string, () => object]>([
    ['texts in memory', () => ({ rows })],
    [
      'texts as they come',
      () => ({
        rows: (async function* () {
          yield* rows;
        })(),
      }),
    ],
    ['texts of a file, with some for dev', () => ({ path: json(rows), dev: rows.slice(0, 50) })],
    ['sentences', () => ({ rows: tagged, devFraction: 0.2 })],
    ['words of a file', () => ({ path: json(tagged), seed: 7 })],
    ['questions and further passages', () => ({ rows: questions, passages: new Set(['one more']) })],
    ['rows of which some are left out', () => ({ rows: [...rows, { text: 'no label' }], skipInvalid: true })],
  ])('of %s is written to a file by a thread, and is the same as without one', async (_, options) => {
    const [there, here] = [await prepared(options(), 'worker'), await prepared(options(), 'inline')];
    expect([there.isFile, here.isFile]).toEqual([true, false]);
    expect(there.same).toEqual(here.same);
  });

  it('of few rows needs no thread', async () => {
    expect((await prepared({ rows: rows.slice(0, 60) }, 'worker')).isFile).toBe(false);
    expect((await prepared({ path: json(rows.slice(0, 60)) }, 'worker')).isFile).toBe(false);
  });

  it('is read from an archive in a thread, to find its type', async () => {
    const path = join(temporaryDirectory(), 'rows.zip');
    const many = Array.from({ length: 9000 }, (_, row) => ({
      text: `row ${(row * 7919) % 104729}`,
      label: `l${row % 3}`,
    }));
    await resultOf(
      createClassificationArchive({ type: 'multiclass-text-classification', name: 'rows', rows: many }, path),
    );
    const [there, here] = [await prepared({ path }, 'worker'), await prepared({ path }, 'inline')];
    expect(there.same).toMatchObject({ type: { type: 'multiclass-text-classification', typeIs: 'inferred' } });
    expect({ ...there.same, dataset: {} }).toEqual({ ...here.same, dataset: {} });
  });

  it('fails with the same error, whatever is wrong', async () => {
    const wrong = [
      { rows: [...rows, { text: 'one', label: 7n }] },
      { rows: [...rows, { text: 'one', labels: ['l0'] }] },
      { rows: rows.map(({ text, ...rest }, at) => ({ sentence: text, at, ...rest })) },
      { rows: rows.map((row) => ({ ...row, label: 'l0' })) },
      { path: json([...rows, { text: 3, label: 'l0' }, { text: ' ', label: 'l1' }]) },
      { rows: tagged.map(({ tokens }) => ({ tokens, tags: ['O'] })) },
      { rows, type: 'named-entity-recognition' },
    ];
    for (const options of wrong) {
      const errorWith = (isolation: 'worker' | 'inline') =>
        prepared(options, isolation).then(
          () => expect.fail('no error'),
          (thrown: unknown) => describeError(toOrchardError(thrown, 'x')),
        );
      const [there, here] = [await errorWith('worker'), await errorWith('inline')];
      expect({ ...there, stack: '' }).toEqual({ ...here, stack: '' });
    }
  });

  it('stops being read when the signal fires', async () => {
    const stop = new AbortController();
    process.once('worker', () => process.once('worker', () => stop.abort())); // the first is the training's
    expect(await errorOf(train({ path: json(rows), signal: stop.signal }))).toMatchObject({
      code: 'aborted',
      message: 'the training was aborted',
    });
  });
});

describe('a table of many rows', () => {
  it.each([
    ['rows in memory', () => rows],
    ['a file of texts', () => json(rows)],
    [
      'a file of words',
      () =>
        fileOf(
          'w.conll',
          `${tagged.map(({ tokens, tags }) => tokens.map((word, at) => `${word} ${tags[at]}`).join('\n')).join('\n\n')}\n`,
        ),
    ],
  ])('comes from a thread as this thread reads it: %s', async (_, source) => {
    const given = source();
    const options = { option: 'rows', reading: {}, isStrict: true };
    expect(await readTable({ rows: given, ...options })).toEqual(await readRows(given, options));
  });

  it('has the places of rows that are left, in memory too', async () => {
    const given = [{ text: ' ', label: 'l0' }, ...rows];
    const options = { option: 'rows', reading: { skipInvalid: true } };
    const read = await readTable({ rows: given, ...options });
    expect(read).toEqual(await readRows(given, options));
    expect([0, 899].map((row) => rowPlace(read, row))).toEqual([{ row: 1 }, { row: 900 }]);
  });

  it('has its type, and what all of its rows as one dataset are warned of', async () => {
    const twice = [...rows, ...rows.slice(0, 5)];
    const read = await readTypedTable({
      rows: twice,
      reading: {},
      labels: undefined,
      passages: undefined,
      type: undefined,
    });
    expect(read.type.type).toBe('multiclass-text-classification');
    expect(read.table.checked.rows).toEqual(twice);
    expect(read.leftOut).toMatchObject([{ kind: 'duplicate_row', count: 5 }]);
  });

  it('has its columns one by one', async () => {
    const read = (count: number) => readColumn({ rows: json(rows.slice(0, count)), column: 'label', reading: {} });
    const cells = rows.map(({ label: value }, at) => ({ line: at + 1, value }));
    expect(await read(900)).toEqual(cells);
    expect(await read(30)).toEqual(cells.slice(0, 30));
  });

  it('is the same dataset as a fold, from a thread or not', async () => {
    const { table, type } = await readTypedTable({
      rows,
      reading: {},
      labels: undefined,
      passages: undefined,
      type: undefined,
    });
    const fold = { checked: table.checked, origin: 'rows', type, devFraction: 0.1, seed: 3 };
    const made = await datasetOfFold(fold, temporaryDirectory());
    const few = { ...fold, checked: { shape: 'label', rows: rows.slice(0, 90) } } as const;
    expect('rows' in (await datasetOfFold(few, temporaryDirectory()))).toBe(true);
    const settings = { rows, devFraction: 0.1, seed: 3 };
    expect('file' in made && (await readDataset(made.file))).toEqual((await prepared(settings, 'inline')).same.dataset);
  });

  it('is checked for mistakes without its rows being lost', async () => {
    const found = await resultOf(checkData({ rows: [...rows, ...rows.slice(0, 2)], maxJudged: 100 }));
    expect(found.duplicates.map(({ rows: places }) => places)).toEqual([
      [{ row: 0 }, { row: 900 }],
      [{ row: 1 }, { row: 901 }],
    ]);
  });
});

describe('rows that are long in coming', () => {
  /** Some rows; then, the signal fires while the next one is waited for. */
  function stalled(count = 1) {
    const stop = new AbortController();
    async function* source(): AsyncGenerator<TrainingRow> {
      yield* rows.slice(0, count);
      setImmediate(() => stop.abort());
      await new Promise(() => {});
    }
    return { rows: source(), signal: stop.signal };
  }

  const message = 'reading rows was aborted';

  it('end with the signal, whatever they are read for', async () => {
    const aborted = { code: 'aborted', message: 'the training was aborted' };
    expect(await errorOf(train(stalled()))).toMatchObject(aborted);
    expect(await errorOf(train({ ...stalled(), isolation: 'inline' }))).toMatchObject(aborted);
    expect(await errorOf(tune({ ...stalled(), trials: 2 }))).toMatchObject({ code: 'aborted' });
    expect(await errorOf(checkData(stalled()))).toMatchObject({ code: 'aborted', message });
    expect(await errorOf(crossValidate(stalled()))).toMatchObject({ code: 'aborted', message });
  });

  it('end with the signal after many rows, with a thread and without one', async () => {
    for (const isolation of ['worker', 'inline'] as const) {
      const error = await errorOf(train({ ...stalled(700), isolation }));
      expect(error).toMatchObject({ code: 'aborted', message: 'the training was aborted' });
    }
  });

  it('end with the signal of an evaluation', async () => {
    await using model = await resultOf(loadModel('sentiment-classification'));
    const { rows: source, signal } = stalled();
    expect(await errorOf(model.evaluate(source, { signal }))).toMatchObject({ code: 'aborted', message });
  });
});

describe('a source of many rows', () => {
  function closing() {
    const state = { isClosed: false };
    function* source() {
      try {
        yield* rows;
      } finally {
        state.isClosed = true;
      }
    }
    return { source: source(), state };
  }

  it.each<[string, object]>([
    [
      'the rows for dev can not be read',
      { dev: { [Symbol.iterator]: () => ({ next: () => expect.fail('no rows for dev') }) } },
    ],
    ['an option is refused', { delimiter: ';', isolation: 'inline' }],
  ])('is closed when %s', async (_, options) => {
    const { source, state } = closing();
    await expect(prepareDataset(trainSettings({ rows: source, ...options }), temporaryDirectory())).rejects.toThrow();
    expect(state.isClosed).toBe(true);
  });
});
