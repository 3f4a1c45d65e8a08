import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import type { ModelType } from '../../../src/contract/index.js';
import { classificationRows } from '../../../src/families/classification/rows.js';
import { type ArchiveBuilder, anArchive } from '../../support/archive-builder.js';
import { failureOf } from '../../support/outcomes.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const BINARY = 'binary-text-classification';
const MULTICLASS = 'multiclass-text-classification';
const MULTILABEL = 'multilabel-text-classification';

function read(archive: ArchiveBuilder, type: ModelType = BINARY) {
  return classificationRows.read(archive.writeTo(temporaryDirectory()), type);
}

async function problemsOf(archive: ArchiveBuilder, type: ModelType = BINARY): Promise<string[]> {
  const { problems } = await failureOf('dataset', () => read(archive, type));
  return problems.map(describeDatasetProblem);
}

async function trainTextsOf(archive: ArchiveBuilder): Promise<string[]> {
  return (await read(archive)).train.map(({ text }) => text);
}

/** Three labels, each with a row in train and dev. */
function aMulticlassArchive(): ArchiveBuilder {
  const rows = [
    ['one', 0],
    ['two', 1],
    ['three', 2],
  ] as const;
  return anArchive()
    .withLabels(['a', 'b', 'c'])
    .withConfig({ NUM_CLASS_LABELS: 3 })
    .withRows(rows)
    .withDevRows(rows.map(([text, id]) => [`${text} more`, id]));
}

describe('a sound archive', () => {
  it('of two labels is read as binary', async () => {
    expect(await read(anArchive())).toEqual({
      kind: 'binary',
      labels: ['no', 'yes'],
      train: [
        { text: 'good', labelIds: [1], line: 2 },
        { text: 'bad', labelIds: [0], line: 3 },
      ],
      dev: [
        { text: 'better', labelIds: [1], line: 2 },
        { text: 'worse', labelIds: [0], line: 3 },
      ],
      files: { train: 'train.tsv', dev: 'dev.tsv' },
      warnings: [],
    });
  });

  it('of several labels is read as multiclass', async () => {
    const { kind, train } = await read(aMulticlassArchive(), MULTICLASS);
    expect(kind).toBe('multiclass');
    expect(train.map(({ labelIds }) => labelIds)).toEqual([[0], [1], [2]]);
  });

  it('with any number of labels per row is read as multilabel, with ascending ids', async () => {
    const archive = aMulticlassArchive().withRows([
      ['none', ''],
      ['one', 1],
      ['all', '2,0,1'],
      ['spaced', '0, 2'],
    ]);
    const { kind, train } = await read(archive, MULTILABEL);
    expect(kind).toBe('multilabel');
    expect(train.map(({ labelIds }) => labelIds)).toEqual([[], [1], [0, 1, 2], [0, 2]]);
  });

  it('may have a single label only if it is multilabel', async () => {
    const archive = anArchive()
      .withLabels(['spam'])
      .withRows([
        ['buy', 0],
        ['hello', ''],
      ])
      .withDevRows([['x', 0]]);
    expect((await read(archive, MULTILABEL)).labels).toEqual(['spam']);
  });

  it.each([
    ['a byte order mark', '\uFEFFsentence\tlabel\ngood\t1\nbad\t0\n', ['good', 'bad']],
    ['CRLF', 'sentence\tlabel\r\ngood\t1\r\nbad\t0\r\n', ['good', 'bad']],
    ['no last line break', 'sentence\tlabel\ngood\t1\nbad\t0', ['good', 'bad']],
    ['empty lines at the end', 'sentence\tlabel\ngood\t1\nbad\t0\n\n\n', ['good', 'bad']],
    ['quotes, which are plain characters', 'sentence\tlabel\n"go"od\t1\n"bad\t0\n', ['"go"od', '"bad']],
    ['a line separator of Unicode', 'sentence\tlabel\ngo\u2028od\t1\nbad\t0\n', ['go\u2028od', 'bad']],
    ['the columns the other way round', 'label\tsentence\n1\tgood\n0\tbad\n', ['good', 'bad']],
  ])('may have %s', async (_, train, texts) => {
    expect(await trainTextsOf(anArchive().withFile('train.tsv', train))).toEqual(texts);
  });

  it.each([
    [['text', 'category'], 'text\tcategory\ngood\t1\nbad\t0\n'],
    [['label', 'text'], 'label\ttext\n1\tgood\n0\tbad\n'],
    [['class', 'sentence'], 'class\tsentence\n1\tgood\n0\tbad\n'],
    [['id', 'sentence', 'label'], 'id\tsentence\tlabel\n7\tgood\t1\n8\tbad\t0\n'],
  ])('may call its columns %j', async (names, table) => {
    const archive = anArchive().withConfig({ field_names: names });
    expect(await trainTextsOf(archive.withFile('train.tsv', table).withFile('dev.tsv', table))).toEqual([
      'good',
      'bad',
    ]);
  });
});

