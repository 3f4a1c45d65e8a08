import { type Cells, type Dialect, RecordReader } from './csv.js';
import { nestsTooDeep, syntaxError, visitJson } from './json-file.js';
import { counted, type ProblemList, quoted, singleProblem } from './problems.js';
import type { BrokenLine, TextLine } from './text-lines.js';

/** The records of a file of rows, as its text says: a table with a header, or JSON. */

export interface Records {
  /** Its name in messages: `CSV`, `semicolon-separated values`, `JSON Lines`. */
  readonly name: string;
  /** Of a table its header, as it is written; of JSON the keys of the first object. */
  readonly columns: readonly string[];
  /** Of a table, the cells by column; of JSON, what stands there. */
  readonly records: readonly { readonly line: number; readonly value: unknown }[];
  /** Of a table: the cells of each record, in the order of the columns. */
  readonly cells?: readonly Cells[];
  /** Of a table: the line of its header. */
  readonly header?: number;
}

/** What separates the cells of tables, with what files of it are called. */
const DELIMITERS: Readonly<Record<string, string>> = {
  ',': 'CSV',
  ';': 'semicolon-separated values',
  '\t': 'tab-separated values',
  '|': 'values separated by |',
};
/** How many records decide which delimiter it is. */
const LOOKED_AT = 50;

/** @param delimiter default: the one that makes columns. */
export function tableRecords(
  lines: readonly TextLine[],
  file: string,
  problems: ProblemList,
  delimiter?: string,
): Records {
  const [first] = lines;
  // Excel reads and writes such a line.
  const told = /^sep=(.)$/iu.exec(first?.text ?? '')?.[1];
  const rest = told === undefined ? lines : lines.slice(1);
  const dialect = dialectOf(rest, delimiter ?? told);
  const rows: Cells[] = [];
  for (const found of cellsIn(rest, dialect)) {
    if ('problem' in found) problems.add({ file, line: found.number, ...found.problem });
    else rows.push(found);
  }
  const [header, ...others] = rows;
  const columns = (header?.cells ?? []).map((cell) => cell.trim());
  const whole = others.filter(({ line, cells }) => {
    if (cells.length === columns.length) return true;
    const expected = `${counted(columns.length, 'column')} as in the header`;
    problems.add({ file, line, found: `found ${counted(cells.length, 'column')}`, expected });
    return false;
  });
  let records: Records['records'] | undefined;
  return {
    name:
      columns.length < 2
        ? 'a table'
        : (DELIMITERS[dialect.delimiter] ?? `values separated by ${quoted(dialect.delimiter)}`),
    columns,
    cells: whole,
    ...(header && { header: header.line }),
    // Most tables are read by their cells; one object for each row would take much memory.
    get records() {
      records ??= whole.map(({ line, cells }) => ({
        line,
        value: Object.fromEntries(columns.map((column, at) => [column, cells[at]])),
      }));
      return records;
    },
  };
}

function* cellsIn(lines: readonly TextLine[], dialect: Dialect): Generator<Cells | BrokenLine, void, undefined> {
  const reader = new RecordReader(dialect);
  yield* reader.read(lines);
  if (!reader.isOver) yield* reader.end();
}

/** Of the delimiters that give all records as many cells, the one that gives most; quoted unless that fits a table worse. */
function dialectOf(lines: readonly TextLine[], delimiter?: string): Dialect {
  const some = lines.slice(0, 20 * LOOKED_AT);
  let best: { readonly dialect: Dialect; readonly columns: number; readonly share: number } | undefined;
  for (const each of delimiter === undefined ? Object.keys(DELIMITERS) : [delimiter]) {
    const quoted: Dialect = { delimiter: each, quote: '"' };
    // Tabs mostly separate cells without quotes, where a quote is a character like any other.
    const dialects =
      each === '\t' && !areCellsQuoted(some) ? [{ delimiter: each, quote: false } as const, quoted] : [quoted];
    for (const dialect of dialects) {
      const found = fitOf(some, dialect);
      const isBetter = best === undefined || found.share * found.columns > best.share * best.columns;
      if (isBetter) best = { dialect, ...found };
    }
  }
  return best?.dialect ?? { delimiter: delimiter ?? ',', quote: '"' };
}

/** Whether each cell between tabs that begins with a quote ends with one, and quotes within it are doubled. */
function areCellsQuoted(lines: readonly TextLine[]): boolean {
  const begun = lines.flatMap(({ text }) => text.split('\t').filter((cell) => cell.startsWith('"')));
  return begun.length > 0 && begun.every((cell) => /^"(?:[^"]|"")*"$/u.test(cell));
}

/** How many columns most records have, and what share of them. */
function fitOf(lines: readonly TextLine[], dialect: Dialect) {
  const widths: number[] = [];
  for (const found of cellsIn(lines, dialect)) {
    if ('problem' in found || widths.length >= LOOKED_AT) break;
    widths.push(found.cells.length);
  }
  const [columns = 0] = widths;
  const same = widths.filter((width) => width === columns).length;
  return { columns: columns > 1 ? columns : 0.5, share: widths.length === 0 ? 0 : same / widths.length };
}

