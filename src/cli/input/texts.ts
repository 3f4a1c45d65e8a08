import { extname } from 'node:path';
import { type BrokenLine, linesOf, recordsOf } from '../../datasets/index.js';

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
 * lines go on; a table whose header lacks the column, or whose quoting is broken, ends there.
 */
export async function* textsOf({ bytes, format, column }: TextSource): InputTexts {
  const lines = linesOf(bytes);
  if (format === 'csv' || format === 'tsv') return yield* textsOfColumn(recordsOf(lines, format), column);
  for await (const some of lines) {
    for (const line of some) {
      if ('problem' in line) yield brokenLine(line);
      else if (line.text.trim() !== '') {
        yield { line: line.number, ...(format === 'text' ? { text: line.text } : textIn(line.text, column)) };
      }
    }
  }
}

async function* textsOfColumn(records: ReturnType<typeof recordsOf>, column: string): InputTexts {
  let header: readonly string[] | undefined;
  for await (const record of records) {
    if ('problem' in record) {
      yield brokenLine(record);
      continue;
    }
    const { line, cells } = record;
    if (header === undefined) {
      header = cells;
      if (cells.includes(column)) continue;
      const names = cells.map((name) => JSON.stringify(name)).join(', ');
      yield { line, problem: `no column ${JSON.stringify(column)}, but ${names}; give --text-column` };
      return;
    }
    const text = cells[header.indexOf(column)];
    const isWhole = text !== undefined && cells.length === header.length;
    yield isWhole ? { line, text } : { line, problem: `${cells.length} columns; the header has ${header.length}` };
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
