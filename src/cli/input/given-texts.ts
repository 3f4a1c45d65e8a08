import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { MAX_QUERY_CHARACTERS, StorageError } from '../../contract/index.js';
import { UsageError } from '../command.js';
import type { Terminal } from '../terminal.js';
import { formatOfFile, type InputFormat, type InputTexts, textsOf } from './texts.js';

/** What the user says of the texts to read. */
interface TextSettings {
  /** Typed on the command line. */
  readonly texts?: readonly string[] | undefined;
  /** A file, or - for standard input. */
  readonly input?: string | undefined;
  readonly 'input-format'?: InputFormat | undefined;
  readonly 'text-column'?: string | undefined;
}

/** Texts, and how far their reading has come. */
export interface GivenTexts {
  readonly texts: InputTexts;
  /** What the lines are of, for messages. */
  readonly name: string;
  /** Share of the bytes that were read, 0 to 1; undefined if their number is unknown. */
  readonly fraction: () => number | undefined;
  /** Ends the reading. */
  readonly stop: () => void;
}

/**
 * The texts that a command is to work on: those on the command line, else of a file, else of standard input.
 * @throws UsageError for both of the first; StorageError if the file does not exist
 */
export async function givenTexts(
  { texts = [], input, 'input-format': format, 'text-column': column = 'text' }: TextSettings,
  { stdin, stderr }: Terminal,
): Promise<GivenTexts> {
  if (texts.length > 0) {
    if (input !== undefined) throw new UsageError('give texts or --input, not both');
    return {
      texts: withinLimits(typed(texts)),
      name: 'text',
      fraction: () => undefined,
      stop: () => undefined,
    };
  }
  if (input === undefined || input === '-') {
    if (stdin.isTTY) stderr.write('Type a text a line; Ctrl+D ends.\n');
    const source = { bytes: stdin, format: format ?? ('text' as const), column };
    const stop = () => void stdin.destroy();
    return {
      texts: withinLimits(textsOf(source)),
      name: 'standard input line',
      fraction: () => undefined,
      stop,
    };
  }
  const { bytes, size } = await opened(input);
  return {
    texts: withinLimits(textsOf({ bytes, format: format ?? formatOfFile(input), column })),
    name: `${input} line`,
    fraction: () => (size === 0 ? undefined : Math.min(1, bytes.bytesRead / size)),
    stop: () => void bytes.destroy(),
  };
}

/** A text that no model would be asked is a problem of its line. */
async function* withinLimits(texts: InputTexts): InputTexts {
  const most = MAX_QUERY_CHARACTERS.toLocaleString('en-US');
  for await (const each of texts) {
    const isLong = 'text' in each && each.text.length > MAX_QUERY_CHARACTERS;
    yield isLong ? { line: each.line, problem: `longer than ${most} UTF-16 code units` } : each;
  }
}

async function* typed(texts: readonly string[]): InputTexts {
  for (const [index, text] of texts.entries()) yield { line: index + 1, text };
}

async function opened(path: string) {
  try {
    const entry = await stat(path);
    if (entry.isDirectory()) throw new Error('EISDIR: it is a folder');
    const bytes = createReadStream(path);
    await new Promise((resolve, reject) => bytes.once('open', resolve).once('error', reject));
    return { bytes, size: entry.size };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError(`the input ${path}: ${reason}`, { cause });
  }
}
