import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { AbortedError, type DatasetProblem } from '../contract/index.js';
import { isPauseDue, pause } from '../system/index.js';
import { MAX_LINE_BYTES, MAX_LINES, MAX_TEXT_BYTES } from './archive-limits.js';
import { counted, describeBytes, fileFailure, grouped, type ProblemList } from './problems.js';

/** Reads text as strict UTF-8, so that a wrong encoding is reported and never trained on. */

export interface TextLine {
  readonly number: number;
  readonly text: string;
}

export interface BrokenLine {
  readonly number: number;
  readonly problem: Omit<DatasetProblem, 'file' | 'line'>;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const UTF8_BOM = [0xef, 0xbb, 0xbf];
/** What decoding puts in place of bytes that aren't UTF-8. */
const REPLACEMENT = '\uFFFD';
const REPLACEMENT_BYTES = [0xef, 0xbf, 0xbd];
const UTF16 = { found: 'found UTF-16 text', expected: 'UTF-8 text; save the file as UTF-8' };
/** Bytes of a text that tell its encoding. */
const HEAD_BYTES = 1000;

/**
 * The lines of a stream, one array for each chunk of bytes, in bounded memory. A line ends at LF or CRLF and nowhere
 * else (U+2028 and a lone CR belong to the text); what follows the last line break is a line only if it isn't empty. A
 * leading byte order mark is dropped. A line that isn't UTF-8, or is longer than {@link MAX_LINE_BYTES}, comes as a
 * problem. UTF-16 is one problem, and nothing else.
 */
export async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly (TextLine | BrokenLine)[], void, undefined> {
  const pending = new PendingLine();
  for await (const chunk of bytes) {
    const lines: (TextLine | BrokenLine)[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      pending.add(chunk.subarray(start, end));
      lines.push(pending.take(true));
      start = end + 1;
    }
    pending.add(chunk.subarray(start));
    if (pending.isUtf16) return yield [{ number: 1, problem: UTF16 }];
    if (lines.length > 0) yield lines;
  }
  if (pending.isEmpty) return;
  const last = pending.take(false);
  yield [pending.isUtf16 ? { number: 1, problem: UTF16 } : last];
}

/** UTF-16 has a byte order mark or, of texts in European scripts, a zero in every second byte. */
export function encodingOf(head: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const some = head.subarray(0, HEAD_BYTES);
  const zeros = (from: number) => some.filter((byte, at) => at % 2 === from && byte === 0).length;
  const most = some.length / 4;
  if (zeros(1) > most && zeros(0) === 0) return 'utf-16le';
  if (zeros(0) > most && zeros(1) === 0) return 'utf-16be';
  return 'utf-8';
}

class PendingLine {
  #chunks: Uint8Array[] = [];
  #length = 0;
  #number = 1;
  isUtf16 = false;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length <= MAX_LINE_BYTES) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  /** The whole line; the next one begins. @param hasLineFeed whether a line feed ends it */
  take(hasLineFeed: boolean): TextLine | BrokenLine {
    const [first = new Uint8Array()] = this.#chunks;
    const whole = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    const [length, number] = [this.#length, this.#number];
    this.#chunks = [];
    this.#length = 0;
    this.#number += 1;
    if (length > MAX_LINE_BYTES) {
      const found = `found ${counted(length, 'byte')} in one line`;
      return { number, problem: { found, expected: `at most ${describeBytes(MAX_LINE_BYTES)} per line` } };
    }
    if (number === 1) this.isUtf16 = encodingOf(whole) !== 'utf-8';
    const from = number === 1 && startsWith(whole, UTF8_BOM) ? UTF8_BOM.length : 0;
    const to = hasLineFeed && whole.at(-1) === CARRIAGE_RETURN ? whole.length - 1 : whole.length;
    const content = Buffer.from(whole.buffer, whole.byteOffset + from, Math.max(0, to - from));
    if (isUtf8(content)) return { number, text: content.toString('utf8') };
    return { number, problem: undecodable(content) };
  }
}

/**
 * The lines of a file. Each that can't be read becomes a problem; after {@link MAX_LINES} nothing more is read.
 * @throws AbortedError soon after the signal fires
 */
export async function* fileLines(
  path: string,
  name: string,
  problems: ProblemList,
  signal?: AbortSignal,
): AsyncGenerator<readonly TextLine[], void, undefined> {
  try {
    for await (const some of linesOf(createReadStream(path, { signal }))) {
      if ((some.at(-1)?.number ?? 0) > MAX_LINES) {
        return problems.add(tooLarge(name, `more than ${grouped(MAX_LINES)} lines`, 'a smaller dataset'));
      }
      for (const line of some) if ('problem' in line) problems.add({ file: name, line: line.number, ...line.problem });
      yield some.filter((line) => 'text' in line);
      if (isPauseDue()) await pause(signal);
    }
  } catch (thrown) {
    problems.add(unreadable(name, thrown, signal));
  }
}

export async function readLines(...file: Parameters<typeof fileLines>): Promise<TextLine[]> {
  const lines: TextLine[] = [];
  for await (const some of fileLines(...file)) for (const line of some) lines.push(line);
  return lines;
}

/**
 * The whole text of a file without its byte order mark; undefined after adding a problem.
 * @throws AbortedError soon after the signal fires
 */
export async function readText(
  path: string,
  name: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    const { size } = await stat(path);
    if (size > MAX_TEXT_BYTES) {
      problems.add(tooLarge(name, counted(size, 'byte'), `at most ${describeBytes(MAX_TEXT_BYTES)}`));
      return undefined;
    }
    bytes = await readFile(path, { signal });
  } catch (thrown) {
    problems.add(unreadable(name, thrown, signal));
    return undefined;
  }
  if (isUtf8(bytes)) return bytes.toString('utf8').replace(/^\uFEFF/, '');
  await readLines(path, name, problems, signal);
  return undefined;
}

function startsWith(bytes: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte);
}

function unreadable(file: string, thrown: unknown, signal: AbortSignal | undefined): DatasetProblem {
  if (signal?.aborted) throw new AbortedError('reading the dataset', { cause: thrown });
  return { file, found: `it can't be read (${fileFailure(thrown)})`, expected: 'a readable file' };
}

function tooLarge(file: string, size: string, expected: string): DatasetProblem {
  return { file, found: `found ${size}`, expected };
}

function undecodable(content: Buffer): BrokenLine['problem'] {
  const decoded = decodablePrefix(content);
  const byte = content[Buffer.byteLength(decoded)] ?? 0;
  return {
    column: decoded.length + 1,
    found: `found the byte 0x${byte.toString(16).toUpperCase().padStart(2, '0')}, which isn't UTF-8 here`,
    expected: UTF16.expected,
  };
}

/** The longest start of `bytes` that is whole UTF-8 characters. */
function decodablePrefix(bytes: Buffer): string {
  const decoded = bytes.toString('utf8');
  let offset = 0;
  let counted = 0;
  for (let at = decoded.indexOf(REPLACEMENT); at !== -1; at = decoded.indexOf(REPLACEMENT, at + 1)) {
    offset += Buffer.byteLength(decoded.slice(counted, at));
    counted = at;
    // The text itself may contain the character too.
    if (!startsWith(bytes.subarray(offset), REPLACEMENT_BYTES)) return decoded.slice(0, at);
  }
  return decoded;
}
