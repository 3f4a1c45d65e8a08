import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import { unzip } from '../../../src/datasets/index.js';
import type { ClassificationType } from '../../../src/families/classification/classification-dataset.js';
import { classificationRows } from '../../../src/families/classification/rows.js';
import {
  type ClassificationArchiveOptions,
  createClassificationArchive,
  type SourceRow,
} from '../../../src/families/index.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const TYPE = 'binary-text-classification';

const ROWS: readonly SourceRow[] = [
  { text: 'good', label: 'yes' },
  { text: 'great', label: 'yes' },
  { text: 'bad', label: 'no' },
  { text: 'awful', label: 'no' },
];

async function create(options: Partial<ClassificationArchiveOptions>) {
  const path = join(temporaryDirectory(), 'out', 'reviews.zip');
  const result = await createClassificationArchive({ type: TYPE, name: 'reviews', rows: ROWS, ...options }, path);
  return { path, result };
}

async function problemsOf(options: Partial<ClassificationArchiveOptions>) {
  const { path, result } = await create(options);
  const error = result._unsafeUnwrapErr();
  expect(existsSync(path)).toBe(false);
  return error.code === 'dataset' ? error.problems.map(describeDatasetProblem) : [error.message];
}

/** Unzips an archive and reads it as training does. */
async function readBack(path: string, type: ClassificationType = TYPE) {
  const directory = temporaryDirectory();
  await unzip(path, directory);
  return classificationRows.read(directory, type);
}

function fileWith(name: string, contents: string): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, contents);
  return path;
}

describe('createClassificationArchive', () => {
  it('writes the files of the format in a folder', async () => {
    const { path, result } = await create({ description: 'Film reviews' });
    expect(result._unsafeUnwrap()).toEqual({
      path,
      labels: ['no', 'yes'],
      train: 2,
      dev: 2,
      removedDuplicates: 0,
      respacedTexts: 0,
      warnings: [],
    });
    const directory = temporaryDirectory();
    await unzip(path, directory);
    const written = (name: string) => readFileSync(join(directory, 'reviews', name), 'utf8');
    expect(readdirSync(join(directory, 'reviews')).sort()).toEqual([
      'config.json',
      'dev.tsv',
      'label_id.json',
      'train.tsv',
    ]);
    expect(JSON.parse(written('label_id.json'))).toEqual({ 0: 'no', 1: 'yes' });
    expect(JSON.parse(written('config.json'))).toEqual({
      desc: 'Film reviews',
      DATASET_NAME: 'reviews',
      DATA_DIR: 'reviews',
      TRAIN_FILE: 'train.tsv',
      DEV_FILE: 'dev.tsv',
      field_names: ['sentence', 'label'],
      field_header: 0,
      NUM_CLASS_LABELS: 1,
    });
    expect(written('train.tsv')).toMatch(/^sentence\tlabel\n(good|great)\t1\n(bad|awful)\t0\n$/);
  });

  it('gives the same bytes for the same rows and seed', async () => {
    const [one, two] = await Promise.all([create({ seed: 3 }), create({ seed: 3 })]);
    expect(readFileSync(one.path).equals(readFileSync(two.path))).toBe(true);
  });

  it('leaves no other file beside the archive', async () => {
    const { path } = await create({});
    expect(readdirSync(join(path, '..'))).toEqual(['reviews.zip']);
  });

  it('keeps the order of the labels it is given', async () => {
    const { result } = await create({ labels: ['yes', 'no'] });
    expect(result._unsafeUnwrap().labels).toEqual(['yes', 'no']);
  });

  it('sorts labels that are numbers as numbers', async () => {
    const rows = ['10', '9', '100'].flatMap((label) => [
      { text: `${label} a`, label },
      { text: `${label} b`, label },
    ]);
    const { result } = await create({ type: 'multiclass-text-classification', rows });
    expect(result._unsafeUnwrap().labels).toEqual(['9', '10', '100']);
  });

  it('removes repeated rows and says how many', async () => {
    const { path, result } = await create({
      rows: [...ROWS, ...ROWS, { text: 'Good', label: 'yes' }],
      devRows: ROWS.slice(0, 2),
    });
    expect(result._unsafeUnwrap()).toMatchObject({ train: 5, dev: 2, removedDuplicates: 4 });
    expect((await readBack(path)).train).toHaveLength(5);
  });

  it('replaces tabs and line breaks by spaces, and counts the texts', async () => {
    const rows = [
      { text: 'so\tvery\r\ngood\n', label: 'yes' },
      { text: 'bad', label: 'no' },
    ];
    const { path, result } = await create({ rows, devRows: ROWS });
    expect(result._unsafeUnwrap().respacedTexts).toBe(1);
    expect((await readBack(path)).train.map(({ text }) => text)).toEqual(['so very good ', 'bad']);
  });

  it('warns as training does, naming lines of the source', async () => {
    const rows = [...ROWS, { text: 'GOOD', label: 'no' }];
    const { result } = await create({ rows, devRows: [{ text: 'fine', label: 'yes' }] });
    expect(result._unsafeUnwrap().warnings).toMatchObject([
      { kind: 'conflicting_labels', examples: [{ file: 'rows', line: 5 }] },
      { kind: 'class_without_examples', message: 'no row of dev has the label "no"' },
    ]);
  });

  it('reads back the rows it was given, whatever their texts and labels', async () => {
    const text = fc
      .string({
        unit: fc.constantFrom('a', 'B', '"', "'", ',', '\\', ' ', 'é', '漢', '😀', '\u2028', '\uFEFF', '\0'),
        minLength: 1,
      })
      .filter((each) => each.trim() !== '');
    const row = fc.record({ text, labels: fc.uniqueArray(fc.constantFrom('x', 'y, z', '"q"', 'é\t')) });
    const labels = ['é\t', 'x', '"q"', 'y, z'];
    const type = 'multilabel-text-classification';
    const asIds = (rows: readonly { text: string; labels: readonly string[] }[]) =>
      rows.map((each, at) => ({
        line: at + 2,
        text: each.text,
        labelIds: each.labels.map((name) => labels.indexOf(name)).sort(),
      }));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(row, { minLength: 1, selector: (each) => each.text }), async (others) => {
        const rows = [{ text: 'first', labels: ['x'] }, ...others];
        const { path } = await create({ type, labels, rows, devRows: rows });
        const dataset = await readBack(path, type);
        expect(dataset.labels).toEqual(labels);
        expect(dataset.train).toEqual(asIds(rows));
        expect(dataset.dev).toEqual(asIds(rows));
      }),
      { numRuns: 50 },
    );
  });
});

