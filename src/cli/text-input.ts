import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import type { Model, ModelText } from '../api/index.js';
import { AbortedError, MAX_QUERY_CHARACTERS, messageOf, StorageError } from '../contract/index.js';
import { type BrokenLine, counted, DIALECTS, linesOf, recordsOf } from '../datasets/index.js';
import { UsageError } from './command.js';
import type { InputFormat } from './parameters.js';
import { type Output, type Progress, type Terminal, write } from './terminal.js';

/** A text with the line on which it begins. */
interface GivenText {
  readonly line: number;
  readonly text: string;
  /** Of a pair. */
  readonly text2?: string;
}

export type InputText =
  | GivenText
  | { readonly line: number; readonly problem: string }
  /** A line that has no text, before others that have. */
  | { readonly line: number; readonly isBlank: true };

type InputTexts = AsyncGenerator<InputText, void, undefined>;

export interface TextSettings {
  /** Typed on the command line. */
  readonly texts?: readonly string[] | undefined;
  /** A file, or - for standard input. */
  readonly input?: string | undefined;
  readonly inputFormat?: InputFormat | undefined;
  readonly textColumn?: string | undefined;
  readonly text2Column?: string | undefined;
}

export interface TextOutput {
  readonly terminal: Terminal;
  readonly output: Output;
  readonly progress?: Progress;
  /** Ends the reading with an AbortedError. */
  readonly signal?: AbortSignal;
  /** Whether a line of JSON replaces the result of a text that has none. Default: as the output. */
  readonly isJson?: boolean;
  /** Whether an empty line replaces it, so that the line numbers of results and texts match. Default false. */
  readonly keepsLines?: boolean;
}

interface TextSource {
  readonly entries: InputTexts;
  /** Set before the texts are read. */
  readonly reading: Reading;
  /** Whether texts are in named columns or fields. */
  readonly hasColumns: boolean;
  /** What the lines are of, for messages. */
  readonly name: string;
  /** Share of the bytes that were read, 0 to 1; undefined if their number is unknown. */
  readonly fraction?: () => number | undefined;
  /** Ends the reading. */
  readonly stop?: () => void;
}

/** Where texts are in their records. */
interface Reading {
  readonly column: string;
  /** The column of second texts. Undefined: texts are single. */
  column2?: string | undefined;
}

/**
 * Texts in their order. What can't be read is reported in its place: before the next text, even if texts are read ahead
 * of their results.
 */
export class GivenTexts {
  readonly #source: TextSource;
  readonly #shown: TextOutput;
  /** What was read and not yet taken. */
  readonly #waiting: InputText[] = [];
  #taken = 0;

  constructor(source: TextSource, shown: TextOutput) {
    this.#source = source;
    this.#shown = shown;
    shown.output.closed.addEventListener('abort', () => this[Symbol.dispose]());
  }

  /** @throws UsageError if the command line says otherwise */
  readFor({ readsPairs, name }: Pick<Model, 'readsPairs' | 'name'>): void {
    const { reading, hasColumns } = this.#source;
    if (reading.column2 !== undefined) {
      if (!readsPairs) throw new UsageError(`${name} reads single texts; leave --text2-column out`);
      if (!hasColumns) throw new UsageError(`--text2-column: ${WITHOUT_COLUMNS}`);
    } else if (readsPairs) reading.column2 = 'text2';
  }

