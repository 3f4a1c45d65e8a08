import { fsync } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { StorageError } from '../contract/index.js';
import { NetworkFailure } from './network-failure.js';
import { type RequestOptions, type RetryOptions, request, withRetry } from './request.js';

export interface DownloadProgress {
  /** Bytes on disk; falls if the download starts anew. */
  readonly receivedBytes: number;
  /** Size that the server announces, if it does. */
  readonly totalBytes: number | undefined;
}

export interface DownloadOptions extends RequestOptions, RetryOptions {
  /** Path of the file to write. */
  readonly file: string;
  readonly maxBytes: number;
  /** The file's size, if it is known beforehand. */
  readonly expectedBytes?: number;
  /** For the whole download, redirects and retries included. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether a partial file is kept: what an earlier download left in `file` is resumed, and what this one has
   * when it fails stays there. Only for files that the caller checks afterwards. Default false: the file is
   * written anew, and removed on failure.
   */
  readonly keepsPart?: boolean;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/**
 * What the server announced about the file whose first bytes are on disk; empty if the caller checks the
 * bytes.
 */
interface Source {
  etag: string | undefined;
  totalBytes: number | undefined;
}

/**
 * Downloads a URL to a file. A download that breaks off is repeated, and resumed if the server can tell that
 * its file is unchanged; otherwise it starts anew.
 * @returns the bytes of the file.
 * @throws NetworkFailure, StorageError; the signal's reason; an OrchardError that `options.fetch` rejects
 *   with.
 */
export async function download(options: DownloadOptions): Promise<number> {
  const { file, keepsPart = false, timeoutMs, signal: stop } = options;
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([stop, timeout].filter((each) => each !== undefined));
  const remove = () => onDisk(file, rm(file, { force: true }));
  try {
    signal.throwIfAborted();
    if (!keepsPart) await remove();
    const limited = { ...options, signal };
    const source: Source = { etag: undefined, totalBytes: undefined };
    await withRetry(
      () => fetchRest(limited, source),
      limited,
      () => bytesOf(file),
    );
    return await bytesOf(file);
  } catch (thrown) {
    const isUseless = thrown instanceof NetworkFailure && thrown.isTooLarge;
    // If it can't be removed, the first failure is still the one to report.
    if (!keepsPart || isUseless) await remove().catch(() => undefined);
    if (timeoutMs === undefined || thrown !== timeout?.reason) throw thrown;
    throw new NetworkFailure(`the download took longer than ${timeoutMs / 1000} s`, { cause: thrown });
  }
}

/**
 * Fetches the rest of the file.
 * @throws NetworkFailure, a transient one if bytes are still missing afterwards.
 */
async function fetchRest(options: DownloadOptions, source: Source): Promise<void> {
  const { file, maxBytes, expectedBytes, keepsPart } = options;
  const here = await bytesOf(file);
  if (here > 0 && here === expectedBytes) return;
  const mayGoOn = here <= maxBytes && (keepsPart || source.etag !== undefined);
  const start = mayGoOn ? here : 0;
  const headers = { ...options.headers, ...(start > 0 && restHeaders(start, source)) };
  try {
    await request({ ...options, headers }, (response, pieces) =>
      save(response, pieces, options, start, source),
    );
  } catch (thrown) {
    const isBeyondEnd = thrown instanceof NetworkFailure && thrown.status === 416 && start > 0;
    if (!isBeyondEnd) throw thrown;
    // The server's file has no bytes after the part that is here, so that part is of another file.
    await onDisk(file, rm(file, { force: true }));
    await fetchRest(options, source);
  }
}

/** Headers that ask for the bytes from `start` on; for all of them if the file has changed. */
function restHeaders(start: number, { etag }: Source): Record<string, string> {
  const range = `bytes=${start}-`;
  return etag === undefined ? { range } : { range, 'if-range': etag };
}

async function save(
  response: Response,
  pieces: AsyncIterable<Uint8Array>,
  { file, maxBytes, expectedBytes, keepsPart, onProgress }: DownloadOptions,
  start: number,
  source: Source,
): Promise<void> {
  // A server that does not support ranges, or whose file has changed, answers 200 with the whole file.
  const from = response.status === 206 ? rangeStart(response) : 0;
  const announced = announcedBy(response);
  if (from !== 0) await requireRest(file, { from, start }, source, announced);
  else if (!keepsPart) Object.assign(source, announced);
  const { totalBytes } = announced;
  if (totalBytes !== undefined && totalBytes > maxBytes) throw tooLarge(maxBytes);
  const handle = await onDisk(file, open(file, from === 0 ? 'w' : 'a'));
  let receivedBytes = from;
  try {
    for await (const piece of pieces) {
      receivedBytes += piece.byteLength;
      if (receivedBytes > maxBytes) throw tooLarge(maxBytes);
      await onDisk(file, handle.appendFile(piece));
      onProgress?.({ receivedBytes, totalBytes });
    }
    // Yarn's Plug'n'Play has no `sync` of a FileHandle.
    if (keepsPart) await onDisk(file, promisify(fsync)(handle.fd));
  } finally {
    await handle.close();
  }
  const wanted = expectedBytes ?? totalBytes ?? receivedBytes;
  if (receivedBytes !== wanted) throw broken(`the server sent ${receivedBytes} of ${wanted} bytes`);
}

/** Checks that an answer starts where the file ends, and is of the same file. */
async function requireRest(
  file: string,
  { from, start }: { readonly from: number; readonly start: number },
  before: Source,
  now: Source,
): Promise<void> {
  if (from !== start) throw broken(`the server sent bytes from ${from} on, not from ${start} on`);
  if (!differ(before.etag, now.etag) && !differ(before.totalBytes, now.totalBytes)) return;
  await onDisk(file, rm(file, { force: true }));
  throw broken('the file changed while it was downloaded');
}

const differ = <T>(one: T | undefined, other: T | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

const broken = (reason: string): NetworkFailure => new NetworkFailure(reason, { isTransient: true });

function tooLarge(maxBytes: number): NetworkFailure {
  return new NetworkFailure(`the file is larger than ${maxBytes} bytes`, { isTooLarge: true });
}

/**
 * Size and version of the file, as far as the response announces them. If the body was encoded on the way,
 * its headers describe the encoded body, and both are unknown.
 */
function announcedBy({ status, headers }: Response): Source {
  const isEncoded = (headers.get('content-encoding') ?? 'identity') !== 'identity';
  if (isEncoded) return { etag: undefined, totalBytes: undefined };
  const size = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  const etag = headers.get('etag') ?? '';
  return {
    totalBytes: /^\d+$/.test(size ?? '') ? Number(size) : undefined,
    // RFC 9110, 13.1.5: `If-Range` takes only strong validators.
    etag: etag.startsWith('"') ? etag : undefined,
  };
}

/** From `Content-Range: bytes 100-199/200`. */
function rangeStart(response: Response): number {
  const [, start] = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '') ?? [];
  return Number(start ?? Number.NaN);
}

async function bytesOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** Turns errors of the disk into StorageErrors, since they share their codes with errors of the network. */
async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`saving ${path}: ${reason}`, { cause: thrown });
  }
}
