import { isUtf8 } from 'node:buffer';
import { closeSync, createWriteStream, openSync, readSync, statSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import {
  AbortedError,
  type DatasetError,
  DownloadError,
  isError,
  isOrchardError,
  messageOf,
  StorageError,
  ValidationError,
} from '../contract/index.js';
import {
  type DownloadOptions,
  deleteUnseen,
  download,
  move,
  NetworkFailure,
  type RequestOptions,
  type RetryOptions,
  writeFailure,
} from '../system/index.js';
import {
  DEFAULT_MAX_ARCHIVE_BYTES,
  DEFAULT_MAX_ARCHIVE_ENTRIES,
  DEFAULT_MAX_UNZIPPED_BYTES,
  isClutter,
} from './archive-limits.js';
import { describeBytes, fileFailure, grouped, quoted, singleProblem } from './problems.js';

/** How many bytes at the start of a file decide its kind. */
const HEAD_BYTES = 512;

interface Signature {
  readonly kind: string;
  readonly bytes: string | readonly number[];
  /** Offset of the signature in bytes. Default 0. */
  readonly at?: number;
}

export const ZIP = 'a zip archive';

const signatures: readonly Signature[] = [
  { kind: ZIP, bytes: 'PK\x03\x04' },
  // A zip without entries consists of its end record alone.
  { kind: ZIP, bytes: 'PK\x05\x06' },
  { kind: 'a gzip file', bytes: [0x1f, 0x8b] },
  { kind: 'a tar file', bytes: 'ustar', at: 257 },
  { kind: 'a 7-Zip file', bytes: [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c] },
  { kind: 'a RAR file', bytes: 'Rar!' },
  { kind: 'a bzip2 file', bytes: 'BZh' },
  { kind: 'an xz file', bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] },
  { kind: 'a Zstandard file', bytes: [0x28, 0xb5, 0x2f, 0xfd] },
  { kind: 'a Parquet file', bytes: 'PAR1' },
  { kind: 'an Excel workbook', bytes: [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1] },
  { kind: 'an SQLite database', bytes: 'SQLite format 3' },
  { kind: 'a PDF document', bytes: '%PDF' },
  { kind: 'a Git LFS pointer, not the file itself', bytes: 'version https://git-lfs' },
];

/** What a file is, judged by its first bytes. @throws the file system's error if it can't be read */
export function fileKind(path: string): string {
  const head = Buffer.alloc(HEAD_BYTES);
  const file = openSync(path, 'r');
  try {
    return kindOf(head.subarray(0, readSync(file, head)));
  } finally {
    closeSync(file);
  }
}

function kindOf(head: Buffer): string {
  if (head.length === 0) return 'an empty file';
  const known = signatures.find(({ bytes, at = 0 }) => {
    const expected = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes);
    return head.subarray(at, at + expected.length).equals(expected);
  });
  return known?.kind ?? textKind(head);
}

