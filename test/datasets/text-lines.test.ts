import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDatasetProblem } from '../../src/contract/errors.js';
import { MAX_LINE_BYTES, MAX_LINES, MAX_TEXT_BYTES } from '../../src/datasets/archive-limits.js';
import { ProblemList, readLines, readText } from '../../src/datasets/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function saved(contents: string | Buffer): string {
  const path = join(temporaryDirectory(), 'train.tsv');
  writeFileSync(path, contents);
  return path;
}

async function linesOf(contents: string | Buffer) {
  const problems = new ProblemList();
  const lines = await readLines(saved(contents), 'train.tsv', problems);
  return { lines, problems: problems.toError().problems };
}

async function textsOf(contents: string | Buffer) {
  return (await linesOf(contents)).lines?.map(({ text }) => text);
}

describe('readLines', () => {
  it('numbers lines from 1', async () => {
    expect((await linesOf('a\nb\n')).lines).toEqual([
      { number: 1, text: 'a' },
      { number: 2, text: 'b' },
    ]);
  });

  it.each([
    ['a missing last line break', 'a\nb', ['a', 'b']],
    ['CRLF', 'a\r\nb\r\n', ['a', 'b']],
    ['CRLF and LF mixed', 'a\r\nb\nc', ['a', 'b', 'c']],
    ['empty lines', 'a\n\n\nb\n\n', ['a', '', '', 'b', '']],
    ['a byte order mark, dropped', '\uFEFFa\n\uFEFFb', ['a', '\uFEFFb']],
    ['a lone CR, part of the text', 'a\rb\n', ['a\rb']],
    ['Unicode line separators, part of the text', 'a\u2028b\u2029c\u0085d\n', ['a\u2028b\u2029c\u0085d']],
    ['an empty file', '', []],
  ])('reads %s', async (_, contents, texts) => {
    expect(await textsOf(contents)).toEqual(texts);
  });

  it('gives the same lines as splitting any text at line breaks', async () => {
    const path = saved('');
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\r', '\n', '\t', '\u2028') });
    await fc.assert(
      fc.asyncProperty(text, async (contents) => {
        writeFileSync(path, contents);
        const expected = contents.split(/\r?\n/);
        if (expected.at(-1) === '') expected.pop();
        const lines = await readLines(path, 'train.tsv', new ProblemList());
        expect(lines?.map((line) => line.text)).toEqual(expected);
      }),
    );
  });

  it('names line, column and byte if a line is not UTF-8, and keeps the other lines', async () => {
    const latin1 = Buffer.from('fine\ncafé au lait\nalso fine\n', 'latin1');
    const { lines, problems } = await linesOf(latin1);
    expect(lines?.map(({ number }) => number)).toEqual([1, 3]);
    expect(problems).toEqual([
      {
        file: 'train.tsv',
        line: 2,
        column: 4,
        found: "found the byte 0xE9, which isn't UTF-8 here",
        expected: 'UTF-8 text; save the file as UTF-8',
      },
    ]);
  });

  it.each([
    ['after a character of two UTF-16 units', [...Buffer.from('😀'), 0xff], 3, '0xFF'],
    ['that starts a character which the line cuts off', [0x61, 0xe3, 0x81], 2, '0xE3'],
    ['that starts a character which another letter cuts off', [0x61, 0xe3, 0x62], 2, '0xE3'],
    ['that continues nothing', [0x61, 0x62, 0x80, 0x80], 3, '0x80'],
    ['after a byte order mark that is part of the text', [...Buffer.from('\uFEFF\uFEFFa'), 0x80], 3, '0x80'],
    ['after a replacement character that is part of the text', [...Buffer.from('\uFFFDa'), 0x80], 3, '0x80'],
    ['of an overlong form', [0xc0, 0xaf], 1, '0xC0'],
    ['of an encoded surrogate', [0x61, 0xed, 0xa0, 0x80], 2, '0xED'],
  ])('finds the column of a byte %s', async (_, bytes, column, byte) => {
    const [problem] = (await linesOf(Buffer.from([...bytes, 0x0a]))).problems;
    expect(problem).toMatchObject({ line: 1, column });
    expect(problem?.found).toContain(byte);
  });

  it.each([
    ['little-endian', [0xff, 0xfe, 0x61, 0x00]],
    ['big-endian', [0xfe, 0xff, 0x00, 0x61]],
  ])('asks for UTF-8 if a file is %s UTF-16', async (_, bytes) => {
    const { lines, problems } = await linesOf(Buffer.from(bytes));
    expect(lines).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({
      found: expect.stringContaining('UTF-16'),
      expected: expect.stringContaining('save the file as UTF-8'),
    });
  });

  it('leaves out a line too long for any text', async () => {
    const longest = 'a'.repeat(MAX_LINE_BYTES);
    const { lines, problems } = await linesOf(`${longest}\n${longest}a\nlast`);
    expect(lines?.map(({ number }) => number)).toEqual([1, 3]);
    expect(problems.map(describeDatasetProblem)).toEqual([
      'train.tsv line 2: found 16,777,217 bytes in one line; expected at most 16 MiB per line',
    ]);
  });

  it('stops at more lines than memory may hold', async () => {
    const { lines, problems } = await linesOf(Buffer.alloc(MAX_LINES + 1, '\n'));
    expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
    expect(problems.map(describeDatasetProblem)).toEqual([
      'train.tsv: found more than 5,000,000 lines; expected a smaller dataset',
    ]);
  });

  it('reports a file that can not be read as a problem', async () => {
    const problems = new ProblemList();
    expect(await readLines(temporaryDirectory(), 'train.tsv', problems)).toEqual([]);
    expect(problems.toError().message).toContain("train.tsv: it can't be read (EISDIR");
  });
});

describe('readText', () => {
  it('gives the whole text without its byte order mark', async () => {
    expect(await readText(saved('\uFEFFa\r\nb'), 'a.json', new ProblemList())).toBe('a\r\nb');
  });

  it('refuses a file larger than a string can be, before reading it', async () => {
    const path = saved('');
    truncateSync(path, MAX_TEXT_BYTES + 1);
    const problems = new ProblemList();
    expect(await readText(path, 'label_id.json', problems)).toBeUndefined();
    expect(problems.toError().message).toBe('label_id.json: found 536,870,889 bytes; expected at most 512 MiB');
  });

  it('reports every line that is not UTF-8', async () => {
    const problems = new ProblemList();
    expect(await readText(saved(Buffer.from('é\nok\né', 'latin1')), 'a.json', problems)).toBeUndefined();
    expect(problems.toError().problems.map(({ line }) => line)).toEqual([1, 3]);
  });
});
