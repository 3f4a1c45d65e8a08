/** Texts in the column of a table. */
import { Readable } from 'node:stream';
import { linesOf } from './lines.js';
import type { InputTexts, TextSource } from './texts.js';

/** What a parser puts in place of bytes that aren't UTF-8. */
const REPLACEMENT = '\uFFFD';
/** Bytes of the longest record, as a quote that is never closed makes one of all that follows. */
const MAX_RECORD_BYTES = 16 * 2 ** 20;

/** Tab-separated, without quoting. */
export async function* tsvTexts({ bytes, column }: TextSource): InputTexts {
  let at: number | undefined;
  let width = 0;
  for await (const { line, text = '', problem } of linesOf(bytes)) {
    if (problem !== undefined) yield { line, problem };
    else if (text.trim() === '') continue;
    else if (at === undefined) {
      const header = text.split('\t');
      at = header.indexOf(column);
      width = header.length;
      if (at === -1) return yield { line, problem: missingColumn(header, column) };
    } else yield { line, ...cellOf(text.split('\t'), at, width) };
  }
}

/** Quoted as in RFC 4180. */
export async function* csvTexts({ bytes, column }: TextSource): InputTexts {
  const { parse } = await import('csv-parse');
  const parser = parse({
    bom: true,
    info: true,
    record_delimiter: '\n',
    relax_column_count: true,
    max_record_size: MAX_RECORD_BYTES,
  });
  Readable.from(lineFeeds(bytes), { objectMode: false })
    .on('error', (error) => parser.destroy(error))
    .pipe(parser);
  let at: number | undefined;
  let width = 0;
  let line = 1;
  try {
    for await (const each of parser) {
      const { record, info }: CsvRecord = each;
      if (record.length === 1 && record[0] === '') {
        line = info.lines + 1;
        continue;
      }
      if (at === undefined) {
        at = record.indexOf(column);
        width = record.length;
        if (at === -1) return yield { line, problem: missingColumn(record, column) };
      } else yield { line, ...cellOf(record, at, width) };
      line = info.lines + 1;
    }
  } catch (thrown) {
    if (!isCsvError(thrown)) throw thrown;
    yield { line, problem: `${thrown.message}; what follows was not read` };
  }
}

/** With CRLF as LF, as the parser counts both of them inside of quotes. */
async function* lineFeeds(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let held = ''; // a CR, of which the next piece decides
  for await (const piece of bytes) {
    const text = held + Buffer.from(piece).toString('latin1'); // a character for each byte
    held = text.endsWith('\r') ? '\r' : '';
    const whole = text.slice(0, text.length - held.length).replaceAll('\r\n', '\n');
    if (whole !== '') yield Buffer.from(whole, 'latin1');
  }
  if (held !== '') yield Buffer.from(held);
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

function cellOf(cells: readonly string[], at: number, width: number) {
  const text = cells[at];
  if (text?.includes(REPLACEMENT)) return { problem: 'not UTF-8; convert the file, for instance with iconv' };
  if (text !== undefined && cells.length === width) return { text };
  return { problem: `${cells.length} columns; the header has ${width}` };
}

function missingColumn(header: readonly string[], column: string): string {
  const names = header.map((name) => JSON.stringify(name)).join(', ');
  return `no column ${JSON.stringify(column)}, but ${names}; give --text-column`;
}

function isCsvError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && 'code' in thrown && /^(CSV|INVALID)_/.test(String(thrown.code));
}