describe('setting rows aside for dev', () => {
  const many = Array.from({ length: 200 }, (_, index) => ({
    text: `text ${index}`,
    label: index % 10 === 0 ? 'rare' : 'common',
  }));

  it('takes a tenth of each label and loses no row', async () => {
    const { path, result } = await create({ rows: many });
    expect(result._unsafeUnwrap()).toMatchObject({ train: 180, dev: 20, labels: ['common', 'rare'] });
    const { train, dev } = await readBack(path);
    expect(dev.filter(({ labelIds }) => labelIds[0] === 1)).toHaveLength(2);
    expect([...train, ...dev].map(({ text }) => text).sort()).toEqual(many.map(({ text }) => text).sort());
  });

  it('takes another share if asked to', async () => {
    const { result } = await create({ rows: many, devFraction: 0.25 });
    expect(result._unsafeUnwrap()).toMatchObject({ train: 150, dev: 50 });
  });

  it('takes other rows for another seed, the same rows for the same seed', async () => {
    const devTexts = async (seed: number) =>
      (await readBack((await create({ rows: many, seed })).path)).dev.map(({ text }) => text);
    expect(await devTexts(1)).toEqual(await devTexts(1));
    expect(await devTexts(1)).not.toEqual(await devTexts(2));
  });

  it('keeps together texts that differ only in case and spacing, so that dev has none that train has', async () => {
    const twins = many.flatMap(({ text, label }) => [
      { text, label },
      { text: ` ${text.toUpperCase()}`, label },
    ]);
    const { result } = await create({ rows: twins });
    expect(result._unsafeUnwrap().warnings.map(({ kind }) => kind)).toEqual(['duplicate_row']);
    expect(result._unsafeUnwrap().dev).toBe(40);
  });

  it('leaves a lone text of a label to train', async () => {
    const { path } = await create({
      rows: [...many, { text: 'one', label: 'lone' }],
      type: 'multiclass-text-classification',
    });
    const { labels, dev } = await readBack(path, 'multiclass-text-classification');
    const lone = labels.indexOf('lone');
    expect(dev.some(({ labelIds }) => labelIds.includes(lone))).toBe(false);
  });

  it('needs two texts of one label', async () => {
    expect(
      await problemsOf({
        rows: [
          { text: 'a', label: 'x' },
          { text: 'b', label: 'y' },
        ],
      }),
    ).toEqual([
      'rows: found too few texts to set any aside for dev; expected at least two texts of one label, or rows for dev',
    ]);
  });
});

