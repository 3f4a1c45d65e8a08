import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../../src/contract/errors.js';
import { unzip } from '../../../src/datasets/index.js';
import { sequenceRows } from '../../../src/families/entities/rows.js';
import { createSequenceArchive, type SequenceArchiveOptions, type SequenceRow } from '../../../src/families/index.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const ROWS: readonly SequenceRow[] = [
  { words: ['Ada', 'Lovelace', 'left'], tags: ['B-PER', 'I-PER', 'O'] },
  { words: ['in', 'Paris'], tags: ['O', 'B-LOC'] },
];

async function create(options: Partial<SequenceArchiveOptions>) {
  const path = join(temporaryDirectory(), 'names.zip');
  return { path, result: await createSequenceArchive({ name: 'names', rows: ROWS, ...options }, path) };
}

async function problemsOf(options: Partial<SequenceArchiveOptions>) {
  const { path, result } = await create(options);
  const error = result._unsafeUnwrapErr();
  expect(existsSync(path)).toBe(false);
  return error.code === 'dataset' ? error.problems.map(describeDatasetProblem) : [error.message];
}

/** Unzips an archive and reads it as training does; with the names of the tags. */
async function readBack(path: string) {
  const directory = temporaryDirectory();
  await unzip(path, directory);
  const { tags: names, train, dev } = await sequenceRows.read(directory, 'sequence-labeling');
  const named = (rows: typeof train) =>
    rows.map(({ words, tags }) => ({ words, tags: tags.map((id) => names[id] ?? '') }));
  return { names, train: named(train), dev: named(dev) };
}

function conllFile(contents: string | Buffer) {
  const path = join(temporaryDirectory(), 'in.conll');
  writeFileSync(path, contents);
  return { path };
}