function textKind(head: Buffer): string {
  const start = head
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  if (/^<(!doctype html|html|head|body|script|!--)/i.test(start)) return 'an HTML page';
  if (start.startsWith('<')) return 'an XML document';
  // The head may end within a character; its last three bytes are left out of the check.
  const isText = !head.includes(0) && isUtf8(head.subarray(0, Math.max(head.length - 3, 1)));
  if (!isText) return 'a file of an unknown kind';
  return /^[[{]/.test(start) ? 'a JSON document' : 'a text file';
}

const DEFAULT_DOWNLOAD_TIMEOUT_MS = 10 * 60 * 1000;
/** How long a server may send nothing: a minute, as some only start to pack the zip when it is requested. */
const DEFAULT_STALL_TIMEOUT_MS = 60_000;

export interface FetchDatasetOptions
  extends RetryOptions,
    Pick<RequestOptions, 'fetch' | 'stallTimeoutMs'>,
    Partial<Pick<DownloadOptions, 'maxBytes' | 'timeoutMs' | 'onProgress'>> {
  /** The folder that a download is saved in; created if needed. */
  readonly directory: string;
  readonly allowFile?: boolean;
}

/** A dataset on the local disk. `name`, the last part of its URL, is what messages call it. */
type FetchedDataset =
  | { readonly kind: 'zip'; readonly path: string; readonly name: string; readonly bytes: number }
  | { readonly kind: 'folder'; readonly path: string; readonly name: string };

/**
 * Brings the dataset at an http, https or `file:` URL to the local disk and checks that it is a zip. A local zip or
 * folder is used where it is. At most five redirects are followed, to http and https only; an interrupted download is
 * resumed.
 * @throws ValidationError for a URL that isn't allowed, DatasetError for a file that isn't a zip, DownloadError,
 * AbortedError, StorageError
 */
export async function fetchDataset(dataset_url: string, options: FetchDatasetOptions): Promise<FetchedDataset> {
  const { maxBytes = DEFAULT_MAX_ARCHIVE_BYTES } = options;
  const url = checkedUrl(dataset_url, options.allowFile ?? false);
  const dataset =
    url.protocol === 'file:' ? localDataset(url, maxBytes) : await downloadedDataset(url, { ...options, maxBytes });
  if (dataset.kind === 'folder') return dataset;
  const kind = reading(url, () => fileKind(dataset.path));
  if (kind === ZIP) return dataset;
  const expected = 'a zip archive; give a URL that downloads the zip itself';
  throw singleProblem({ file: dataset.name, found: `found ${kind}`, expected });
}

function checkedUrl(dataset_url: string, allowFile: boolean): URL {
  const schemes = allowFile ? 'http, https or file' : 'http or https';
  if (!URL.canParse(dataset_url)) throw invalidUrl(`not a URL; give an ${schemes} URL of a zip`);
  const url = new URL(dataset_url);
  const allowed = allowFile ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  if (!allowed.includes(url.protocol)) {
    throw invalidUrl(`a URL with the scheme ${url.protocol.slice(0, -1)}; give an ${schemes} URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidUrl('the URL contains a user name or password; give a URL without them');
  }
  return url;
}

function invalidUrl(msg: string): ValidationError {
  return new ValidationError([{ loc: ['dataset_url'], msg, type: 'dataset_url' }]);
}

async function downloadedDataset(
  url: URL,
  options: FetchDatasetOptions & { readonly maxBytes: number },
): Promise<FetchedDataset> {
  const { directory, timeoutMs = DEFAULT_DOWNLOAD_TIMEOUT_MS, stallTimeoutMs = DEFAULT_STALL_TIMEOUT_MS } = options;
  try {
    await mkdir(directory, { recursive: true });
  } catch (thrown) {
    throw new StorageError(`making a folder for the dataset: ${thrown}`, { cause: thrown });
  }
  const path = join(directory, 'dataset.zip');
  const bytes = await download({
    ...options,
    timeoutMs,
    stallTimeoutMs,
    url,
    file: path,
    headers: { accept: 'application/zip, application/octet-stream, */*' },
  }).catch((thrown) => {
    throw downloadError(thrown, url, options);
  });
  return { kind: 'zip', path, name: posix.basename(url.pathname) || url.host, bytes };
}

function downloadError(
  thrown: unknown,
  { href }: URL,
  { signal, maxBytes }: { readonly signal?: AbortSignal | undefined; readonly maxBytes: number },
): unknown {
  if (signal?.aborted) return new AbortedError('the download of dataset_url', { cause: thrown });
  if (!(thrown instanceof NetworkFailure)) return thrown;
  const { message, status, isTooLarge } = thrown;
  const reason = isTooLarge ? `the file is larger than the limit of ${describeBytes(maxBytes)}` : message;
  return new DownloadError(href, reason, status, { cause: thrown });
}

function localDataset(url: URL, maxBytes: number): FetchedDataset {
  const path = localPath(url);
  const name = basename(path);
  const found = reading(url, () => statSync(path));
  if (found.isDirectory()) return { kind: 'folder', path, name };
  if (!found.isFile()) throw new DownloadError(url.href, 'neither a file nor a folder');
  if (found.size > maxBytes) {
    throw new DownloadError(url.href, `larger than the limit of ${describeBytes(maxBytes)}`);
  }
  return { kind: 'zip', path, name, bytes: found.size };
}

function localPath(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (thrown) {
    const reason = messageOf(thrown);
    throw invalidUrl(`not the URL of a local file (${reason})`);
  }
}

function reading<T>(url: URL, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const isAbsent = isError(thrown) && 'code' in thrown && thrown.code === 'ENOENT';
    const reason = isAbsent ? 'there is no such file or folder' : `it can't be read (${fileFailure(thrown)})`;
    throw new DownloadError(url.href, reason, undefined, { cause: thrown });
  }
}

export interface UnzipOptions {
  readonly name?: string;
  /** Limit on the unpacked bytes of all files together. Default {@link DEFAULT_MAX_UNZIPPED_BYTES}. */
  readonly maxBytes?: number;
  /** Limit on the entries, folders included. Default {@link DEFAULT_MAX_ARCHIVE_ENTRIES}. */
  readonly maxEntries?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Unpacks an untrusted zip into a directory of its own, whose earlier contents are deleted. What operating systems
 * leave in archives is skipped. After an error the directory may hold some of the files.
 * @returns the files written, relative to the directory with "/"
 * @throws DatasetError, StorageError, AbortedError
 */
export async function unzip(
  zipPath: string,
  directory: string,
  options: UnzipOptions = {},
): Promise<readonly string[]> {
  const { signal, name = basename(zipPath) } = options;
  try {
    return await unpack(zipPath, directory, { ...options, name });
  } catch (thrown) {
    if (signal?.aborted) throw new AbortedError('unpacking the dataset', { cause: thrown });
    if (isOrchardError(thrown)) throw thrown;
    if (!isDiskError(thrown)) throw damaged(name, thrown);
    throw new StorageError(`unpacking ${name}: ${thrown.message}`, { cause: thrown });
  }
}

type NamedOptions = UnzipOptions & { readonly name: string };

async function unpack(zipPath: string, directory: string, options: NamedOptions): Promise<string[]> {
  const { name, signal, maxEntries = DEFAULT_MAX_ARCHIVE_ENTRIES } = options;
  signal?.throwIfAborted();
  await checkEnd(zipPath);
  // Loaded here, so that applications that only predict don't wait for it.
  const { openPromise } = await import('yauzl');
  const zip = await openPromise(zipPath, { autoClose: false });
  try {
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    if (zip.entryCount > maxEntries) {
      throw refusal(name, `found ${grouped(zip.entryCount)} entries`, `at most ${grouped(maxEntries)}`);
    }
    const files = await unpackEntries(zip, directory, options);
    refuseNestedZip(files, directory, name);
    return files;
  } finally {
    zip.close();
  }
}

/** Sizes in bytes of the end record, its longest comment, and the zip64 locator before it (APPNOTE.TXT 4.3.15 and 4.3.16). */
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const LOCATOR_BYTES = 20;

/** Where the locator points, yauzl reads unchecked: an offset of 2^53 or more makes Node throw where nothing can catch it. */
async function checkEnd(zipPath: string): Promise<void> {
  const buffer = Buffer.alloc(LOCATOR_BYTES + END_BYTES + MAX_COMMENT_BYTES);
  const file = await open(zipPath);
  try {
    const { size } = await file.stat();
    const { bytesRead } = await file.read(buffer, 0, buffer.length, Math.max(0, size - buffer.length));
    const tail = buffer.subarray(0, bytesRead);
    const locator = tail.lastIndexOf('PK\x05\x06', -END_BYTES, 'latin1') - LOCATOR_BYTES;
    if (locator < 0 || tail.toString('latin1', locator, locator + 4) !== 'PK\x06\x07') return;
    if (tail.readBigUInt64LE(locator + 8) > size) throw new Error('its zip64 end record is outside of the file');
  } finally {
    await file.close();
  }
}

async function unpackEntries(zip: ZipFile, directory: string, options: NamedOptions): Promise<string[]> {
  const { name, signal, maxBytes = DEFAULT_MAX_UNZIPPED_BYTES } = options;
  const written = new Set<string>();
  let bytes = 0;
  for await (const entry of zip.eachEntry()) {
    const path = entry.fileName;
    if (isClutter(path)) continue;
    checkEntry(entry, name);
    if (entry.relativeOffsetOfLocalHeader > zip.fileSize) throw new Error('an entry is outside of the file');
    if (path.endsWith('/')) continue;
    if (written.has(path)) throw refusal(name, `found ${quoted(path)} twice`, 'each file once');
    // yauzl stops a file that unpacks to more than it declares, so the declared sizes can be trusted.
    bytes += entry.uncompressedSize;
    if (bytes > maxBytes) {
      throw refusal(name, `unpacked, it is larger than ${describeBytes(maxBytes)}`, 'a smaller dataset');
    }
    await unpackFile(zip, entry, join(directory, path), name, signal).catch((thrown: unknown) => {
      if (!isPathError(thrown)) throw thrown;
      const found = `the entry ${quoted(path)} can't be written (${fileFailure(thrown)})`;
      throw singleProblem({ file: name, found, expected: 'entries with different, valid file names' }, thrown);
    });
    written.add(path);
  }
  if (written.size === 0) throw refusal(name, 'found no files in it', 'a zip of the dataset folder');
  return [...written];
}

const FILE_TYPE_BITS = 0o170000;
/** Unix file types that may be unpacked: none given, a regular file, a directory. Links and devices are not. */
const PLAIN_FILE_TYPES = [0, 0o100000, 0o040000];

function checkEntry(entry: Entry, name: string): void {
  const path = quoted(entry.fileName);
  // yauzl itself refuses absolute paths and "..".
  if (entry.fileName.includes('\0')) throw refusal(name, `found the name ${path}`, 'plain file names');
  if (entry.isEncrypted()) throw encrypted(name);
  if (!PLAIN_FILE_TYPES.includes((entry.externalFileAttributes >>> 16) & FILE_TYPE_BITS)) {
    throw refusal(name, `${path} is a link or a device`, 'files and folders only');
  }
  if (!entry.canDecodeFileData()) {
    const found = `${path} is compressed with method ${entry.compressionMethod}`;
    throw refusal(name, found, 'the method "store" or "deflate", the default of zip programs');
  }
}

async function unpackFile(
  zip: ZipFile,
  entry: Entry,
  target: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  let checksum = 0;
  const summing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      checksum = crc32(chunk, checksum);
      done(null, chunk);
    },
  });
  const source = await zip.openReadStreamPromise(entry);
  // wx: on a file system that ignores case, two names may mean one file, which must not be overwritten.
  const sink = createWriteStream(target, { flags: 'wx' });
  await pipeline(source, summing, sink, { ...(signal && { signal }) });
  if (checksum !== entry.crc32) throw damaged(`${name}, ${entry.fileName}`, undefined);
}

function refuseNestedZip(files: readonly string[], directory: string, name: string): void {
  const [only] = files;
  if (files.length !== 1 || only === undefined || fileKind(join(directory, only)) !== ZIP) return;
  const expected = 'a zip of the dataset folder; unpack the outer zip';
  throw refusal(name, `found only another zip in it, ${quoted(only)}`, expected);
}

function refusal(file: string, found: string, expected: string): DatasetError {
  return singleProblem({ file, found, expected });
}

function encrypted(name: string): DatasetError {
  return refusal(name, 'found an encrypted zip', 'a zip without a password');
}

function damaged(file: string, thrown: unknown): DatasetError {
  const reason = isError(thrown) ? thrown.message : 'the checksum differs';
  if (/encrypt/.test(reason)) return encrypted(file);
  if (/^(absolute path|invalid relative path|invalid characters)/.test(reason)) {
    return singleProblem({ file, found: reason, expected: 'paths inside the archive' }, thrown);
  }
  const found = `found a truncated or damaged zip (${reason})`;
  return singleProblem({ file, found, expected: 'a complete zip archive' }, thrown);
}

/** The file system's error codes for an entry whose path can't be a file: the archive's fault, not the disk's. */
const PATH_ERRORS = ['EEXIST', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL'];

function isPathError(thrown: unknown): boolean {
  return isDiskError(thrown) && 'code' in thrown && PATH_ERRORS.includes(String(thrown.code));
}

/** True if the file system failed; its errors carry the name of the system call. */
function isDiskError(thrown: unknown): thrown is Error {
  return isError(thrown) && 'syscall' in thrown;
}

/** The same for every entry, so that the same files give the same bytes. */
const ENTRY_TIME = new Date(2000, 0, 1);

type ZipContent = string | { readonly file: string };

/** Where {@link writeZip} writes until the zip is whole. */
export function partialPath(path: string): string {
  return `${path}.${process.pid}.partial`;
}

/** Writes a zip, whole or not at all; an earlier file of that path is replaced. @throws StorageError */
export async function writeZip(path: string, files: Readonly<Record<string, ZipContent>>): Promise<void> {
  const { ZipFile } = await import('yazl');
  const partial = partialPath(path);
  // The zip itself reports a file that can't be read, not its stream.
  const failing = new AbortController();
  const { signal } = failing;
  try {
    await mkdir(dirname(path), { recursive: true });
    const zip = new ZipFile();
    zip.on('error', (error) => failing.abort(error));
    for (const [name, contents] of Object.entries(files)) {
      const options = { mtime: ENTRY_TIME, forceDosTimestamp: true };
      if (typeof contents === 'string') zip.addBuffer(Buffer.from(contents), name, options);
      else zip.addFile(contents.file, name, options);
    }
    zip.end();
    await pipeline(zip.outputStream, createWriteStream(partial), { signal });
    await move(partial, path);
  } catch (thrown) {
    await deleteUnseen(partial);
    throw await writeFailure(path, signal.aborted ? signal.reason : thrown);
  }
}
