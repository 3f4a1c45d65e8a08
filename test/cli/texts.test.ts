import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { InputFormat } from '../../src/cli/parameters.js';
import { textsOf } from '../../src/cli/text-input.js';
import { linesOf } from '../../src/datasets/index.js';

/** How texts are read: as they come, in bounded memory, each with its line. */

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Reads bytes that come in pieces of a size. */
async function read(content: string | Buffer, format: InputFormat, piece = 3, column = 'text') {
  const whole = Buffer.from(content);
  const pieces = Array.from({ length: Math.ceil(whole.length / piece) }, (_, at) =>
    whole.subarray(at * piece, (at + 1) * piece),
  );
  return all(textsOf({ bytes: Readable.from(pieces), format, reading: { column } }));
}

describe.each([1, 3, 1000])('in pieces of %i bytes', (piece) => {
  it('lines end at LF and CRLF alone; blank ones before others are no text', async () => {
    const texts = await read('\uFEFFone\r\n\n  \nfoür\u2028still\rfour\nfive\n\n \n', 'text', piece);
    expect(texts).toEqual([
      { line: 1, text: 'one' },
      { line: 2, isBlank: true },
      { line: 3, isBlank: true },
      { line: 4, text: 'foür\u2028still\rfour' },
      { line: 5, text: 'five' },
    ]);
  });

  it.each(['utf16le', 'utf16be', 'utf16le with a mark'])(
    '%s is one problem, never texts of half characters',
    async (encoding) => {
      const text = Buffer.from(`${encoding.endsWith('mark') ? '\uFEFF' : ''}good day\nbad day\n`, 'utf16le');
      const texts = await read(encoding === 'utf16be' ? text.swap16() : text, 'text', piece);
      expect(texts).toEqual([{ line: 1, problem: expect.stringContaining('UTF-16') }]);
    },
  );

  it('a line that is not UTF-8 is a problem, and the next ones are read', async () => {
    const texts = await read(Buffer.from('a\nb\xff\nc\n', 'latin1'), 'text', piece);
    expect(texts).toEqual([
      { line: 1, text: 'a' },
      { line: 2, problem: expect.stringContaining("isn't UTF-8") },
      { line: 3, text: 'c' },
    ]);
  });

  it('JSON Lines have strings or objects', async () => {
    const texts = await read('"one"\n{"text": "two", "id": 7}\n{"body": "x"}\nno json\n["x"]\n', 'jsonl', piece);
    expect(texts).toEqual([
      { line: 1, text: 'one' },
      { line: 2, text: 'two' },
      { line: 3, problem: expect.stringMatching(/no string in the field "text"; .*--text-column/) },
      { line: 4, problem: expect.stringContaining('not JSON') },
      { line: 5, problem: expect.stringContaining('no string in the field "text"') },
    ]);
  });

  it.each(['\n', '\r\n'])('CSV is quoted as in RFC 4180, with the line where each record begins (%j)', async (end) => {
    const csv = ['id,text', '1,plain', '2,"with ""quotes"", and', 'a second line"', '3,x,y', '', '4,last', ''].join(
      end,
    );
    expect(await read(csv, 'csv', piece)).toEqual([
      { line: 2, text: 'plain' },
      { line: 3, text: 'with "quotes", and\na second line' },
      { line: 5, problem: 'found 3 columns; the header has 2' },
      { line: 7, text: 'last' },
    ]);
  });

  it.each<[InputFormat, string]>([
    ['csv', '\uFEFFtext,id\n\uFEFFone,1\n'],
    ['csv', '\uFEFF"text",id\n"\uFEFFone",1\n'],
    ['tsv', '\uFEFFtext\tid\n\uFEFFone\t1\n'],
    ['jsonl', '\uFEFF{"text":"\uFEFFone"}\n'],
  ])('the byte order mark of %s is no part of it, and a later one is', async (format, content) => {
    expect(await read(content, format, piece)).toEqual([{ line: format === 'jsonl' ? 1 : 2, text: '\uFEFFone' }]);
  });

  it('TSV has no quoting', async () => {
    expect(await read('text\tid\n"a" b\t1\nc\n', 'tsv', piece)).toEqual([
      { line: 2, text: '"a" b' },
      { line: 3, problem: 'found 1 column; the header has 2' },
    ]);
  });
});

it.each<[InputFormat, string]>([
  ['csv', 'id,body\n1,x\n'],
  ['tsv', 'id\tbody\n1\tx\n'],
])('%s without the column says which there are, once', async (format, table) => {
  const problem = 'found the columns "id", "body", but not "text"; name the right one with --text-column';
  expect(await read(table, format)).toEqual([{ line: 1, problem }]);
  expect(await read(table, format, 3, 'body')).toEqual([{ line: 2, text: 'x' }]);
});

it('CSV whose quote is never closed tells where it began', async () => {
  const texts = await read('text\na\n"b\nc\nd\n', 'csv');
  expect(texts).toEqual([
    { line: 2, text: 'a' },
    { line: 3, problem: expect.stringMatching(/without a closing quote.*was not read/) },
  ]);
});

it.each<InputFormat>(['text', 'jsonl', 'csv', 'tsv'])('of nothing at all there are no texts (%s)', async (format) => {
  expect(await read('', format)).toEqual([]);
});

it('a line without end takes no more memory than the longest that is read', async () => {
  const piece = Buffer.alloc(2 ** 20, 'x');
  const megabytes = 400;
  let most = 0;
  async function* endless() {
    for (let count = 0; count < megabytes; count += 1) {
      most = Math.max(most, process.memoryUsage().arrayBuffers);
      yield Buffer.from(piece);
    }
    yield Buffer.from('\nshort\n');
  }
  const before = process.memoryUsage().arrayBuffers;
  expect((await all(linesOf(endless()))).flat()).toEqual([
    { number: 1, problem: { found: expect.any(String), expected: 'at most 16 MiB per line' } },
    { number: 2, text: 'short' },
  ]);
  expect(most - before).toBeLessThan((megabytes / 2) * 2 ** 20);
});
