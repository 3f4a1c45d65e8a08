import { pipeline } from 'node:stream';
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
  /** Default: as its text says. */
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
  { delimiter, quote }: Dialect,
): AsyncGenerator<Cells | BrokenLine, void, undefined> {
  // Loaded here, so that applications that only predict don't wait for it.
  const { CsvError, parse } = await import('csv-parse');
  const parser = parse({
    delimiter,
    quote,
    record_delimiter: '\n',
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAX_LINE_BYTES,
    info: true,
    skip_records_with_error: true,
    // Among the records, so that those before it are not lost.
    on_skip: (error) => {
      parser.push(error);
    },
  });
  const text = async function* () {
    let next = 1;
    for await (const some of lines) {
      let piece = '';
      for (const line of some) {
        if ('problem' in line) parser.push(line);
        else {
          // The parser sees blank lines where some are left out, so that it counts them.
          piece += `${'\n'.repeat(line.number - next)}${line.text}\n`;
          next = line.number + 1;
        }
      }
      yield piece;
    }
  };
  // A failure ends the iteration below.
  pipeline(text, parser, () => {});
  let before = { lines: 0, empty_lines: 0 };
  for await (const found of parser) {
    if ('problem' in found) {
      yield found;
      continue;
    }
    const info = found instanceof CsvError ? found : found.info;
    const line = before.lines + 1 + info.empty_lines - before.empty_lines;
    if (found instanceof CsvError) {
      const problem = quotingProblems.get(found.code) ?? 'a quoted cell whose closing quote is missing';
      const expected = 'CSV, quoted as in RFC 4180';
      yield { number: line, problem: { found: `found ${problem}; what follows was not read`, expected } };
      return;
    }
    before = info;
    yield { line, cells: found.record };
  }
}

const quotingProblems: ReadonlyMap<string, string> = new Map([
  ['INVALID_OPENING_QUOTE', 'a quote inside a cell that does not begin with one'],
  ['CSV_INVALID_CLOSING_QUOTE', 'text after the closing quote of a cell'],
]);