  /** Reads the texts; take each when its result is known. Ends when the reader of the results has gone. */
  async *read(): AsyncGenerator<string, void, undefined> {
    for await (const { text } of this.#given()) yield text;
  }

  /** The same for a model that may read pairs. */
  async *readAsked(): AsyncGenerator<ModelText, void, undefined> {
    for await (const { text, text2 } of this.#given()) yield text2 === undefined ? text : { text, text2 };
  }

  async *#given(): AsyncGenerator<GivenText, void, undefined> {
    for await (const each of this.#source.entries) {
      this.#waiting.push(each);
      if (this.#shown.output.closed.aborted) return;
      if ('text' in each) yield each;
    }
  }

  /** The next text that was read. Reports what could not be read before it. */
  async take(): Promise<GivenText> {
    await this.reportProblems();
    const first = this.#waiting.shift();
    if (first === undefined || !('text' in first)) throw new Error('a result without a text');
    this.#taken += 1;
    this.#shown.progress?.show(this.#source.fraction?.(), counted(this.#taken, 'text'));
    return first;
  }

  async reportProblems(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined && !('text' in first); first = this.#waiting[0]) {
      this.#waiting.shift();
      if ('problem' in first) await this.problem(first.line, first.problem);
      else if (this.#shown.keepsLines) await this.#shown.output.line('');
    }
  }

  async problem(line: number, message: string): Promise<void> {
    const { output, progress, isJson, keepsLines } = this.#shown;
    progress?.clear();
    await output.problem(this.#source.name, line, message, isJson);
    if (keepsLines) await output.line('');
  }

  /** The texts one by one, for results that are known before the next text is read. */
  async *[Symbol.asyncIterator](): AsyncGenerator<GivenText, void, undefined> {
    for await (const _ of this.read()) yield await this.take();
    await this.reportProblems();
  }

  [Symbol.dispose](): void {
    this.#source.stop?.();
    this.#shown.progress?.clear();
  }
}

const WITHOUT_COLUMNS = 'the texts are in no columns or fields; leave it out, or give csv, tsv or jsonl';

/**
 * @param signal ends the reading with an AbortedError
 * @throws UsageError for texts and an input at once, or an option that nothing reads; StorageError if there is no such file
 */
export async function openTextSource(
  { texts = [], input, inputFormat, textColumn, text2Column: column2 }: TextSettings,
  { stdin, stderr }: Terminal,
  signal?: AbortSignal,
): Promise<TextSource> {
  const reading: Reading = { column: textColumn ?? 'text', column2 };
  if (texts.length > 0) {
    if (input !== undefined) throw new UsageError('give texts or --input, not both');
    if (inputFormat !== undefined)
      throw new UsageError('--input-format: texts of the command line have none; leave it out');
    if (textColumn !== undefined) throw new UsageError(`--text-column: ${WITHOUT_COLUMNS}`);
    for (const file of await filesAmong(texts))
      write(stderr, `${file} is a file, but its name was used as a text; to read the file, use --input ${file}\n`);
    return { entries: withinLimits(typed(texts, reading)), reading, hasColumns: false, name: 'text' };
  }
  const format = inputFormat ?? formatOfInput(input);
  const hasColumns = format !== 'text';
  if (textColumn !== undefined && !hasColumns) throw new UsageError(`--text-column: ${WITHOUT_COLUMNS}`);
  const textsIn = (bytes: Readable) => withinLimits(textsOf({ bytes: abortableBytes(bytes, signal), format, reading }));
  if (input === undefined || input === '-') {
    if (stdin.isTTY) write(stderr, 'Type one text per line; press Ctrl+D to end.\n');
    const stop = () => void stdin.destroy();
    return { entries: textsIn(stdin), reading, hasColumns, name: 'standard input line', stop };
  }
  const { bytes, size } = await opened(input);
  return {
    entries: textsIn(bytes),
    ...{ reading, hasColumns },
    name: `${input} line`,
    fraction: () => (size === 0 ? undefined : Math.min(1, bytes.bytesRead / size)),
    stop: () => void bytes.destroy(),
  };
}

/** Also while no byte comes, as from a terminal. @throws AbortedError */
export async function* abortableBytes(
  bytes: Readable,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const stop = () => void bytes.destroy();
  signal?.addEventListener('abort', stop);
  try {
    if (signal?.aborted) stop();
    yield* bytes;
  } catch (cause) {
    throw signal?.aborted ? new AbortedError('reading the texts', { cause }) : cause;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** Texts that are names of files in all likelihood: a single word, and a file has it. */
async function filesAmong(texts: readonly string[]): Promise<readonly string[]> {
  const isFile = await Promise.all(
    texts.map(async (text) => /^\S{1,255}$/.test(text) && (await stat(text).catch(() => undefined))?.isFile() === true),
  );
  return texts.filter((_, at) => isFile[at]);
}

/** Makes a text that is too long for any model, or blank, a problem of its line. */
async function* withinLimits(texts: InputTexts): InputTexts {
  const most = MAX_QUERY_CHARACTERS.toLocaleString('en-US');
  for await (const each of texts) {
    const given = 'text' in each ? [each.text, ...(each.text2 === undefined ? [] : [each.text2])] : [];
    const isLong = given.some(({ length }) => length > MAX_QUERY_CHARACTERS);
    const isBlank = given.some((text) => text.trim() === '');
    if (isLong) yield { line: each.line, problem: `longer than ${most} UTF-16 code units` };
    else if (isBlank) yield { line: each.line, problem: 'the text is blank' };
    else yield each;
  }
}

/** @throws UsageError for half a pair */
async function* typed(texts: readonly string[], reading: Reading): InputTexts {
  const size = reading.column2 === undefined ? 1 : 2;
  if (texts.length % size > 0) throw new UsageError('the model reads pairs of texts; give two texts for each pair');
  for (let at = 0; at < texts.length; at += size) {
    const [text = '', text2] = texts.slice(at, at + size);
    yield { line: at / size + 1, text, ...(text2 !== undefined && { text2 }) };
  }
}

async function opened(path: string) {
  try {
    const entry = await stat(path);
    if (entry.isDirectory()) throw new Error('it is a folder; give a file');
    const bytes = createReadStream(path);
    await new Promise((resolve, reject) => bytes.once('open', resolve).once('error', reject));
    return { bytes, size: entry.size };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new StorageError(`the input ${path}: ${reason}`, { cause });
  }
}

const BY_ENDING: Readonly<Record<string, InputFormat>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'tsv',
};

/** Of a file by its ending; of standard input, `text`. */
export function formatOfInput(path = '-'): InputFormat {
  return BY_ENDING[extname(path).toLowerCase()] ?? 'text';
}

/**
 * Reads texts in bounded memory. A blank line is no text; blank ones at the end are skipped. What can't be read is a problem in its place, and the next
 * lines go on; a table whose header lacks the column, or whose quoting is broken, ends there.
 */
export async function* textsOf({
  bytes,
  format,
  reading,
}: {
  bytes: AsyncIterable<Uint8Array>;
  format: InputFormat;
  reading: Reading;
}): InputTexts {
  const lines = linesOf(bytes);
  if (format === 'csv' || format === 'tsv') return yield* textsOfColumn(recordsOf(lines, DIALECTS[format]), reading);
  const textIn = format === 'text' ? (text: string) => textOfLine(text, reading) : textOfJson;
  let blank: number[] = [];
  for await (const some of lines) {
    for (const line of some) {
      if ('text' in line && line.text.trim() === '') {
        blank.push(line.number);
        continue;
      }
      for (const number of blank) yield { line: number, isBlank: true };
      blank = [];
      if ('problem' in line) yield brokenLine(line);
      else yield { line: line.number, ...textIn(line.text, reading) };
    }
  }
}

type FoundText = Omit<GivenText, 'line'> | { readonly problem: string };

/** A pair is separated by a tab. */
function textOfLine(text: string, { column2 }: Reading): FoundText {
  if (column2 === undefined) return { text };
  const [first = '', second, ...more] = text.split('\t');
  if (second !== undefined && more.length === 0) return { text: first, text2: second };
  return { problem: 'the model reads pairs of texts; give two in each line, separated by a tab' };
}

async function* textsOfColumn(records: ReturnType<typeof recordsOf>, reading: Reading): InputTexts {
  const { column, column2 } = reading;
  let header: readonly string[] | undefined;
  for await (const record of records) {
    if ('problem' in record) {
      yield brokenLine(record);
      continue;
    }
    const { line, cells } = record;
    if (header === undefined) {
      header = cells;
      const lacked = [column, ...(column2 === undefined ? [] : [column2])].find((name) => !cells.includes(name));
      if (lacked === undefined) continue;
      const names = cells.map((name) => JSON.stringify(name)).join(', ');
      const flag = lacked === column ? '--text-column' : '--text2-column';
      yield {
        line,
        problem: `found the columns ${names}, but not ${JSON.stringify(lacked)}; name the right one with ${flag}`,
      };
      return;
    }
    const text = cells[header.indexOf(column)];
    const text2 = column2 === undefined ? undefined : cells[header.indexOf(column2)];
    const isWhole = text !== undefined && cells.length === header.length;
    const second = text2 !== undefined && { text2 };
    yield isWhole
      ? { line, text, ...second }
      : { line, problem: `found ${counted(cells.length, 'column')}; the header has ${header.length}` };
  }
}

function brokenLine({ number: line, problem: { found, expected } }: BrokenLine): InputText {
  return { line, problem: `${found}; expected ${expected}` };
}

function textOfJson(json: string, { column, column2 }: Reading): FoundText {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (thrown) {
    return { problem: `not JSON: ${messageOf(thrown)}` };
  }
  if (typeof value === 'string' && column2 === undefined) return { text: value };
  const fields = new Map<string, unknown>(
    Object.entries(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}),
  );
  const [text, text2] = [fields.get(column), column2 === undefined ? undefined : fields.get(column2)];
  if (typeof text !== 'string') return withoutText(column, '--text-column');
  if (column2 === undefined) return { text };
  return typeof text2 === 'string' ? { text, text2 } : withoutText(column2, '--text2-column');
}

function withoutText(field: string, flag: string): FoundText {
  const found = `found no string in the field ${JSON.stringify(field)}`;
  return { problem: `${found}; if the text is in another field, name that field with ${flag}` };
}
