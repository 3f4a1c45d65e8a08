import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ENCODINGS, isError } from '../contract/index.js';
import { SourceReader } from '../system/index.js';
import { fileKind, ZIP } from './archive-file.js';
import { DEFAULT_MAX_UNZIPPED_BYTES, MAX_LINES } from './archive-limits.js';
import { describeBytes, fileFailure, grouped, quoted, singleProblem } from './problems.js';
import { encodingOf, linesOf, type TextLine } from './text-lines.js';

/** The text of a file of rows, however it is written: in UTF-8, UTF-16 or what the caller names, with gzip or without. */

/** How the characters of a file are written. */
export type FileEncoding = (typeof ENCODINGS)[number];

export interface RowText {
  readonly lines: readonly TextLine[];
  /** What was recognized, in words: `gzip`, `UTF-16`. */
  readonly notes: readonly string[];
}

/**
 * The lines of a file. UTF-8, with and without a byte order mark, and UTF-16 are recognized, and so are gzip and lines
 * that end in a lone CR.
 * @param encoding default: UTF-8 or UTF-16, as its bytes say.
 * @throws DatasetError for what is no such text, with what to do about it
 */
export async function readRowText(path: string, encoding?: FileEncoding): Promise<RowText> {
  const file = basename(path);
  const notes: string[] = [];
  const kind = kindOf(path, file);
  if (kind === GZIP) notes.push('gzip');
  const { head, all } = await withHead(kind === GZIP ? unzipped(path) : createReadStream(path), file);
  const found = encoding ?? encodingOf(head);
  if (found !== 'utf-8') notes.push(ENCODING_NAMES[found]);
  const decoded = found === 'utf-8' ? all : recoded(all, found);
  const endsInCr = /\r(?!\n)/u.test(start(head, found)) && !start(head, found).includes('\n');
  const lines: TextLine[] = [];
  const bytes = endsInCr ? withLineFeeds(decoded) : decoded;
  try {
    for await (const some of linesOf(bytes)) {
      for (const line of some) {
        if ('problem' in line) throw undecodable(path, line.number, line.problem);
        lines.push(line);
      }
      if (lines.length > MAX_LINES) {
        const expected = 'a smaller dataset';
        throw singleProblem({ file, found: `found more than ${grouped(MAX_LINES)} lines`, expected });
      }
    }
  } catch (thrown) {
    throw readable(file, thrown);
  }
  return { lines, notes };
}

const ENCODING_NAMES: Readonly<Record<FileEncoding, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
  'windows-1252': 'Windows-1252',
};

const GZIP = 'a gzip file';

/** The commands that convert files that are not text; `FILE` and `NEW` are placeholders for the names. */
const CONVERSIONS: Readonly<Record<string, string>> = {
  'a Parquet file': `python -c "import pandas; pandas.read_parquet('FILE').to_json('NEW.jsonl', orient='records', lines=True)"`,
  'an Excel workbook': `python -c "import pandas; pandas.read_excel('FILE').to_csv('NEW.csv', index=False)"`,
  'a Git LFS pointer, not the file itself': 'git lfs pull',
};

/** @throws DatasetError for files of other kinds, and what can't be read */
function kindOf(path: string, file: string): string {
  let kind: string;
  try {
    kind = fileKind(path);
  } catch (thrown) {
    throw readable(file, thrown);
  }
  if (kind === 'an empty file')
    throw singleProblem({ file, found: 'found an empty file', expected: 'at least one row' });
  if (kind === GZIP || TEXTS.includes(kind)) return kind;
  const known = kind === ZIP && /\.(?:xlsx|xlsm|ods)$/iu.test(file) ? 'an Excel workbook' : kind;
  const command = CONVERSIONS[known]?.replace('FILE', file).replace('NEW', file.replace(/\.\w+$/u, ''));
  const unzipped = known === ZIP ? '; unzip it and give the file of rows in it' : '';
  const text = `text: CSV, JSON, JSON Lines or CoNLL${unzipped}`;
  const expected = command === undefined ? text : `text; to get it, run: ${command}`;
  throw singleProblem({ file, found: `found ${known}`, expected });
}

/** Kinds that may be rows, as far as their first bytes say; those of an unknown kind may be in another encoding. */
const TEXTS = ['a text file', 'a JSON document', 'an XML document', 'a file of an unknown kind'];

async function* unzipped(path: string): AsyncGenerator<Uint8Array> {
  const stream = createGunzip();
  // A failure ends the iteration.
  pipeline(createReadStream(path), stream, () => {});
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > DEFAULT_MAX_UNZIPPED_BYTES) {
      const found = `found more than ${describeBytes(DEFAULT_MAX_UNZIPPED_BYTES)} when unpacked`;
      throw singleProblem({ file: basename(path), found, expected: 'a smaller file' });
    }
    yield chunk;
  }
}

/** How many bytes decide how a file is written. */
const HEAD_BYTES = 65_536;

async function withHead(source: AsyncIterable<Uint8Array>, file: string) {
  const all = new SourceReader(source, { doing: `reading ${file}` });
  const first: Uint8Array[] = [];
  let length = 0;
  try {
    while (length < HEAD_BYTES) {
      const next = await all.next();
      if (next.done) break;
      first.push(next.value);
      length += next.value.length;
    }
  } catch (thrown) {
    throw readable(file, thrown);
  }
  all.putBack(first);
  return { head: Buffer.concat(first), all };
}

function start(head: Buffer, encoding: FileEncoding): string {
  return new TextDecoder(encoding).decode(head);
}

async function* recoded(bytes: AsyncIterable<Uint8Array>, encoding: FileEncoding): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

async function* withLineFeeds(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) yield chunk.map((byte) => (byte === 0x0d ? 0x0a : byte));
}

function undecodable(path: string, line: number, problem: { readonly found: string; readonly expected: string }) {
  const file = basename(path);
  if (!problem.found.includes('UTF-8')) return singleProblem({ file, line, ...problem });
  const command = `iconv -f WINDOWS-1252 -t UTF-8 ${quoted(file)}`;
  const expected = `UTF-8 text; if the file is in Windows-1252, which Excel often writes, convert it: ${command} (or give \`encoding: 'windows-1252'\`)`;
  return singleProblem({ file, line, ...problem, expected });
}

function readable(file: string, thrown: unknown): Error {
  if (isError(thrown) && thrown.name === 'DatasetError') return thrown;
  return singleProblem(
    { file, found: `it can't be read (${fileFailure(thrown)})`, expected: 'a readable file' },
    thrown,
  );
}
