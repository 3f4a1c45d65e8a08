import { open, rm, stat } from 'node:fs/promises';
import { ModelDownloadError, StorageError } from '../errors.js';
import { move } from '../storage/index.js';
import { checksumOf } from './checksum.js';
import type { HubCache } from './hub-cache.js';
import type { HubFile } from './hub-repository.js';
import { type HubRequest, hubRequest, PassingFailure } from './hub-request.js';
import type { HubSettings } from './hub-settings.js';
import { retrying } from './retrying.js';
import type { StallWatch } from './stall-watch.js';

/** How often a file is fetched anew whose bytes turn out wrong: once may be a broken transfer, twice is the server. */
const MAX_WRONG_FILES = 2;

export interface BlobDownload {
  readonly file: HubFile;
  readonly cache: HubCache;
  /** Asks for the file. */
  readonly request: HubRequest & { readonly file: string };
  readonly settings: HubSettings;
  /** Told how many bytes of it are on the disk. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Sees that a file of the Hub is in the cache, whole and checked. What an earlier attempt left is gone on from.
 * Whoever asks for the same file meanwhile, in this process or another, waits and finds it there.
 * @throws as `hubRequest`; the errors of the disk and of the signal as they are.
 */
export async function fetchBlob(download: BlobDownload): Promise<void> {
  const { file, cache, request, onBytes } = download;
  const hash = file.checksum.value;
  const isThere = () => isWhole(cache.blob(hash), file.bytes);
  if (!(await isThere())) {
    const lock = `${hash}.orchard.lock`;
    const fetchUnlessThere = async () => {
      if (!(await isThere())) await fetchUnderLock(download);
    };
    const signOfLife = async () => String(await bytesOf(cache.partialBlob(hash)));
    await cache.locks.hold(lock, fetchUnlessThere, { signal: request.signal, signOfLife });
  }
  onBytes(file.bytes);
}

async function isWhole(path: string, bytes: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.size === bytes;
}

async function fetchUnderLock(download: BlobDownload): Promise<void> {
  const { file, cache, request, settings } = download;
  const partial = cache.partialBlob(file.checksum.value);
  const { model, signal } = request;
  const progress = () => bytesOf(partial);
  for (let wrong = 1; ; wrong += 1) {
    await retrying(() => fetchRest(download, partial), settings, { model, signal, progress });
    const found = await checksumOf(partial, file.bytes, file.checksum.algorithm, signal);
    if (found === file.checksum.value) break;
    await rm(partial, { force: true });
    if (wrong === MAX_WRONG_FILES) throw wrongBytes(download, found);
  }
  await move(partial, cache.blob(file.checksum.value));
}

/** Fetches what the partial file lacks. @throws PassingFailure where something is still lacking then. */
async function fetchRest({ file, request, settings, onBytes }: BlobDownload, partial: string): Promise<void> {
  const here = await bytesOf(partial);
  if (here === file.bytes && here > 0) return;
  const start = here > file.bytes ? 0 : here;
  const headers = start === 0 ? {} : { range: `bytes=${start}-` };
  const received = await hubRequest({ ...request, headers }, settings, async (response, watch) => {
    // A server that knows no ranges answers 200 with all of it.
    const from = response.status === 206 ? rangeStart(response) : 0;
    if (from !== 0 && from !== start) throw incomplete(request, `bytes from ${from} instead of ${start} on`);
    return append(response, partial, { from, limit: file.bytes, watch, onBytes });
  }).catch((thrown) => restart(thrown, start, partial));
  if (received !== file.bytes) {
    throw incomplete(
      request,
      `${received > file.bytes ? 'more than' : `${received} of`} ${file.bytes} bytes`,
    );
  }
}

/** Where a server's file has no more bytes after the part that is here, that part is of another file. */
async function restart(thrown: unknown, start: number, partial: string): Promise<never> {
  const isBeyondEnd = thrown instanceof ModelDownloadError && thrown.status === 416 && start > 0;
  if (!isBeyondEnd) throw thrown;
  await rm(partial, { force: true });
  throw new PassingFailure(thrown);
}

/** From `Content-Range: bytes 100-199/200`. */
function rangeStart(response: Response): number {
  const [, start] = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '') ?? [];
  return Number(start ?? Number.NaN);
}

interface Appending {
  /** Where in the file the body belongs. */
  readonly from: number;
  /** The file's announced size; nothing is written beyond. */
  readonly limit: number;
  readonly watch: StallWatch;
  readonly onBytes: (bytes: number) => void;
}

/** @returns how many bytes the file has then; more than `limit` (and it is empty) where the server sent more. */
async function append(
  response: Response,
  path: string,
  { from, limit, watch, onBytes }: Appending,
): Promise<number> {
  const file = await onDisk(open(path, from === 0 ? 'w' : 'a'));
  try {
    let at = from;
    for await (const piece of response.body ?? []) {
      watch.progressed();
      at += piece.byteLength;
      if (at > limit) {
        await onDisk(file.truncate(0));
        return at;
      }
      await onDisk(file.appendFile(piece));
      onBytes(at);
    }
    await onDisk(file.sync());
    return at;
  } finally {
    await file.close();
  }
}

/** Tells the disk's errors from the network's, which share their codes. */
async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`saving a model: ${reason}`, { cause: thrown });
  }
}

async function bytesOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

function incomplete({ model, url, file }: BlobDownload['request'], sent: string): PassingFailure {
  const reason = `the server sent ${sent}; try again`;
  return new PassingFailure(new ModelDownloadError(model, url.href, reason, { file }));
}

function wrongBytes({ request, file }: BlobDownload, found: string): ModelDownloadError {
  const { algorithm, value } = file.checksum;
  const reason = `the ${algorithm} of its bytes is ${found}, not ${value} as the Hub says; they were deleted. Check the endpoint, and proxies on the way`;
  return new ModelDownloadError(request.model, request.url.href, reason, { file: file.path });
}
