import { basename, extname } from 'node:path';
import { pipeline } from 'node:stream';
import { MAX_LINE_BYTES } from './archive-limits.js';
import { syntaxError, visitJson } from './json-file.js';
import { counted, type ProblemList, quoted, someOf } from './problems.js';
import { type BrokenLine, fileLines, readLines, type TextLine } from './text-lines.js';

/**
 * csv: quoted as in RFC 4180, with a header row. tsv: tab-separated without quoting, with a header row.
 * jsonl: one JSON object per line.
 */
export type SourceFormat = 'csv' | 'tsv' | 'jsonl';

/** A UTF-8 file of records. */
export interface RecordFile {
  readonly path: string;
  /** Default: by the extension of the file's name; csv for unknown ones. */
  readonly format?: SourceFormat | undefined;
}

export interface SourceRecord {
  readonly line: number;
  /** Values of the requested columns, in that order; undefined where missing. Strings, except in JSON Lines. */
  readonly values: readonly unknown[];
}

export interface Table {
  readonly columns: readonly string[];
  /** All records. A column that the header lacks becomes a problem. */
  select(columns: readonly string[]): readonly SourceRecord[];
}

/** Reads all records of a file. What can't be read as a record becomes a problem; blank lines are skipped. */
export async function readTable({ path, format = formatOf(path) }: RecordFile, problems: ProblemList): Promise<Table> {
  const file = basename(path);
  if (format === 'jsonl') return jsonTable(file, await readLines(path, file, problems), problems);
  const rows: Cells[] = [];
  for await (const found of recordsOf(fileLines(path, file, problems), format)) {
    if ('problem' in found) problems.add({ file, line: found.number, ...found.problem });
    else rows.push(found);
  }
  const [header, ...others] = rows;
  return cellTable(file, header, others, problems);
}

function formatOf(path: string): SourceFormat {
  const ending = extname(path).slice(1).toLowerCase();
  if (ending === 'json' || ending === 'ndjson') return 'jsonl';
  return ending === 'tsv' || ending === 'jsonl' ? ending : 'csv';
}

interface Cells {
  readonly line: number;
  readonly cells: readonly string[];
}

const dialects = {
  csv: { delimiter: ',', quote: '"' },
  tsv: { delimiter: '\t', quote: false },
} as const;

/**
 * The records of a table, the header first; blank lines are skipped. A quoted cell may have delimiters, quotes
 * (doubled) and line breaks. Bad quoting is a problem, after which nothing is read.
 */
export async function* recordsOf(
  lines: AsyncIterable<readonly (TextLine | BrokenLine)[]>,
  format: keyof typeof dialects,
): AsyncGenerator<Cells | BrokenLine, void, undefined> {
  // Loaded here, so that applications that only predict don't wait for it.
  const { CsvError, parse } = await import('csv-parse');
  const parser = parse({
    ...dialects[format],
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

function cellTable(file: string, header: Cells | undefined, rows: readonly Cells[], problems: ProblemList): Table {
  const columns = header?.cells ?? [];
  const whole = rows.filter(({ line, cells }) => {
    if (cells.length === columns.length) return true;
    const expected = `${columns.length} columns as in the header`;
    problems.add({ file, line, found: `found ${counted(cells.length, 'column')}`, expected });
    return false;
  });
  return {
    columns,
    select(names) {
      const places = names.map((name) => columns.indexOf(name));
      if (header === undefined) return [];
      if (places.includes(-1)) {
        const found = `found the columns ${someOf(columns.map((cell) => quoted(cell)))}`;
        const wanted = names.map((name) => quoted(name)).join(' and ');
        const expected = `the columns ${wanted}, or other names for them as options`;
        problems.add({ file, line: header.line, found, expected });
        return [];
      }
      return whole.map(({ line, cells }) => ({ line, values: places.map((at) => cells[at]) }));
    },
  };
}

function jsonTable(file: string, lines: readonly TextLine[], problems: ProblemList): Table {
  const isArray = lines
    .find(({ text }) => text.trim() !== '')
    ?.text.trimStart()
    .startsWith('[');
  const values = isArray ? arrayItems(file, lines, problems) : lineValues(lines);
  const objects = values.flatMap(({ line, value, json }) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return [{ line, object: new Map(Object.entries(value)) }];
    }
    const expected = isArray ? 'an array of JSON objects' : 'a JSON object on each line';
    problems.add({ file, line, found: `found ${quoted(json ?? value)}`, expected });
    return [];
  });
  return {
    columns: [...(objects[0]?.object.keys() ?? [])],
    select: (names) => objects.map(({ line, object }) => ({ line, values: names.map((name) => object.get(name)) })),
  };
}

interface LocatedValue {
  readonly line: number;
  readonly value: unknown;
  readonly json?: string;
}

function lineValues(lines: readonly TextLine[]): LocatedValue[] {
  return lines.flatMap(({ number: line, text: json }) => {
    if (json.trim() === '') return [];
    return [{ line, value: parseJson(json), json }];
  });
}

/** The items of a JSON array; one that isn't JSON is a problem. */
function arrayItems(file: string, lines: readonly TextLine[], problems: ProblemList): LocatedValue[] {
  const text = lines.map((line) => line.text).join('\n');
  const items = parseJson(text);
  if (!Array.isArray(items)) {
    problems.add({ file, ...syntaxError(text, { line: 1, column: 1 }), expected: 'an array of JSON objects' });
    return [];
  }
  const itemLines: number[] = [];
  let depth = 0;
  const begin = (_offset: number, _length: number, line: number) => {
    if (depth === 1) itemLines.push(line + 1);
    depth += 1;
  };
  const end = () => {
    depth -= 1;
  };
  const onLiteralValue = (_value: unknown, _offset: number, _length: number, line: number) => {
    if (depth === 1) itemLines.push(line + 1);
  };
  visitJson(text, { onObjectBegin: begin, onArrayBegin: begin, onObjectEnd: end, onArrayEnd: end, onLiteralValue });
  return items.map((value: unknown, at) => ({ line: itemLines[at] ?? 1, value }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