describe('files as sources', () => {
  it('reads CSV with quotes, commas and line breaks in cells', async () => {
    const path = fileWith('in.csv', 'id,review,stars\r\n1,"so, ""very""\r\ngood",yes\r\n2,bad,no\r\n');
    const rows = { path, textColumn: 'review', labelColumn: 'stars' };
    const { path: made } = await create({ rows, devRows: ROWS });
    expect((await readBack(made)).train).toEqual([
      { text: 'so, "very" good', labelIds: [1], line: 2 },
      { text: 'bad', labelIds: [0], line: 3 },
    ]);
  });

  it('reads TSV, where quotes are plain characters', async () => {
    const rows = { path: fileWith('in.tsv', 'text\tlabel\n"good\tyes\nbad"\tno\n') };
    const { path } = await create({ rows, devRows: ROWS });
    expect((await readBack(path)).train.map(({ text }) => text)).toEqual(['"good', 'bad"']);
  });

  it('reads JSON Lines, with labels of any simple kind', async () => {
    const lines = ['{"text": "a", "label": 1}', '', '{"text": "b", "label": ["1", "2"]}', '{"text": "c", "label": []}'];
    const type = 'multilabel-text-classification';
    const rows = { path: fileWith('in.jsonl', lines.join('\n')) };
    const { path, result } = await create({ type, rows, devRows: rows });
    expect(result._unsafeUnwrap().labels).toEqual(['1', '2']);
    expect((await readBack(path, type)).train.map(({ labelIds }) => labelIds)).toEqual([[0], [0, 1], []]);
  });

  it('splits the label column at commas if a row may have several labels', async () => {
    const type = 'multilabel-text-classification';
    const rows = { path: fileWith('in.csv', 'text,label\na,"x, y"\nb,\nc,y\n') };
    const { path } = await create({ type, rows, devRows: rows });
    expect((await readBack(path, type)).train.map(({ labelIds }) => labelIds)).toEqual([[0, 1], [], [1]]);
  });

  it('prefers the format that is given to that of the extension', async () => {
    const rows = { path: fileWith('in.txt', 'text\tlabel\ngood\tyes\nbad\tno\n'), format: 'tsv' } as const;
    expect((await create({ rows, devRows: ROWS })).result.isOk()).toBe(true);
  });

  it.each([
    [
      'an empty text, after a cell of two lines',
      'in.csv',
      'text,label\n"a\nb",yes\n,no\n',
      'in.csv line 4, column text: found an empty text',
    ],
    [
      'too many cells',
      'in.csv',
      'text,label\na,b,yes\n',
      'in.csv line 2: found 3 columns; expected 2 columns as in the header',
    ],
    [
      'a quote that is not closed',
      'in.csv',
      'text,label\na,yes\n"b,no\n',
      'in.csv line 3: found a quoted cell without a closing quote',
    ],
    [
      'a column of another name',
      'in.csv',
      'said,label\na,yes\n',
      'in.csv line 1: found CSV with 2 columns: "said", "label"; expected the columns text and label, or text and labels',
    ],
    [
      'a row without a label',
      'in.tsv',
      'text\tlabel\na\tyes\nb\t\n',
      'in.tsv line 3, column label: found no label; expected one of "yes"',
    ],
    [
      'half a surrogate pair',
      'in.jsonl',
      '{"text": "a\\ud83d", "label": "yes"}',
      'in.jsonl line 1, column text: found half a surrogate pair',
    ],
    [
      'a line that is no JSON',
      'in.jsonl',
      '{"text": "a", "label": "yes"}\nb',
      'in.jsonl line 2, column 1: invalid symbol at "b"; expected JSON on each line',
    ],
    [
      'a text that is no string',
      'in.jsonl',
      '{"text": 5, "label": "yes"}',
      'in.jsonl line 1, column text: found 5; expected a string',
    ],
    [
      'no label',
      'in.jsonl',
      '{"text": "a"}',
      'in.jsonl: found JSON Lines with 1 column: "text"; expected the columns text and label',
    ],
    ['no rows', 'in.csv', 'text,label\n', 'in.csv: found CSV without rows'],
  ])('names the line of %s', async (_, name, contents, problem) => {
    const [first] = await problemsOf({ rows: { path: fileWith(name, contents) } });
    expect(first).toContain(problem);
  });

  it('names a file that does not exist', async () => {
    const [problem] = await problemsOf({ rows: { path: join(temporaryDirectory(), 'absent.csv') } });
    expect(problem).toContain('absent.csv: found no such file');
  });

  it('names the line of a row that is not UTF-8', async () => {
    const path = fileWith('in.csv', '');
    writeFileSync(path, Buffer.from('text,label\ncafé,yes\n', 'latin1'));
    const [problem] = await problemsOf({ rows: { path } });
    expect(problem).toContain('in.csv line 2, column 4: found the byte 0xE9');
  });
});

