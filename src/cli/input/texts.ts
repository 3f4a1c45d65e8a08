import { extname } from 'node:path';
import { type BrokenLine, CsvReader, linesOf, type TextLine } from '../../datasets/index.js';

/** Texts as they come: one a line, or a field of each record. */

/** How texts are written. */
export const inputFormats = ['text', 'jsonl', 'csv', 'tsv'] as const;
export type InputFormat = (typeof inputFormats)[number];

const BY_ENDING: Readonly<Record<string, InputFormat>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'tsv',
};

/** By the ending of the file's name; text for others. */
export function formatOfFile(path: string): InputFormat {
  return BY_ENDING[extname(path).toLowerCase()] ?? 'text';
}

/** A text that was given, or why there is none. */
export type InputText =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly problem: string };

/** Texts as they come, each with the line on which it begins. */
export type InputTexts = AsyncGenerator<InputText, void, undefined>;

/** How a stream of texts is read. */
interface TextSource {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly format: InputFormat;
  /** Of a table or of JSON objects: the field that has the text. */
  readonly column: string;
}

/**
 * Reads texts in bounded memory. Blank lines are skipped. What can't be read is a problem in its place, and the next
 * lines go on; a table whose header lacks the column is one problem, and nothing else.
 */
export async function* textsOf({ bytes, format, column }: TextSource): InputTexts {
  const reader = readers[format](column);
  for await (const lines of linesOf(bytes)) {
    for (const line of lines) {
      const text = 'problem' in line ? brokenLine(line) : reader.read(line);
      if (text !== undefined) yield text;
      if (reader.hasEnded?.()) return;
    }
  }
  const last = reader.end?.();
  if (last !== undefined) yield last;
}

interface LineReader {
  /** @returns undefined for a blank line, and inside a record of several lines. */
  read(line: TextLine): InputText | undefined;
  /** What is wrong at the end. */
  end?(): InputText | undefined;
  /** Whether nothing that follows can be read. */
  hasEnded?(): boolean;
}

const readers: Readonly<Record<InputFormat, (column: string) => LineReader>> = {
  text: () => ({ read: ({ number: line, text }) => (text.trim() === '' ? undefined : { line, text }) }),
  jsonl: (column) => ({
    read: ({ number: line, text }) => (text.trim() === '' ? undefined : { line, ...textIn(text, column) }),
  }),
  csv: (column) => {
    const csv = new CsvReader();
    const cells = new CellReader(column);
    const textIn = (record: ReturnType<CsvReader['add']>) => {
      if (record === undefined) return undefined;
      return 'found' in record ? { line: record.line, problem: record.found } : cells.read(record);
    };
    return {
      read: (line) => textIn(csv.add(line)),
      end: () => textIn(csv.end()),
      hasEnded: () => cells.lacksColumn,
    };
  },
  tsv: (column) => {
    const cells = new CellReader(column);
    return {
      read: ({ number: line, text }) =>
        text.trim() === '' ? undefined : cells.read({ line, cells: text.split('\t') }),
      hasEnded: () => cells.lacksColumn,
    };
  },
};

/** Takes one column of a table. */
class CellReader {
  readonly #column: string;
  #header: readonly string[] | undefined;
  lacksColumn = false;

  constructor(column: string) {
    this.#column = column;
  }

  read({ line, cells }: { readonly line: number; readonly cells: readonly string[] }): InputText | undefined {
    if (this.#header === undefined) {
      this.#header = cells;
      this.lacksColumn = !cells.includes(this.#column);
      if (!this.lacksColumn) return undefined;
      const names = cells.map((name) => JSON.stringify(name)).join(', ');
      return { line, problem: `no column ${JSON.stringify(this.#column)}, but ${names}; give --text-column` };
    }
    const text = cells[this.#header.indexOf(this.#column)];
    if (text !== undefined && cells.length === this.#header.length) return { line, text };
    return { line, problem: `${cells.length} columns; the header has ${this.#header.length}` };
  }
}

function brokenLine({ number: line, problem: { found, expected } }: BrokenLine): InputText {
  return { line, problem: `${found}; expected ${expected}` };
}

/** Of a line of JSON: a string, or an object with one. */
function textIn(json: string, column: string): { readonly text: string } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (thrown) {
    return { problem: `not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}` };
  }
  if (typeof value === 'string') return { text: value };
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  const text: unknown = new Map(Object.entries(fields)).get(column);
  if (typeof text === 'string') return { text };
  return { problem: `no string ${JSON.stringify(column)}; give --text-column if it has another name` };
}