describe('config.json and label_id.json', () => {
  it.each([
    ['field_names', 'sentence'],
    ['field_names', ['sentence']],
    ['field_names', ['sentence', 'sentence']],
    ['field_names', ['a', 'b', 'c']],
    ['field_header', 1],
    ['NUM_CLASS_LABELS', undefined],
    ['NUM_CLASS_LABELS', '1'],
    ['NUM_CLASS_LABELS', 2],
  ])('%s can not be %j', async (field, value) => {
    expect(await problemsOf(anArchive().withConfig({ [field]: value }))).toEqual([
      expect.stringMatching(new RegExp(`^config\\.json, column ${field}`)),
    ]);
  });

  it.each(['desc', 'field_header'])('%s may be left out', async (field) => {
    expect(await read(anArchive().withConfig({ [field]: undefined }))).toEqual(await read(anArchive()));
  });

  it('NUM_CLASS_LABELS counts the labels unless the kind is binary', async () => {
    for (const type of [MULTICLASS, MULTILABEL] as const) {
      expect(await problemsOf(aMulticlassArchive().withConfig({ NUM_CLASS_LABELS: 4 }), type)).toEqual([
        'config.json, column NUM_CLASS_LABELS: found 4; expected 3, the number of labels in label_id.json',
      ]);
    }
  });

  it.each([
    [BINARY, ['a', 'b', 'c'], 'found 3 labels ("a", "b", "c"); expected exactly 2 for a binary model'],
    [MULTICLASS, ['a'], 'found 1 label ("a"); expected at least 2 for a multiclass model'],
  ] as const)('%s can not have the labels %j', async (type, labels, problem) => {
    expect(await problemsOf(anArchive().withLabels(labels), type)).toContain(`label_id.json: ${problem}`);
  });

  it('are both checked before the reading stops', async () => {
    const archive = anArchive().withConfig({ DATA_DIR: undefined }).withFile('label_id.json', '{');
    expect((await problemsOf(archive)).map((problem) => problem.split(/[ ,:]/)[0])).toEqual([
      'config.json',
      'label_id.json',
    ]);
  });
});

describe('a row', () => {
  function problemsOfLines(...lines: string[]) {
    return problemsOf(anArchive().withFile('train.tsv', ['sentence\tlabel', ...lines, ''].join('\n')));
  }

  it.each([
    ['an id that is not in label_id.json', 'good\t7', 'column label: found label id 7'],
    ['a negative id', 'good\t-1', 'column label: found label id "-1"'],
    ['an id with a decimal point', 'good\t1.0', 'column label: found label id "1.0"'],
    ['an id with a leading zero', 'good\t01', 'column label: found label id 01'],
    ['the name of a label', 'good\tyes', 'column label: found label id "yes"'],
    ['no id', 'good\t', 'column label: found no label id'],
    ['two ids where the kind is binary', 'good\t0,1', 'column label: found label id "0,1"'],
  ])('can not have %s', async (_, line, problem) => {
    expect(await problemsOfLines('bad\t0', line)).toEqual([
      `train.tsv line 3, ${problem}; expected an id of label_id.json (0 to 1)`,
    ]);
  });

  it.each([
    ['', 'label id 3', '0,3'],
    ['twice the same id', 'label id 1 twice', '1,1'],
    ['an empty id', 'no label id', '1,'],
  ])('can not have %s in a multilabel archive', async (_, found, labels) => {
    const [problem] = await problemsOf(aMulticlassArchive().withRows([['text', labels]]), MULTILABEL);
    expect(problem).toContain(`train.tsv line 2, column label: found ${found};`);
  });

  it.each([
    ['too few columns', 'good', 'found 1 column'],
    ['too many columns', 'good\t1\t', 'found 3 columns'],
    ['nothing, between other rows', '', 'found an empty line'],
  ])('can not have %s', async (_, line, problem) => {
    expect(await problemsOfLines(line, 'bad\t0')).toEqual([
      `train.tsv line 2: ${problem}; expected 2 columns separated by tabs`,
    ]);
  });

  it('can not have an empty text, or one of spaces only', async () => {
    expect(await problemsOfLines('\t1', ' \u00a0\t0')).toEqual([
      'train.tsv line 2, column sentence: found an empty text; expected a text that is not blank',
      'train.tsv line 3, column sentence: found an empty text; expected a text that is not blank',
    ]);
  });

  it('that is not UTF-8 is named, and the others are still checked', async () => {
    const table = Buffer.from('sentence\tlabel\ncafé\t1\ngood\t9\n', 'latin1');
    expect((await problemsOf(anArchive().withFile('train.tsv', table))).map((problem) => problem.slice(0, 26))).toEqual(
      ['train.tsv line 2, column 4', 'train.tsv line 3, column l'],
    );
  });

  it.each([
    ['header', 'séntence\tlabel\ngood\t1\n', 'line 1, column 2'],
    ['only row', 'sentence\tlabel\ncafé\t1\n', 'line 2, column 4'],
  ])('that is not UTF-8 is the only problem if it is the %s', async (_, contents, place) => {
    const archive = anArchive().withFile('dev.tsv', Buffer.from(contents, 'latin1'));
    expect(await problemsOf(archive)).toEqual([expect.stringContaining(`dev.tsv ${place}: found the byte 0xE9`)]);
  });

  it('far down is named with its line number, with thousands separators', async () => {
    const rows = Array.from({ length: 4181 }, (_, index) => [`text ${index}`, index % 2] as const);
    const archive = anArchive().withRows([...rows.slice(0, 4180), ['bad', 7]]);
    expect(await problemsOf(archive)).toEqual([
      'train.tsv line 4,182, column label: found label id 7; expected an id of label_id.json (0 to 1)',
    ]);
  });

  it('is listed if it is among the first 100, and counted in any case', async () => {
    const wrong = Array.from({ length: 130 }, (_, index) => [`text ${index}`, 9] as const);
    const error = await failureOf('dataset', () => read(anArchive().withRows(wrong).withDevRows(wrong)));
    expect(error.problems).toHaveLength(100);
    expect(error.total).toBe(260);
  });
});

