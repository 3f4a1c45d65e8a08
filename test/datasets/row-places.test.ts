import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ReadingOptions, readRows } from '../../src/datasets/index.js';
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
    expect(readAs).toContain('1 entity in several parts were read from the start of the first to the end of the last');
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
