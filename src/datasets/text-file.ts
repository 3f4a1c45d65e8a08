/**
 * Reads text files of a dataset as strict UTF-8, so that a wrong encoding is reported and never trained on.
 */
import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { AbortedError, type DatasetProblem } from '../errors.js';
import { isPauseDue, pause } from '../pauses.js';
import { MAX_LINE_BYTES, MAX_LINES, MAX_TEXT_BYTES } from './archive-limits.js';
import { fileFailure } from './file-failure.js';
import { count, counted, describeBytes, type ProblemList } from './problems.js';

/** A line without its line break. */
export interface TextLine {
  /** 1-based. */
  readonly number: number;
  readonly text: string;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const UTF8_BOM = [0xef, 0xbb, 0xbf];
/** What decoding puts in place of bytes that aren't UTF-8. */
const REPLACEMENT = '\uFFFD';
const REPLACEMENT_BYTES = [0xef, 0xbf, 0xbd];
const UTF16_BOMS = [
  [0xff, 0xfe],
  [0xfe, 0xff],
];

/** How many lines are read between two looks at the clock, which takes longer than reading one. */
const LINES_A_LOOK = 64;

/**
 * The lines of a file. A line ends at LF or CRLF and nowhere else (U+2028 and a lone CR belong to the text);
 * what follows the last line break is a line only if it isn't empty. A leading byte order mark is dropped.
 * Each line that isn't UTF-8, or is longer than {@link MAX_LINE_BYTES}, becomes a problem and is left out;
 * after {@link MAX_LINES} nothing more is read.
 * @param name the file's path inside the archive, for problems.
 * @returns undefined if the file can't be read at all or is UTF-16, after adding a problem.
 * @throws AbortedError soon after the signal fires.
 */
export async function readLines(
  path: string,
  name: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<TextLine[] | undefined> {
  const bytes = await readTextBytes(path, name, problems, signal);
  if (bytes === undefined) return undefined;
  const allValid = isUtf8(bytes);
  const lines: TextLine[] = [];
  for (const { number, content } of splitLines(bytes)) {
    if (number % LINES_A_LOOK === 0 && isPauseDue()) await pause(signal);
    if (number > MAX_LINES) {
      problems.add(tooLarge(name, `more than ${count(MAX_LINES)} lines`, 'a smaller dataset'));
      break;
    }
    if (content.length > MAX_LINE_BYTES) problems.add(longLine(name, number, content));
    else if (allValid || isUtf8(content)) lines.push({ number, text: content.toString('utf8') });
    else problems.add(undecodable(name, number, content));
  }
  return lines;
}

/**
 * The whole text of a file without its byte order mark.
 * @returns undefined if the file can't be read, is larger than {@link MAX_TEXT_BYTES} or isn't UTF-8, after
 * adding a problem, or one for each line that isn't UTF-8.
 * @throws AbortedError soon after the signal fires.
 */
export async function readText(
  path: string,
  name: string,
  problems: ProblemList,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const bytes = await readTextBytes(path, name, problems, signal, MAX_TEXT_BYTES);
  if (bytes === undefined) return undefined;
  if (isUtf8(bytes)) return bytes.toString('utf8');
  for (const { number, content } of splitLines(bytes)) {
    if (isPauseDue()) await pause(signal);
    if (!isUtf8(content)) problems.add(undecodable(name, number, content));
  }
  return undefined;
}

async function readTextBytes(
  path: string,
  name: string,
  problems: ProblemList,
  signal: AbortSignal | undefined,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Buffer | undefined> {
  let bytes: Buffer;
  try {
    const { size } = await stat(path);
    if (size > maxBytes) {
      problems.add(tooLarge(name, counted(size, 'byte'), `at most ${describeBytes(maxBytes)}`));
      return undefined;
    }
    bytes = await readFile(path, { signal });
  } catch (thrown) {
    if (signal?.aborted) throw new AbortedError('reading the dataset', { cause: thrown });
    problems.add({
      file: name,
      found: `it can't be read (${fileFailure(thrown)})`,
      expected: 'a readable file',
    });
    return undefined;
  }
  if (UTF16_BOMS.some((mark) => startsWith(bytes, mark))) {
    problems.add({
      file: name,
      found: 'found UTF-16 text (it starts with a UTF-16 byte order mark)',
      expected: 'UTF-8 text; save the file as UTF-8',
    });
    return undefined;
  }
  return startsWith(bytes, UTF8_BOM) ? bytes.subarray(UTF8_BOM.length) : bytes;
}

function startsWith(bytes: Buffer, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte);
}

function* splitLines(bytes: Buffer): Generator<{ number: number; content: Buffer }> {
  let start = 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const found = bytes.indexOf(LINE_FEED, start);
    const next = found === -1 ? bytes.length : found + 1;
    const beforeBreak = found === -1 ? bytes.length : found;
    const isCrLf = found > start && bytes[found - 1] === CARRIAGE_RETURN;
    yield { number, content: bytes.subarray(start, isCrLf ? beforeBreak - 1 : beforeBreak) };
    start = next;
  }
}

function tooLarge(file: string, size: string, expected: string): DatasetProblem {
  return { file, found: `found ${size}`, expected };
}

function longLine(file: string, line: number, content: Buffer): DatasetProblem {
  const expected = `at most ${describeBytes(MAX_LINE_BYTES)} per line`;
  return { file, line, found: `found ${counted(content.length, 'byte')} in one line`, expected };
}

function undecodable(file: string, line: number, content: Buffer): DatasetProblem {
  const decoded = decodablePrefix(content);
  const byte = content[Buffer.byteLength(decoded)] ?? 0;
  return {
    file,
    line,
    column: decoded.length + 1,
    found: `found the byte 0x${byte.toString(16).toUpperCase().padStart(2, '0')}, which isn't UTF-8 here`,
    expected: 'UTF-8 text; save the file as UTF-8',
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