describe('what can not become an archive', () => {
  it.each([
    [
      'a label that is not among those given',
      { labels: ['yes', 'maybe'] },
      'rows line 3, column label: found label "no"; expected one of "yes", "maybe"',
    ],
    [
      'three labels for a binary model',
      { rows: [...ROWS, { text: 'a', label: 'x' }] },
      'rows: found 3 labels ("no", "x", "yes"); expected exactly 2 for a binary model',
    ],
    [
      'two labels on a row of a binary model',
      { rows: [...ROWS, { text: 'a', labels: ['yes', 'no'] }] },
      'rows line 5, column label: found 2 labels; expected one label for a binary model',
    ],
    ['no rows', { rows: [] }, 'rows: found no rows; expected at least one row'],
    [
      'a type of another family, as untyped callers may give',
      JSON.parse('{ "type": "question-answering" }'),
      'type: give one of binary-text-classification, multiclass-text-classification, multilabel-text-classification',
    ],
    ['a name with a slash', { name: '../x' }, 'name: give 1 to 100 letters, digits, ".", "_" and "-"'],
    ['a name of dots', { name: '..' }, 'name: give 1 to 100 letters, digits, ".", "_" and "-"'],
    ['a dev fraction of 1', { devFraction: 1 }, 'devFraction: give a number above 0 and below 1'],
    [
      'a dev fraction next to dev rows',
      { devRows: ROWS, devFraction: 0.2 },
      'devFraction: has no effect with `devRows`; leave one of them out',
    ],
    ['a seed that is not a whole number', { seed: 0.5 }, 'seed: give a whole number'],
    ['a label given twice', { labels: ['yes', 'yes'] }, 'labels: give each label once, and no empty label'],
  ])('%s', async (_, options, problem) => {
    expect((await problemsOf(options))[0]).toBe(problem);
  });

  it('rows that throw while they are read, which becomes the cause of an internal error', async () => {
    const lost = new Error('connection lost');
    const rows = (function* (): Generator<SourceRow> {
      yield* ROWS;
      throw lost;
    })();
    const { result } = await create({ rows });
    expect(result._unsafeUnwrapErr()).toMatchObject({ code: 'internal', cause: lost });
  });

  it('says where it can not write', async () => {
    const file = fileWith('taken', '');
    const result = await createClassificationArchive({ type: TYPE, name: 'reviews', rows: ROWS }, join(file, 'a.zip'));
    expect(result._unsafeUnwrapErr()).toMatchObject({
      code: 'storage',
      message: expect.stringContaining('a.zip'),
    });
  });
});
