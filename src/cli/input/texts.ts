import type { InputFormat } from './input-format.js';
import { type ByteLine, linesOf } from './lines.js';
import { csvTexts, tsvTexts } from './tables.js';

/** A text that was given, or why there is none. */
export type InputText =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly problem: string };

/** Texts as they come, each with the line on which it begins. */
export type InputTexts = AsyncGenerator<InputText, void, undefined>;

/** How a stream of texts is read. */
export interface TextSource {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly format: InputFormat;
  /** Of a table or of JSON objects: the field that has the text. */
  readonly column: string;
}

const readers: Readonly<Record<InputFormat, (source: TextSource) => InputTexts>> = {
  text: plainTexts,
  jsonl: jsonTexts,
  csv: csvTexts,
  tsv: tsvTexts,
};

/**
 * Reads texts in bounded memory. Blank lines are skipped. What can't be read is a problem in its place, and the next
 * lines go on; a table whose header lacks the column is one problem, and nothing else.
 */
export function textsOf(source: TextSource): InputTexts {
  return readers[source.format](source);
}

async function* plainTexts({ bytes }: TextSource): InputTexts {
  for await (const each of linesOf(bytes)) if (!isBlank(each)) yield textOf(each);
}

function textOf({ line, text = '', problem }: ByteLine): InputText {
  return problem === undefined ? { line, text } : { line, problem };
}

/** A string or an object with one on each line. */
async function* jsonTexts({ bytes, column }: TextSource): InputTexts {
  for await (const each of linesOf(bytes)) {
    if (isBlank(each)) continue;
    const { line, text = '', problem } = each;
    yield problem === undefined ? { line, ...textIn(text, column) } : { line, problem };
  }
}

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

/** Nothing but white space. */
export function isBlank({ text, problem }: ByteLine): boolean {
  return problem === undefined && text?.trim() === '';
}