const JSON_START = /^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[{["\]]|$))/u;

export function looksLikeJson(lines: readonly TextLine[]): boolean {
  const first = lines.find(({ text }) => text.trim() !== '');
  return first !== undefined && JSON_START.test(first.text);
}

/**
 * JSON Lines, where each line may end with a comma; or one JSON value: an array of records, an object that has one, or an
 * object of arrays, which are columns.
 */
export function jsonRecords(lines: readonly TextLine[], file: string, problems: ProblemList): Records {
  const filled = lines.filter(({ text }) => text.trim() !== '');
  const [first, second] = filled;
  const whole = first === undefined ? undefined : parsed(withoutComma(first.text));
  const isLines = whole !== undefined && (!Array.isArray(whole) || second !== undefined);
  if (isLines) return lineRecords(filled, file, problems);
  const text = lines.map((line) => line.text).join('\n');
  const value = parsed(text);
  if (value === undefined) {
    throw singleProblem({
      file,
      ...syntaxError(text, { line: 1, column: 1 }),
      expected: 'JSON, or a JSON value per line',
    });
  }
  const found = recordsIn(value, text);
  if (found !== undefined) return ofObjects(found, file, problems);
  const expected = 'an array of objects, an object that has one, or an object of arrays';
  throw singleProblem({ file, found: `found ${quoted(value)}`, expected });
}

function lineRecords(lines: readonly TextLine[], file: string, problems: ProblemList): Records {
  const records = lines.flatMap(({ number: line, text }) => {
    const value = parsed(withoutComma(text));
    if (value !== undefined) return [{ line, value }];
    const { column, found } = syntaxError(text, { line: 1, column: 1 });
    problems.add({ file, line, column, found, expected: 'JSON on each line' });
    return [];
  });
  // One object alone may hold the records.
  const [only] = records;
  const inside = records.length === 1 && only ? recordsIn(only.value, lines[0]?.text ?? '') : undefined;
  return ofObjects(inside ?? { name: 'JSON Lines', records }, file, problems);
}

/** Records are objects, or arrays as spaCy writes them; others are problems. */
function ofObjects({ name, records }: Pick<Records, 'name' | 'records'>, file: string, problems: ProblemList): Records {
  const kept = records.filter(({ line, value }) => {
    if (typeof value === 'object' && value !== null) return true;
    problems.add({ file, line, found: `found ${quoted(value)}`, expected: 'a JSON object for each row' });
    return false;
  });
  return { name, records: kept, columns: keysOf(kept) };
}

const withoutComma = (text: string): string => text.trim().replace(/,$/u, '');

/** What the array of records is called in objects that have others, too, such as Hugging Face's answers. */
const HOLDERS = ['rows', 'data', 'records', 'examples', 'items'];

function rank(key: string): number {
  const place = HOLDERS.indexOf(key);
  return place === -1 ? HOLDERS.length : place;
}

/** Whether an object is a row itself: it has a text, a question, or the words of one sentence. */
function isRow(value: Readonly<Record<string, unknown>>): boolean {
  const isWord = (each: unknown) => typeof each === 'string';
  const [tokens, words] = [own(value, 'tokens'), own(value, 'words')];
  const isText = ['text', 'sentence', 'question', 'query'].some((field) => isWord(own(value, field)));
  return isText || [tokens, words].some((list) => Array.isArray(list) && list.every(isWord));
}

function recordsIn(value: unknown, text: string): Pick<Records, 'name' | 'records'> | undefined {
  if (Array.isArray(value)) {
    const lines = itemLines(text, 1);
    return { name: 'a JSON array', records: value.map((item: unknown, at) => ({ line: lines[at] ?? 1, value: item })) };
  }
  if (!isObject(value) || isRow(value)) return undefined;
  const arrays = Object.entries(value).flatMap(([name, member]): [string, readonly unknown[]][] =>
    Array.isArray(member) ? [[name, member]] : [],
  );
  const ofObjects = arrays.filter(([, member]) => isObject(member[0]));
  const [[key, items] = ['', []], ...others] = ofObjects.toSorted((a, b) => rank(a[0]) - rank(b[0]));
  if (ofObjects.length > 0 && (others.length === 0 || rank(key) < HOLDERS.length)) {
    const rows = items.map((item: unknown) => (isObject(item) && isObject(item.row) ? item.row : item));
    return { name: `a JSON array in ${quoted(key)}`, records: rows.map((each: unknown) => ({ line: 1, value: each })) };
  }
  const lengths = new Set(arrays.map(([, member]) => member.length));
  if (arrays.length < 2 || lengths.size !== 1) return undefined;
  const [count = 0] = lengths;
  const records = Array.from({ length: count }, (_, at) => ({
    line: 1,
    value: Object.fromEntries(arrays.map(([name, member]) => [name, member[at]])),
  }));
  return { name: 'a JSON object of arrays', records };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field of an object; undefined where only its prototype has one. */
export function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function keysOf(records: Records['records']): readonly string[] {
  const keys = new Set<string>();
  for (const { value } of records.slice(0, LOOKED_AT))
    if (isObject(value)) for (const key of Object.keys(value)) keys.add(key);
  return [...keys];
}

/** The lines on which the items of an array begin that is nested so deep. */
function itemLines(text: string, nesting: number): readonly number[] {
  const lines: number[] = [];
  let depth = 0;
  const begin = (_offset: number, _length: number, line: number) => {
    if (depth === nesting) lines.push(line + 1);
    depth += 1;
  };
  const end = () => {
    depth -= 1;
  };
  const onLiteralValue = (_value: unknown, _offset: number, _length: number, line: number) => {
    if (depth === nesting) lines.push(line + 1);
  };
  visitJson(text, { onObjectBegin: begin, onArrayBegin: begin, onObjectEnd: end, onArrayEnd: end, onLiteralValue });
  return lines;
}

/** @returns undefined for what isn't JSON, or nests too deep */
function parsed(json: string): unknown {
  if (nestsTooDeep(json)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
