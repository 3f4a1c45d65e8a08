import { writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { columnOf, type ReadingOptions, readRows } from '../../src/datasets/index.js';
import { shapeOfFirst } from '../../src/datasets/rows.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Which column is which, which rows of an export count, and on which line each row is. */

async function read(files: Readonly<Record<string, string>>, path: string, reading: ReadingOptions = {}) {
  const folder = temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return readRows(join(folder, path), { option: 'rows', reading });
}

const jsonl = (...rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');

describe('a column that is named by an option', () => {
  it.each(['stars', 'STARS', ' Stars', 'Stars '])('may differ in case and in spaces around it: %j', async (label) => {
    const csv = 'Opinion,Stars \na,1\nc,2\n';
    const { checked } = await read({ 'a.csv': csv }, 'a.csv', { columns: { text: 'opinion', label } });
    expect(checked.rows).toEqual([
      { text: 'a', label: '1' },
      { text: 'c', label: '2' },
    ]);
  });
});

describe('an export of Prodigy', () => {
  it('has what was accepted, or not asked about', async () => {
    const rows = jsonl(
      { text: 'a', label: 'x', answer: 'accept' },
      { text: 'b', label: 'y', answer: 'reject' },
      { text: 'c', label: 'y' },
      { text: 'd', label: 'x', answer: 'ignore' },
    );
    const { checked, places, readAs } = await read({ 'a.jsonl': rows }, 'a.jsonl');
    expect(checked.rows).toEqual([
      { text: 'a', label: 'x' },
      { text: 'c', label: 'y' },
    ]);
    expect(places?.lines).toEqual([1, 3]);
    expect(readAs).toContain('left out 2 rejected or ignored examples');
  });

  it.each([
    ['the entities of accepted texts', { spans: [{ start: 0, end: 3, label: 'PER' }] }],
    ['texts without entities, if their hashes say so', { _input_hash: 5, spans: [] }],
  ])('has %s', async (_, fields) => {
    const rows = jsonl(
      { text: 'Ada sang', ...fields, answer: 'accept' },
      { text: 'Bob sang', ...fields, answer: 'reject' },
      { text: 'Eve sang', ...fields, answer: 'ignore' },
    );
    const { checked, readAs } = await read({ 'a.jsonl': rows }, 'a.jsonl');
    const entities = fields.spans.map(({ start, end, label: type }) => ({ start, end, type }));
    expect(checked).toEqual({ shape: 'entities', rows: [{ text: 'Ada sang', entities }] });
    expect(readAs).toMatch(/^a Prodigy export.*left out 2 rejected or ignored examples$/);
  });

  it('is not one of questions that are answered with such a word', async () => {
    const rows = jsonl(
      { question: 'What do I click?', answer: 'accept' },
      { question: 'And to decline?', answer: 'reject' },
    );
    const { checked, readAs } = await read({ 'a.jsonl': rows }, 'a.jsonl');
    expect(checked.rows).toEqual([
      { question: 'What do I click?', passage: 'accept' },
      { question: 'And to decline?', passage: 'reject' },
    ]);
    expect(readAs).toMatch(/^JSON Lines/);
  });
});

describe('an export of doccano', () => {
  it('says how many texts have relations, if there are any', async () => {
    const row = { text: 'Ada sang', entities: [{ start_offset: 0, end_offset: 3, label: 'PER' }] };
    const note = async (...relations: readonly (readonly unknown[])[]) => {
      const rows = relations.map((each, id) => ({ id, ...row, relations: each }));
      return (await read({ 'a.jsonl': jsonl(...rows) }, 'a.jsonl')).readAs;
    };
    expect(await note([], [])).toBe('a doccano export: 2 texts, 1 entity type');
    expect(await note([{}], [])).toBe('a doccano export: 2 texts, 1 entity type; ignored the relations of 1 text');
  });
});

describe('training data of spaCy', () => {
  it('has pairs of a text and an object, and no others', async () => {
    const pair = [['Ada sang', { entities: [[0, 3, 'PER']] }]];
    const { checked } = await read({ 'a.json': JSON.stringify(pair) }, 'a.json');
    expect(checked.rows).toEqual([{ text: 'Ada sang', entities: [{ start: 0, end: 3, type: 'PER' }] }]);
    const numbered = JSON.stringify([[1, { text: 'Ada sang', label: 'x' }]]);
    await expect(read({ 'a.json': numbered }, 'a.json')).rejects.toThrow(/found a JSON array without columns/);
  });
});

describe('JSON Lines', () => {
  it('may have blank lines before, between and after the rows', async () => {
    const rows = '\n{"text":"a","label":"x"}\n  \n{"text":"c","label":"y"}\n\n';
    const { checked, places } = await read({ 'a.jsonl': rows }, 'a.jsonl');
    expect(checked.rows).toEqual([
      { text: 'a', label: 'x' },
      { text: 'c', label: 'y' },
    ]);
    expect(places?.lines).toEqual([2, 4]);
  });

  it.each([
    ['entities', { text: 'Ada sang', entities: [{ start: 0, end: 3, type: 'PER' }] }],
    ['tags', { tokens: ['Ada', 'sang'], tags: ['B-PER', 'O'] }],
    ['passages', { question: 'Who?', passages: ['Ada', 'Bob'] }],
    ['labels', { text: 'a', labels: ['x', 'y'] }],
  ])('may have a single row, whose %s are no rows themselves', async (shape, row) => {
    expect((await read({ 'a.jsonl': jsonl(row) }, 'a.jsonl')).checked).toEqual({ shape, rows: [row] });
  });

  it('are refused by the line that nests too deep', async () => {
    const deep = (levels: number) => `{"text":"a","label":"x","more":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const { checked } = await read({ 'a.jsonl': `${deep(1)}\n${deep(199)}` }, 'a.jsonl');
    expect(checked.rows).toHaveLength(2);
    await expect(read({ 'a.jsonl': `${deep(1)}\n${deep(200)}` }, 'a.jsonl')).rejects.toThrow(
      /a\.jsonl line 2, column 1: found deeply nested JSON/,
    );
  });
});

describe('one column of a file', () => {
  const column = (content: string, name: string, reading?: ReadingOptions) => {
    const path = join(temporaryDirectory(), 'a.txt');
    writeFileSync(path, content);
    return columnOf(path, name, reading);
  };

  it('has the lines of its records, also of those that are left out', async () => {
    const csv = 'text,label,author\na,x,ann\n\n,y,bob\n"c\nd",y,\n';
    expect(await column(csv, 'author')).toEqual([
      { line: 2, value: 'ann' },
      { line: 4, value: 'bob' },
      { line: 5, value: '' },
    ]);
    const rows = jsonl({ text: 'a', answer: 'reject', by: 7 }, { text: 'b', answer: 'accept' });
    expect(await column(rows, 'by')).toEqual([
      { line: 1, value: '7' },
      { line: 2, value: '' },
    ]);
  });

  it('is between tabs if the file is said to be', async () => {
    const tsv = 'a,b,c\td\nx,y,z\t1\n';
    expect(await column(tsv, 'd', { format: 'tsv' })).toEqual([{ line: 2, value: '1' }]);
  });
});

describe('what a file was read as', () => {
  it.each([
    ['question,passage\nq?,p\nr?,p\n', 'CSV: 2 questions, 1 passage'],
    ['text,label\na,x\n', 'CSV: 1 text, 1 label'],
    ['text;labels\na;"x,y"\n', 'semicolon-separated values: 1 text, 2 labels, any number of them per text'],
    ['text,text2,label,weight\na,b,x,2\n', 'CSV: 1 text, 1 label; second texts in "text2"; weights in "weight"'],
  ])('is said in words, without notes where there are none: case %#', async (csv, words) => {
    expect((await read({ 'a.csv': csv }, 'a.csv')).readAs).toBe(words);
  });
});

describe('rows in memory', () => {
  const spans = [0, 1].map((start) => ({ start, end: 2, type: 'X' }));

  it('are those of their first complete shape, whatever else they hold', async () => {
    const row = { text: 'Ada sang', entities: spans, tokens: ['Ada', 'sang'], tags: ['B-PER', 'O'] };
    const { checked } = await readRows([row], { option: 'rows' });
    expect(checked).toEqual({ shape: 'tags', rows: [{ tokens: row.tokens, tags: row.tags }] });
  });

  it.each<[what: unknown, found: string]>([
    [7, 'found 7'],
    [null, 'found null'],
    [5n, 'found 5'],
    [['text', 'label'], 'found ["text","label"]'],
    [{ words: 'a' }, 'found the field words'],
    [{}, 'found {}'],
  ])('are refused if the first is %o', async (first, found) => {
    const { message } = await failureOf('validation', () => shapeOfFirst(first, 'rows'));
    expect(message).toContain(`${found}; give rows with the fields of one of { text, label }`);
  });
});

describe('a later row in memory that is no object', () => {
  it.each([null, 7, 'text'])('is refused: %o', async (other) => {
    const rows: Iterable<never> = JSON.parse(JSON.stringify([{ text: 'good', label: 'a' }, other]));
    const { message } = await failureOf('validation', () => readRows(rows, { option: 'rows' }));
    expect(message).toBe('rows.1: give an object');
  });
});

describe('columns that nothing reads', () => {
  const warned = async (csv: string) => (await read({ 'a.csv': csv }, 'a.csv')).warnings;

  it('are named in a warning', async () => {
    const warning = { kind: 'unread_column', examples: [] };
    expect(await warned('text,label,more\na,x,1\nb,y,2\n')).toEqual([
      { ...warning, count: 1, message: 'a.csv: the column "more" is not used' },
    ]);
    expect(await warned('more,text,Other,label\n1,a,2,x\n3,b,4,y\n')).toEqual([
      { ...warning, count: 2, message: 'a.csv: the columns "more", "Other" are not used' },
    ]);
  });
});

describe('a row that is refused', () => {
  it('has its line, and no column if the row as a whole is wrong', async () => {
    const rows = `${jsonl({ tokens: ['a'], tags: ['O'] })}\n\n${jsonl({ tokens: ['a', 'b'], tags: ['O'] })}`;
    const { problems } = await failureOf('dataset', () => read({ 'a.jsonl': rows }, 'a.jsonl'));
    expect(problems).toEqual([
      {
        file: 'a.jsonl',
        line: 3,
        found: 'found {"tokens":["a","b"],"tags":["O"]}',
        expected: 'as many tags as tokens',
      },
    ]);
  });

  it('has the line of the first entity that begins or ends inside a word', async () => {
    const text = 'Ada saw Prague and Ghent today';
    const row = (...places: (readonly [number, number])[]) => ({
      text,
      entities: places.map(([start, end]) => ({ start, end, type: 'X' })),
    });
    const rows = `${jsonl(row([0, 3]))}\n\n${jsonl(row([8, 13], [19, 23]), row([9, 14]))}`;
    const { problems } = await failureOf('dataset', () => read({ 'a.jsonl': rows }, 'a.jsonl'));
    expect(problems).toMatchObject([{ file: 'a.jsonl', line: 3, found: expect.stringContaining('3 of 4 entities') }]);
    const given = [row([0, 3]), row([8, 13], [19, 23]), row([9, 14])];
    const inMemory = await failureOf('dataset', () => readRows(given, { option: 'rows' }));
    expect(inMemory.problems).toMatchObject([{ file: 'rows', line: 2 }]);
  });
});

describe('a folder of brat', () => {
  const text = 'Ada and Bob saw Oslo';

  it('counts entities of several parts, which are read from the first to the last', async () => {
    const annotations = ['T1\tPER 0 3;8 11\tAda Bob', 'T2\tLOC 16 20\tOslo', ''].join('\n');
    const { checked, readAs } = await read({ 'brat/a.txt': text, 'brat/a.ann': annotations }, 'brat');
    expect(checked.rows).toEqual([
      {
        text,
        entities: [
          { start: 0, end: 11, type: 'PER' },
          { start: 16, end: 20, type: 'LOC' },
        ],
      },
    ]);
    expect(readAs).toContain('1 entity in several parts was read from the start of the first to the end of the last');
  });

  it('has no such note where each entity is whole', async () => {
    const { readAs } = await read({ 'brat/a.txt': text, 'brat/a.ann': 'T1\tPER 0 3\tAda\n' }, 'brat');
    expect(readAs).not.toContain('several parts');
  });
});

describe('a file of tagged words', () => {
  it('has the line of each sentence and of each word', async () => {
    const conll = 'Ada B-PER\nsang O\n\n\nBob B-PER\n\nOslo B-LOC\nsleeps O\n';
    const { places } = await read({ 'a.conll': conll }, 'a.conll');
    expect(places?.lines).toEqual([1, 5, 7]);
    expect(places?.wordLines).toEqual([[1, 2], [5], [7, 8]]);
  });

  it('has words that are numbers, unless a third column follows', async () => {
    const words = await read({ 'a.conll': '1 B-X\n2 I-X\n\n1 O\n' }, 'a.conll');
    expect(words.checked.rows).toMatchObject([{ tokens: ['1', '2'] }, { tokens: ['1'] }]);
    const numbered = await read({ 'a.conll': '1 one B-X\n2 two I-X\n\n1 three O\n' }, 'a.conll');
    expect(numbered.checked.rows).toMatchObject([{ tokens: ['one', 'two'] }, { tokens: ['three'] }]);
  });
});

describe('what separates the cells', () => {
  it.each([
    // Commas in one text do not make columns; the semicolons of every line do.
    ['text;label\na, b, c;x\nd;y\ne;x\n', ['a, b, c', 'd', 'e']],
    ['text,label\na;b;c,x\nd,y\ne,x\n', ['a;b;c', 'd', 'e']],
    ['text|label\na, b|x\nc, d|y\n', ['a, b', 'c, d']],
    ['text\tlabel\n"a, b\tx\nc, d\ty\n', ['"a, b', 'c, d']],
  ])('is what makes the same columns of most lines: case %#', async (content, texts) => {
    const { checked } = await read({ 'a.txt': content }, 'a.txt');
    expect(checked.rows.map((row) => ('text' in row ? row.text : undefined))).toEqual(texts);
  });
});
