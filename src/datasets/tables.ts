import { basename, extname } from 'node:path';
import { MAX_LINE_BYTES } from './archive-limits.js';
import { counted, type ProblemList, quoted, someOf } from './problems.js';
import { readLines, type TextLine } from './text-lines.js';

/** Reads records in common formats: CSV, TSV and JSON Lines. */

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
  /** Where the record begins. */
  readonly line: number;
  /** Values of the requested columns, in that order; undefined where missing. Strings, except in JSON Lines. */
  readonly values: readonly unknown[];
}

/** A file of records that was read. */
export interface Table {
  /** Those of its header or, of JSON Lines, the fields of its first object. */
  readonly columns: readonly string[];
  /** All records. A column that the header lacks becomes a problem. */
  select(columns: readonly string[]): readonly SourceRecord[];
}

/** Reads all records of a file. What can't be read as a record becomes a problem; blank lines are skipped. */
export async function readTable({ path, format = formatOf(path) }: RecordFile, problems: ProblemList): Promise<Table> {
  const file = basename(path);
  const lines = await readLines(path, file, problems);
  if (format === 'jsonl') return jsonTable(file, lines, problems);
  const [header, ...rows] = format === 'csv' ? csvRows(file, lines, problems) : tsvRows(lines);
  return cellTable(file, header, rows, problems);
}

function formatOf(path: string): SourceFormat {
  const ending = extname(path).slice(1).toLowerCase();
  if (ending === 'json' || ending === 'ndjson') return 'jsonl';
  return ending === 'tsv' || ending === 'jsonl' ? ending : 'csv';
}

/** The cells of one record, and the line that it begins on. */
interface Cells {
  readonly line: number;
  readonly cells: readonly string[];
}

function tsvRows(lines: readonly TextLine[]): Cells[] {
  return lines.flatMap(({ number, text }) => (text === '' ? [] : [{ line: number, cells: text.split('\t') }]));
}

function csvRows(file: string, lines: readonly TextLine[], problems: ProblemList): Cells[] {
  const reader = new CsvReader();
  const rows: Cells[] = [];
  const add = (record: ReturnType<CsvReader['add']>) => {
    if (record === undefined) return;
    if ('found' in record) problems.add({ file, ...record, expected: QUOTING });
    else rows.push(record);
  };
  for (const line of lines) add(reader.add(line));
  add(reader.end());
  return rows;
}

const QUOTING = 'CSV, quoted as in RFC 4180';

/** What is wrong with a record that begins on a line. */
interface BrokenCells {
  readonly line: number;
  readonly found: string;
}

/** Joins lines to records of CSV: a quoted cell may have commas, quotes (doubled) and line breaks. */
export class CsvReader {
  #line = 0;
  #cells: string[] = [];
  /** The quoted cell that goes on in the next line. */
  #quoted: string | undefined;

  /** @returns the record that ends with this line, or what is wrong with it; undefined for a blank line, or inside a record. */
  add({ number, text }: TextLine): Cells | BrokenCells | undefined {
    if (this.#quoted === undefined) {
      this.#line = number;
      if (!text.includes('"')) return text === '' ? undefined : { line: number, cells: text.split(',') };
      this.#cells = [];
    }
    const found = this.#read(text);
    if (this.#quoted !== undefined && this.#quoted.length <= MAX_LINE_BYTES) return undefined;
    const isEndless = this.#quoted !== undefined;
    this.#quoted = undefined;
    if (isEndless) return { line: this.#line, found: ENDLESS };
    return found === undefined ? { line: this.#line, cells: this.#cells } : { line: this.#line, found };
  }

  /** What is wrong at the end of the file. */
  end(): BrokenCells | undefined {
    return this.#quoted === undefined ? undefined : { line: this.#line, found: ENDLESS };
  }

  /** @returns what is wrong with the line, if anything is. */
  #read(text: string): string | undefined {
    let at = 0;
    for (;;) {
      if (this.#quoted === undefined && text[at] === '"') {
        this.#quoted = '';
        at += 1;
      }
      if (this.#quoted === undefined) {
        const comma = text.indexOf(',', at);
        const cell = text.slice(at, comma === -1 ? text.length : comma);
        if (cell.includes('"')) return `found a quote inside the unquoted cell ${quoted(cell)}`;
        this.#cells.push(cell);
        if (comma === -1) return undefined;
        at = comma + 1;
        continue;
      }
      const quote = text.indexOf('"', at);
      if (quote === -1) {
        this.#quoted += `${text.slice(at)}\n`;
        return undefined;
      }
      this.#quoted += text.slice(at, quote);
      at = quote + 1;
      if (text[at] === '"') {
        this.#quoted += '"';
        at += 1;
        continue;
      }
      this.#cells.push(this.#quoted);
      this.#quoted = undefined;
      if (at === text.length) return undefined;
      if (text[at] !== ',') return `found ${quoted(text.slice(at))} after a quoted cell`;
      at += 1;
    }
  }
}

const ENDLESS = 'found a quoted cell whose closing quote is missing; what follows was not read';

/** Rows under a header. */
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
  const objects = lines.flatMap(({ number: line, text: json }) => {
    if (json.trim() === '') return [];
    const object = parseObject(json);
    if (object !== undefined) return [{ line, object }];
    problems.add({ file, line, found: `found ${quoted(json)}`, expected: 'a JSON object on each line' });
    return [];
  });
  return {
    columns: [...(objects[0]?.object.keys() ?? [])],
    select: (names) => objects.map(({ line, object }) => ({ line, values: names.map((name) => object.get(name)) })),
  };
}

function parseObject(json: string): ReadonlyMap<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}
