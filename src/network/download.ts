import { open, rm, stat } from 'node:fs/promises';
import { StorageError } from '../errors.js';
import { NetworkFailure } from './network-failure.js';
import { type RequestOptions, request } from './request.js';
import { type RetryOptions, retrying } from './retrying.js';

export interface DownloadProgress {
  /** On the disk; fewer than before where the download starts anew. */
  readonly receivedBytes: number;
  /** As the server announces it, where it does. */
  readonly totalBytes: number | undefined;
}

export interface DownloadOptions extends RequestOptions, RetryOptions {
  /** Path of the file to write. */
  readonly file: string;
  readonly maxBytes: number;
  /** The file's size, where it is known before. */
  readonly expectedBytes?: number;
  /** For the whole download, redirects and repetitions included. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * For bytes that the caller checks afterwards: a part that an earlier download left in `file` is gone on from, and
   * what this one has when it fails stays there. Default false: the file is written anew; a failure leaves none.
   */
  readonly keepsPart?: boolean;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** What the server said about the file that the bytes on the disk are of; nothing where the caller checks them. */
interface Source {
  etag: string | undefined;
  totalBytes: number | undefined;
}

/**
 * Downloads a URL to a file. What breaks off is repeated, and goes on where it was if the server can tell that its file
 * is the same still; else it starts anew.
 * @returns the bytes of the file.
 * @throws NetworkFailure, StorageError; the signal's reason; an error of ours that `options.fetch` rejects with.
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
    await retrying(
      () => fetchRest(limited, source),
      limited,
      () => bytesOf(file),
    );
    return await bytesOf(file);
  } catch (thrown) {
    const isUseless = thrown instanceof NetworkFailure && thrown.isTooLarge;
    // Where it can't be removed, the failure before is still the one to tell.
    if (!keepsPart || isUseless) await remove().catch(() => undefined);
    if (timeoutMs === undefined || thrown !== timeout?.reason) throw thrown;
    throw new NetworkFailure(`the download took longer than ${timeoutMs / 1000} s`, { cause: thrown });
  }
}

/** Fetches what the file lacks. @throws NetworkFailure, a passing one where something is still lacking then. */
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
    // The server's file has no more bytes after the part that is here: that part is of another file.
    await onDisk(file, rm(file, { force: true }));
    await fetchRest(options, source);
  }
}

/** Asks for the bytes from `start` on; for all of them where the file is another one by now. */
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
  // A server that knows no ranges, or whose file has changed, answers 200 with all of it.
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
    if (keepsPart) await onDisk(file, handle.sync());
  } finally {
    await handle.close();
  }
  const wanted = expectedBytes ?? totalBytes ?? receivedBytes;
  if (receivedBytes !== wanted) throw broken(`the server sent ${receivedBytes} of ${wanted} bytes`);
}

/** Sees that an answer goes on where the file ends, and is of the same file. */
async function requireRest(
  file: string,
  { from, start }: { readonly from: number; readonly start: number },
  before: Source,
  now: Source,
): Promise<void> {
  if (from !== start) throw broken(`the server sent bytes from ${from} instead of ${start} on`);
  if (!differ(before.etag, now.etag) && !differ(before.totalBytes, now.totalBytes)) return;
  await onDisk(file, rm(file, { force: true }));
  throw broken('the file changed while it was downloaded');
}

const differ = <T>(one: T | undefined, other: T | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

const broken = (reason: string): NetworkFailure => new NetworkFailure(reason, { isPassing: true });

function tooLarge(maxBytes: number): NetworkFailure {
  return new NetworkFailure(`the file is larger than ${maxBytes} bytes`, { isTooLarge: true });
}

/** Neither its size nor its version is known of a body that was encoded on the way: both are of the encoded one. */
function announcedBy({ status, headers }: Response): Source {
  const isEncoded = (headers.get('content-encoding') ?? 'identity') !== 'identity';
  if (isEncoded) return { etag: undefined, totalBytes: undefined };
  const size = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  const etag = headers.get('etag') ?? '';
  return {
    totalBytes: /^\d+$/.test(size ?? '') ? Number(size) : undefined,
    // RFC 9110, 13.1.5: `If-Range` takes strong ones alone.
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

/** Tells the disk's errors from the network's, which share their codes. */
async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`saving ${path}: ${reason}`, { cause: thrown });
  }
}
