import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { AbortedError, type DatasetError, isOrchardError, StorageError } from '../contract/index.js';
import { deleteUnseen, move } from '../system/index.js';
import { DEFAULT_MAX_ARCHIVE_ENTRIES, DEFAULT_MAX_UNZIPPED_BYTES, isClutter } from './archive-limits.js';
import { fileKind, ZIP } from './file-kind.js';
import { count, describeBytes, fileFailure, quoted, singleProblem } from './problems.js';

/** Unpacks an untrusted zip: nothing is written outside the directory, and sizes are limited. */

export interface UnzipOptions {
  /** What problems call the archive. Default: the file's name. */
  readonly name?: string;
  /** Limit on the unpacked bytes of all files together. Default {@link DEFAULT_MAX_UNZIPPED_BYTES}. */
  readonly maxBytes?: number;
  /** Limit on the entries, folders included. Default {@link DEFAULT_MAX_ARCHIVE_ENTRIES}. */
  readonly maxEntries?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Unpacks a zip into a directory of its own, whose earlier contents are deleted (a crash may have left some).
 * What operating systems leave in archives (__MACOSX, .DS_Store, …) is skipped. After an error the directory
 * may hold some of the files.
 * @returns the files written, relative to the directory with "/".
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

/** @throws DatasetError if the archive breaks a rule; otherwise whatever yauzl and the file system throw. */
async function unpack(zipPath: string, directory: string, options: NamedOptions): Promise<string[]> {
  const { name, signal, maxEntries = DEFAULT_MAX_ARCHIVE_ENTRIES } = options;
  signal?.throwIfAborted();
  // Loaded here, so that applications that only predict don't wait for it.
  const { openPromise } = await import('yauzl');
  const zip = await openPromise(zipPath, { autoClose: false });
  try {
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    if (zip.entryCount > maxEntries) {
      throw refusal(name, `found ${count(zip.entryCount)} entries`, `at most ${count(maxEntries)}`);
    }
    const files = await unpackEntries(zip, directory, options);
    refuseNestedZip(files, directory, name);
    return files;
  } finally {
    zip.close();
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
    if (path.endsWith('/')) continue;
    if (written.has(path)) throw refusal(name, `found ${quoted(path)} twice`, 'every file once');
    // yauzl stops a file that unpacks to more than it declares, so the declared sizes can be trusted.
    bytes += entry.uncompressedSize;
    if (bytes > maxBytes) {
      throw refusal(name, `unpacked, it is larger than ${describeBytes(maxBytes)}`, 'a smaller dataset');
    }
    await unpackFile(zip, entry, join(directory, path), name, signal);
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
    const found = `${path} is packed by method ${entry.compressionMethod}`;
    throw refusal(name, found, 'methods "store" or "deflate", the default of zip programs');
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
  const expected = 'a zip of the dataset folder; unpack it once';
  throw refusal(name, `it holds only another zip, ${quoted(only)}`, expected);
}

function refusal(file: string, found: string, expected: string): DatasetError {
  return singleProblem({ file, found, expected });
}

function encrypted(name: string): DatasetError {
  return refusal(name, 'found an encrypted zip', 'a zip without a password');
}

/** The problem behind an error of yauzl, whose message says what is wrong. */
function damaged(file: string, thrown: unknown): DatasetError {
  const reason = thrown instanceof Error ? thrown.message : 'the checksum differs';
  if (/encrypt/.test(reason)) return encrypted(file);
  if (/^(absolute path|invalid relative path|invalid characters)/.test(reason)) {
    return singleProblem({ file, found: reason, expected: 'paths inside the archive' }, thrown);
  }
  if (thrown instanceof Error && 'syscall' in thrown) {
    return singleProblem(
      { file, found: `an entry can't be a file (${fileFailure(thrown)})`, expected: 'plain paths' },
      thrown,
    );
  }
  const found = `found a truncated or damaged zip (${reason})`;
  return singleProblem({ file, found, expected: 'a whole zip archive' }, thrown);
}

/** The file system's error codes for an entry whose path can't be a file: the archive's fault, not the disk's. */
const PATH_ERRORS = ['EEXIST', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL'];

/** True if the file system failed; its errors carry the name of the system call. */
function isDiskError(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error && 'syscall' in thrown)) return false;
  return !('code' in thrown && PATH_ERRORS.includes(String(thrown.code)));
}

/** The same for every entry, so that the same files give the same bytes. */
const ENTRY_TIME = new Date(2000, 0, 1);

/** What an entry holds. */
type ZipContent = string | { readonly file: string };

/**
 * Writes a zip, whole or not at all; an earlier file of that path is replaced.
 * @param files contents by path inside the archive, with "/": text, or the file that has them.
 * @throws StorageError
 */
export async function writeZip(path: string, files: Readonly<Record<string, ZipContent>>): Promise<void> {
  // Loaded here, so that applications that only predict don't wait for it.
  const { ZipFile } = await import('yazl');
  const zip = new ZipFile();
  for (const [name, contents] of Object.entries(files)) {
    const options = { mtime: ENTRY_TIME, forceDosTimestamp: true };
    if (typeof contents === 'string') zip.addBuffer(Buffer.from(contents), name, options);
    else zip.addFile(contents.file, name, options);
  }
  zip.end();
  const partial = `${path}.${process.pid}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const written = pipeline(zip.outputStream, createWriteStream(partial));
    // The zip itself reports a file that can't be read, not its stream.
    const failed = new Promise<never>((_, reject) => zip.once('error', reject));
    await Promise.race([written, failed]);
    await move(partial, path);
  } catch (thrown) {
    await deleteUnseen(partial);
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`writing ${path}: ${reason}`, { cause: thrown });
  }
}
