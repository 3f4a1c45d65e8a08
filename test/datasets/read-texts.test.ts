import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readTexts } from '../../src/datasets/index.js';
import { failureOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Texts without labels: one per line, or a column of a table or JSON. */

const NO_LIMIT = { mostTexts: 1000, mostCharacters: 1000 };

function read(file: string, content: string | Uint8Array, limits = NO_LIMIT) {
  const path = join(temporaryDirectory(), file);
  writeFileSync(path, content);
  return readTexts(path, limits);
}

async function problemsOf(file: string, content: string, limits = NO_LIMIT) {
  return (await failureOf('dataset', () => read(file, content, limits))).problems;
}

describe('the texts of a file', () => {
  it.each([
    ['one per line', 'a.txt', 'a lamp\na chair, too\n'],
    ['one per line of a file without an ending', 'texts', 'a lamp\na chair, too'],
    ['one per line of a file with gzip', 'a.txt.gz', gzipSync('a lamp\na chair, too\n')],
    ['a column of CSV', 'a.csv', 'id,Text \n1,a lamp\n2,"a chair, too"\n'],
    ['a column of CSV with gzip', 'a.CSV.gz', gzipSync('id;text\n1;a lamp\n2;a chair, too\n')],
    ['a column between tabs', 'a.tsv', 'id\ttext\n1\ta lamp\n2\ta chair, too\n'],
    ['a field of JSON Lines', 'a.jsonl', '{"id":1,"text":"a lamp"}\n{"text":"a chair, too"}\n'],
    ['a field of a JSON array', 'a.json', '[{"text":"a lamp"},\n{"text":"a chair, too"}]'],
    ['a field of JSON, whatever the file is called', 'a.csv', '{"text":"a lamp"}\n{"text":"a chair, too"}\n'],
    ['a field of JSON with spaces in its name', 'a.jsonl', '{" Text ":"a lamp"}\n{" Text ":"a chair, too"}\n'],
    ['a field of JSON in a file of texts', 'a.txt', '{"text":"a lamp"}\n{"text":"a chair, too"}\n'],
  ])('are %s', async (_, file, content) => {
    expect(await read(file, content)).toEqual(['a lamp', 'a chair, too']);
  });

  it('come from the column called text before those of other names', async () => {
    expect(await read('a.csv', 'review,text,sentence\nr,t,s\n')).toEqual(['t']);
    expect(await read('a.csv', 'utterance,review,content,sentence\nu,r,c,s\n')).toEqual(['s']);
    expect(await read('a.csv', 'utterance,review\nu,r\n')).toEqual(['r']);
  });

  it('are the column of a .tsv even if commas separate as many cells', async () => {
    expect(await read('a.tsv', 'text\tnote,1\na, b\tc\nd, e\tf\n')).toEqual(['a, b', 'd, e']);
  });

  it('are each there once, as first written, whatever the case and the spaces', async () => {
    const content = ['  One lamp', 'one   LAMP ', '', '   ', 'One\tlamp', 'one lamps'].join('\n');
    expect(await read('a.txt', content)).toEqual(['One lamp', 'one lamps']);
  });

  it('leave out records without one', async () => {
    expect(await read('a.jsonl', '{"text":"a"}\n{"other":"b"}\n{"text":"c"}\n')).toEqual(['a', 'c']);
  });
});

describe('a file without labels is refused', () => {
  it('for each value that is no text, with its line', async () => {
    expect(await problemsOf('a.jsonl', '{"text":"a"}\n{"text":7}\n\n["text"]\n')).toEqual([
      { file: 'a.jsonl', line: 2, found: 'found 7', expected: 'a text' },
      { file: 'a.jsonl', line: 4, found: 'found ["text"]', expected: 'a text' },
    ]);
  });

  it('for each text beyond the limit, which the longest texts may reach', async () => {
    const limits = { mostTexts: 3, mostCharacters: 4 };
    expect(await read('a.txt', 'abcd\n  efgh  \n', limits)).toEqual(['abcd', 'efgh']);
    expect(await problemsOf('a.txt', 'abcd\nabcde\n', limits)).toEqual([
      { file: 'a.txt', line: 2, found: 'found a text of 5 characters', expected: 'at most 4' },
    ]);
  });

  it('for more different texts than the limit', async () => {
    const limits = { mostTexts: 2, mostCharacters: 9 };
    expect(await read('a.txt', 'a\nb\nA\n', limits)).toEqual(['a', 'b']);
    expect(await problemsOf('a.txt', 'a\nb\nA\nc\n', limits)).toEqual([
      { file: 'a.txt', found: 'found 3 different texts', expected: 'at most 2' },
    ]);
  });

  it('if no text is in it', async () => {
    expect(await problemsOf('a.txt', ' \n\n')).toMatchObject([{ found: 'found no text' }]);
    expect(await problemsOf('a.csv', 'text,id\n,1\n')).toMatchObject([{ found: 'found no text' }]);
  });

  it('if none of its columns has texts, which are named', async () => {
    const [problem] = await problemsOf('a.csv', '\nopinion,stars\nfine,5\n');
    expect(problem).toMatchObject({ file: 'a.csv', line: 2, found: 'found the columns "opinion", "stars"' });
    expect(problem?.expected).toContain('a column "text"');
    expect(await problemsOf('a.json', '[{"opinion":"fine"}]')).toMatchObject([
      { found: 'found the columns "opinion"' },
    ]);
  });

  it('for rows with other numbers of cells than the header', async () => {
    expect(await problemsOf('a.csv', 'text,id\na,1\nb\n')).toMatchObject([{ line: 3, found: 'found 1 column' }]);
  });
});