describe('a file', () => {
  it.each([
    ['no header', 'good\t1\nbad\t0\n', 'line 1: found "good\\t1"; expected a header row with the field_names'],
    ['a header of another case', 'Sentence\tLabel\ngood\t1\n', 'line 1: found "Sentence\\tLabel"'],
    ['another separator', 'sentence,label\ngood,1\n', 'line 1: found "sentence,label"'],
    ['a header only', 'sentence\tlabel\n', ': found only a header row'],
    ['nothing in it', '', ': found an empty file'],
  ])('can not have %s', async (_, contents, problem) => {
    expect((await problemsOf(anArchive().withFile('dev.tsv', contents)))[0]).toContain(
      `dev.tsv${problem.startsWith(':') ? '' : ' '}${problem}`,
    );
  });

  it('has to be there', async () => {
    expect((await problemsOf(anArchive().without('dev.tsv')))[0]).toContain('"dev.tsv" is not in the archive');
  });

  it('of train rows with a single label is refused', async () => {
    expect(
      await problemsOf(
        anArchive().withRows([
          ['a', 1],
          ['b', 1],
        ]),
      ),
    ).toEqual(['train.tsv: found only the label "yes"; expected rows with at least 2 labels']);
    expect(
      await problemsOf(
        aMulticlassArchive().withRows([
          ['a', ''],
          ['b', ''],
        ]),
        MULTILABEL,
      ),
    ).toEqual(['train.tsv: found no label on any row; expected rows with at least 1 label']);
  });
});

describe('warnings', () => {
  async function warningsOf(archive: ArchiveBuilder, type: ModelType = BINARY) {
    return (await read(archive, type)).warnings;
  }

  it('name rows that are repeated, case and spacing aside', async () => {
    const archive = anArchive().withRows([
      ['So good', 1],
      ['bad', 0],
      ['so  GOOD ', 1],
      ['bad', 0],
    ]);
    expect(await warningsOf(archive)).toEqual([
      {
        kind: 'duplicate_row',
        count: 2,
        message: '2 rows of train repeat earlier ones (ignoring case and spacing)',
        examples: [
          { file: 'train.tsv', line: 4 },
          { file: 'train.tsv', line: 5 },
        ],
      },
    ]);
  });

  it('name a text with different labels', async () => {
    expect(
      await warningsOf(
        anArchive().withRows([
          ['good', 1],
          ['bad', 0],
          ['Good', 0],
        ]),
      ),
    ).toMatchObject([{ kind: 'conflicting_labels', count: 1, examples: [{ line: 4 }] }]);
  });

  it('name train rows that are also in dev', async () => {
    expect(
      await warningsOf(
        anArchive().withRows([
          ['good', 1],
          ['WORSE', 0],
        ]),
      ),
    ).toMatchObject([{ kind: 'train_row_in_dev', count: 1, examples: [{ file: 'train.tsv', line: 3 }] }]);
  });

  it('name labels without a row in train or in dev', async () => {
    const archive = aMulticlassArchive()
      .withRows([
        ['one', 0],
        ['two', 1],
      ])
      .withDevRows([['three', 2]]);
    expect((await warningsOf(archive, MULTICLASS)).map(({ kind, count, message }) => [kind, count, message])).toEqual([
      ['class_without_examples', 1, 'no row of train has the label "c"'],
      ['class_without_examples', 2, 'no row of dev has any of the labels "a", "b"'],
    ]);
  });
});

it('refuses a model type of another family with a TypeError', async () => {
  await expect(read(anArchive(), 'question-answering')).rejects.toThrow(TypeError);
});
