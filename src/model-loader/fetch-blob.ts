import { rm, stat } from 'node:fs/promises';
import { ModelDownloadError } from '../errors.js';
import { move } from '../files/index.js';
import { type DownloadProgress, download } from '../network/index.js';
import { checksumOf } from './checksum.js';
import type { HubCache } from './hub-cache.js';
import type { HubFile } from './hub-repository.js';
import { type HubRequest, hubError, requestOptions } from './hub-request.js';
import type { HubSettings } from './hub-settings.js';

/**
 * Downloads of a file with a wrong checksum before giving up: one may be a broken transfer, two are the
 * server's fault.
 */
const MAX_WRONG_FILES = 2;

export interface BlobDownload {
  readonly file: HubFile;
  readonly cache: HubCache;
  /** The request for the file. */
  readonly request: HubRequest & { readonly file: string };
  readonly settings: HubSettings;
  /** Called with the number of the file's bytes that are on disk. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Makes sure that a file of the Hub is in the cache, complete and with the right checksum. A partial file of
 * an earlier attempt is resumed. Callers that ask for the same file meanwhile, in this process or another,
 * wait until it is there.
 * @throws ModelDownloadError, StorageError; errors of the disk and of the signal unchanged.
 */
export async function fetchBlob(blob: BlobDownload): Promise<void> {
  const { file, cache, request, onBytes } = blob;
  const hash = file.checksum.value;
  const isThere = () => isWhole(cache.blob(hash), file.bytes);
  if (!(await isThere())) {
    const lock = `${hash}.orchard.lock`;
    const fetchUnlessThere = async () => {
      if (!(await isThere())) await fetchUnderLock(blob);
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

async function fetchUnderLock(blob: BlobDownload): Promise<void> {
  const { file, cache, request, settings, onBytes } = blob;
  const partial = cache.partialBlob(file.checksum.value);
  const options = {
    ...requestOptions(request, settings),
    file: partial,
    maxBytes: file.bytes,
    expectedBytes: file.bytes,
    keepsPart: true,
    onProgress: ({ receivedBytes }: DownloadProgress) => onBytes(receivedBytes),
  };
  for (let wrong = 1; ; wrong += 1) {
    await download(options).catch((thrown) => {
      throw hubError(thrown, request, settings);
    });
    const found = await checksumOf(partial, file.bytes, file.checksum.algorithm, request.signal);
    if (found === file.checksum.value) break;
    await rm(partial, { force: true });
    if (wrong === MAX_WRONG_FILES) throw wrongBytes(blob, found);
  }
  await move(partial, cache.blob(file.checksum.value));
}

async function bytesOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

function wrongBytes({ request, file }: BlobDownload, found: string): ModelDownloadError {
  const { algorithm, value } = file.checksum;
  const reason = `the ${algorithm} of its bytes is ${found}, not ${value} as the Hub says; they were deleted. Check the endpoint, and any proxies`;
  return new ModelDownloadError(request.model, request.url.href, reason, { file: file.path });
}