describe('createSequenceArchive', () => {
  it('writes the files of the format in a folder', async () => {
    const { path, result } = await create({ description: 'People and places', devRows: ROWS.slice(1) });
    expect(result._unsafeUnwrap()).toMatchObject({
      path,
      entityTypes: ['LOC', 'PER'],
      train: 2,
      dev: 1,
      removedDuplicates: 0,
      respacedWords: 0,
    });
    const directory = temporaryDirectory();
    await unzip(path, directory);
    const written = (name: string) => readFileSync(join(directory, 'names', name), 'utf8');
    expect(JSON.parse(written('config.json'))).toEqual({
      desc: 'People and places',
      DATASET_NAME: 'names',
      DATA_DIR: 'names',
    });
    expect(JSON.parse(written('label_id.json'))).toEqual({
      0: 'O',
      1: 'B-LOC',
      2: 'I-LOC',
      3: 'B-PER',
      4: 'I-PER',
    });
    expect(written('train/sentences.txt')).toBe('Ada Lovelace left\nin Paris\n');
    expect(written('train/tags.txt')).toBe('B-PER I-PER O\nO B-LOC\n');
    expect(written('val/sentences.txt')).toBe('in Paris\n');
    expect(written('val/tags.txt')).toBe('O B-LOC\n');
  });

  it('gives the same bytes for the same rows and seed', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => ({ words: [`Town${index}`], tags: ['B-LOC'] }));
    const [one, two] = await Promise.all([create({ rows, seed: 3 }), create({ rows, seed: 3 })]);
    expect(readFileSync(one.path).equals(readFileSync(two.path))).toBe(true);
  });

  it('keeps the order of the types it is given', async () => {
    const { result } = await create({ entityTypes: ['PER', 'LOC', 'ORG'], devRows: ROWS });
    expect(result._unsafeUnwrap().entityTypes).toEqual(['PER', 'LOC', 'ORG']);
  });

  it('removes repeated sentences and says how many', async () => {
    const { path, result } = await create({ rows: [...ROWS, ...ROWS], devRows: ROWS });
    expect(result._unsafeUnwrap()).toMatchObject({ train: 2, removedDuplicates: 2 });
    expect((await readBack(path)).train).toEqual(ROWS);
  });

  it('splits a word that contains spaces, and leaves out one of spaces only', async () => {
    const rows = [
      { words: ['New York', ' \u00a0', 'is', 'big '], tags: ['B-LOC', 'O', 'O', 'O'] },
      { words: ['to', 'Los', 'Angeles\tCounty'], tags: ['O', 'B-LOC', 'I-LOC'] },
    ];
    const { path, result } = await create({ rows, devRows: ROWS });
    expect(result._unsafeUnwrap().respacedWords).toBe(4);
    expect((await readBack(path)).train).toEqual([
      { words: ['New', 'York', 'is', 'big'], tags: ['B-LOC', 'I-LOC', 'O', 'O'] },
      { words: ['to', 'Los', 'Angeles', 'County'], tags: ['O', 'B-LOC', 'I-LOC', 'I-LOC'] },
    ]);
  });

  it('reads IOB1 and writes BIO, with a warning', async () => {
    const rows = [{ words: ['Ada', 'Eve', 'x'], tags: ['I-PER', 'B-PER', 'O'] }];
    const { path, result } = await create({ rows, devRows: ROWS });
    expect(result._unsafeUnwrap().warnings).toMatchObject([
      { kind: 'inside_without_begin', examples: [{ file: 'rows', line: 1 }] },
      { kind: 'class_without_examples' },
    ]);
    expect((await readBack(path)).train[0]?.tags).toEqual(['B-PER', 'B-PER', 'O']);
  });

  it('reads back the sentences it was given, whatever their words', async () => {
    const word = fc.string({
      unit: fc.constantFrom('a', 'B', '"', '-', ',', '\\', 'é', '漢', '😀', '\u200b', '\0'),
      minLength: 1,
    });
    const entity = fc
      .tuple(fc.constantFrom('PER', 'x-y', '"', '地名'), fc.array(word, { minLength: 1, maxLength: 3 }))
      .map(([type, words]) => ({
        words,
        tags: words.map((_, index) => `${index === 0 ? 'B' : 'I'}-${type}`),
      }));
    const outside = word.map((each) => ({ words: [each], tags: ['O'] }));
    const sentence = fc.array(fc.oneof(entity, outside), { minLength: 1, maxLength: 5 }).map((parts) => ({
      words: parts.flatMap(({ words }) => words),
      tags: parts.flatMap(({ tags }) => tags),
    }));
    const sentences = fc.uniqueArray(sentence, { maxLength: 6, selector: ({ words }) => words.join(' ') });
    await fc.assert(
      fc.asyncProperty(sentences, async (others) => {
        const rows = [{ words: ['first'], tags: ['B-PER'] }, ...others];
        const { path } = await create({ rows, devRows: rows });
        const { train, dev } = await readBack(path);
        expect(train).toEqual(rows);
        expect(dev).toEqual(rows);
      }),
      { numRuns: 50 },
    );
  });
});

describe('setting sentences aside for dev', () => {
  const many = Array.from({ length: 200 }, (_, index) => ({
    words: ['go', 'to', `x${index}`],
    tags: ['O', 'O', index % 10 === 0 ? 'B-RARE' : 'B-LOC'],
  }));

  it('takes a tenth of each type and loses no sentence', async () => {
    const { path, result } = await create({ rows: many });
    expect(result._unsafeUnwrap()).toMatchObject({ train: 180, dev: 20 });
    const { train, dev } = await readBack(path);
    expect(dev.filter(({ tags }) => tags.includes('B-RARE'))).toHaveLength(2);
    expect([...train, ...dev].map(({ words }) => words[2]).sort()).toEqual(many.map(({ words }) => words[2]).sort());
  });

  it('takes another share, and other sentences for another seed', async () => {
    const devOf = async (seed: number) =>
      (await readBack((await create({ rows: many, devFraction: 0.25, seed })).path)).dev;
    expect(await devOf(1)).toHaveLength(50);
    expect(await devOf(1)).not.toEqual(await devOf(2));
  });

  it('keeps sentences of the same words together', async () => {
    const twice = many.flatMap((row) => [row, { ...row, tags: ['O', 'O', 'O'] }]);
    const { result } = await create({ rows: twice });
    expect(result._unsafeUnwrap().warnings.map(({ kind }) => kind)).toEqual(['conflicting_labels']);
  });

  it('needs two sentences', async () => {
    expect(await problemsOf({ rows: ROWS.slice(0, 1) })).toEqual([
      'rows: found too few sentences to set any aside for dev; expected two different sentences with entities of one type, or rows for dev',
    ]);
  });
});

