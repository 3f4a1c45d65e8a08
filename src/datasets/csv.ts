import { MAX_LINE_BYTES } from './archive-limits.js';
import type { BrokenLine, TextLine } from './text-lines.js';

/**
 * csv: quoted as in RFC 4180, with a header row. tsv: tab-separated without quoting, with a header row.
 * jsonl: one JSON object per line.
 */
export type SourceFormat = 'csv' | 'tsv' | 'jsonl';

/** A file of records. */
export interface RecordFile {
  readonly path: string;
  /** Default: detected from the content. */
  readonly format?: SourceFormat | undefined;
}

export interface Cells {
  readonly line: number;
  readonly cells: readonly string[];
}

/** How the cells of a table are separated and quoted. */
export interface Dialect {
  readonly delimiter: string;
  readonly quote: string | false;
}

export const DIALECTS = {
  csv: { delimiter: ',', quote: '"' },
  tsv: { delimiter: '\t', quote: false },
} as const satisfies Readonly<Record<string, Dialect>>;

/**
 * The records of a table, the header first; blank lines are skipped. A quoted cell may have delimiters, quotes
 * (doubled) and line breaks. Bad quoting is a problem, after which nothing is read.
 */
export async function* recordsOf(
  lines: AsyncIterable<readonly (TextLine | BrokenLine)[]>,
  dialect: Dialect,
): AsyncGenerator<Cells | BrokenLine, void, undefined> {
  const reader = new RecordReader(dialect);
  for await (const some of lines) {
    yield* reader.read(some);
    if (reader.isOver) return;
  }
  yield* reader.end();
}

/**
 * Makes records of lines. A record goes on as long as the number of its quotes is odd: of one that is quoted as it should be it
 * is even, and after any other nothing is read.
 */
export class RecordReader {
  readonly #dialect: Dialect;
  /** The lines so far of a record that goes on, or none. */
  #lines: string[] = [];
  #start = 0;
  #length = 0;
  #isOdd = false;
  /** Whether bad quoting was found. */
  isOver = false;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  *read(lines: Iterable<TextLine | BrokenLine>): Generator<Cells | BrokenLine, void, undefined> {
    const { delimiter, quote } = this.#dialect;
    for (const line of lines) {
      if ('problem' in line) yield line;
      else if (quote === false || (!this.#isOdd && !line.text.includes(quote))) {
        if (line.text !== '') yield { line: line.number, cells: line.text.split(delimiter) };
      } else {
        this.#add(line, quote);
        if (!this.#isOdd || this.#length > MAX_LINE_BYTES) yield* this.end();
        if (this.isOver) return;
      }
    }
  }

  #add({ number, text }: TextLine, quote: string): void {
    if (this.#lines.length === 0) this.#start = number;
    // Lines that can't be read are blank ones.
    while (this.#start + this.#lines.length < number) this.#lines.push('');
    this.#lines.push(text);
    this.#length += text.length + 1;
    for (let at = text.indexOf(quote); at !== -1; at = text.indexOf(quote, at + 1)) this.#isOdd = !this.#isOdd;
  }

  /** The record that goes on, if there is one. */
  *end(): Generator<Cells | BrokenLine, void, undefined> {
    if (this.#lines.length === 0) return;
    const cells = cellsOf(this.#lines.join('\n'), this.#dialect);
    this.#lines = [];
    this.#length = 0;
    this.#isOdd = false;
    if (typeof cells !== 'string') return yield { line: this.#start, cells };
    this.isOver = true;
    const expected = 'CSV, quoted as in RFC 4180';
    yield { number: this.#start, problem: { found: `found ${cells}; the rest of the file was not read`, expected } };
  }
}

/** The cells of one record, or what is wrong with its quotes. */
function cellsOf(text: string, { delimiter, quote }: Dialect): string[] | string {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (quote === false || text[at] !== quote) {
      const next = text.indexOf(delimiter, at);
      const cell = text.slice(at, next === -1 ? undefined : next);
      if (quote !== false && cell.includes(quote)) return 'a quote inside an unquoted cell';
      cells.push(cell);
      if (next === -1) return cells;
      at = next + delimiter.length;
      continue;
    }
    let end = text.indexOf(quote, at + 1);
    while (end !== -1 && text[end + 1] === quote) end = text.indexOf(quote, end + 2);
    if (end === -1) return 'a quoted cell without a closing quote';
    cells.push(text.slice(at + 1, end).replaceAll(quote + quote, quote));
    at = end + 1;
    if (at === text.length) return cells;
    if (!text.startsWith(delimiter, at)) return 'text after the closing quote of a cell';
    at += delimiter.length;
  }
}