describe('CoNLL files as sources', () => {
  it.each([
    ['tabs', 'Ada\tB-PER\nleft\tO\n\nParis\tB-LOC\n'],
    ['spaces', 'Ada B-PER\nleft O\n\nParis B-LOC\n'],
    ['further columns between', 'Ada NNP I-NP B-PER\nleft VBD I-VP O\n\nParis NNP I-NP B-LOC\n'],
    ['-DOCSTART- lines', '-DOCSTART- -X- O O\n\nAda B-PER\nleft O\n-DOCSTART-\nParis B-LOC\n'],
    ['several blank lines, CRLF and a byte order mark', '\uFEFFAda B-PER\r\nleft O\r\n\r\n \r\nParis B-LOC'],
  ])('may have %s', async (_, contents) => {
    const { path } = await create({ rows: conllFile(contents), devRows: ROWS });
    expect((await readBack(path)).train).toEqual([
      { words: ['Ada', 'left'], tags: ['B-PER', 'O'] },
      { words: ['Paris'], tags: ['B-LOC'] },
    ]);
  });

  it('may have words with spaces if tabs separate the columns', async () => {
    const { path, result } = await create({
      rows: conllFile('New York\tB-LOC\n😀 \tO\n\tO\n'),
      devRows: ROWS,
    });
    expect(result._unsafeUnwrap().respacedWords).toBe(3);
    expect((await readBack(path)).train).toEqual([{ words: ['New', 'York', '😀'], tags: ['B-LOC', 'I-LOC', 'O'] }]);
  });

  it.each([
    ['a word without a tag', 'Ada B-PER\nleft\n', 'in.conll line 2: found 1 column; expected a word and its tag'],
    [
      'a tag of another scheme',
      'x O\nb B-PER\n\nAda X-PER\n',
      'in.conll line 4: found the tag "X-PER"; expected a BIO tag: O, B-… or I-…',
    ],
    ['a byte that is not UTF-8', Buffer.from('café O\n', 'latin1'), 'in.conll line 1, column 4: found the byte 0xE9'],
    ['no sentences', '\n-DOCSTART- O\n\n', 'in.conll: found CoNLL without rows; expected at least one row'],
    ['no entities', 'a O\n\nb O\n', 'in.conll: found no entity: every tag is O'],
  ])('name the line of %s', async (_, contents, problem) => {
    expect((await problemsOf({ rows: conllFile(contents) }))[0]).toContain(problem);
  });

  it('that do not exist are named', async () => {
    const [problem] = await problemsOf({ rows: { path: join(temporaryDirectory(), 'absent.conll') } });
    expect(problem).toContain('absent.conll: found no such file');
  });
});

describe('what can not become an archive', () => {
  it.each([
    [
      'fewer tags than words',
      { rows: [...ROWS, { words: ['a', 'b'], tags: ['O'] }] },
      'rows line 3, column tags: found 1 tag; expected 2 tags, one for each word',
    ],
    [
      'a type that is not among those given',
      { entityTypes: ['PER'] },
      'rows line 2, column tags[1]: found the tag "B-LOC"; expected a BIO tag: O, B-… or I-… with the type "PER"',
    ],
    [
      'half a surrogate pair',
      { rows: [{ words: ['a\ud83d'], tags: ['O'] }] },
      'rows line 1: found half a surrogate pair in "a\\ud83d"; expected whole characters',
    ],
    ['no rows', { rows: [] }, 'rows: found no rows; expected at least one row'],
    ['a name with a slash', { name: '../x' }, 'name: give 1 to 100 letters, digits, ".", "_" and "-"'],
    ['a type given twice', { entityTypes: ['x', 'x'] }, 'entityTypes: give at least one type, each once'],
    [
      'a type with a space',
      { entityTypes: ['my type'] },
      'entityTypes: give at least one type, each once and without spaces',
    ],
    ['no type', { entityTypes: [] }, 'entityTypes: give at least one type, each once and without spaces'],
  ])('%s', async (_, options, problem) => {
    expect((await problemsOf(options))[0]).toContain(problem);
  });
});
