import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbortedError, DownloadError, StorageError, ValidationError } from '../contract/index.js';
import {
  type DownloadOptions,
  download,
  NetworkFailure,
  type RequestOptions,
  type RetryOptions,
} from '../system/index.js';
import { DEFAULT_MAX_ARCHIVE_BYTES } from './archive-limits.js';
import { fileKind, ZIP } from './file-kind.js';
import { describeBytes, fileFailure, singleProblem } from './problems.js';

/** Limit on the time of a whole download: 10 minutes. */
const DEFAULT_DOWNLOAD_TIMEOUT_MS = 10 * 60 * 1000;
/** How long a server may send nothing: a minute, as some only start to pack the zip when it is requested. */
const DEFAULT_STALL_TIMEOUT_MS = 60_000;

export interface FetchDatasetOptions
  extends RetryOptions,
    Pick<RequestOptions, 'fetch' | 'stallTimeoutMs'>,
    Partial<Pick<DownloadOptions, 'maxBytes' | 'timeoutMs' | 'onProgress'>> {
  /** The folder that a download is saved in; created if needed. */
  readonly directory: string;
  /** Accept `file:` URLs: a zip, or the unzipped folder. Default false. */
  readonly allowFile?: boolean;
}

/** A dataset on the local disk. `name`, the last part of its URL, is what messages call it. */
type FetchedDataset =
  | { readonly kind: 'zip'; readonly path: string; readonly name: string; readonly bytes: number }
  | { readonly kind: 'folder'; readonly path: string; readonly name: string };

/**
 * Brings the dataset at an http, https or `file:` URL to the local disk and checks that it is a zip. A local
 * zip or folder is used where it is. At most five redirects are followed, to http and https only; an
 * interrupted download is resumed.
 * @param options.maxBytes limit on the zip. Default {@link DEFAULT_MAX_ARCHIVE_BYTES}.
 * @param options.timeoutMs limit on the whole download. Default {@link DEFAULT_DOWNLOAD_TIMEOUT_MS}.
 * @param options.stallTimeoutMs how long the server may send nothing before the download is retried. Default
 * a minute.
 * @throws ValidationError for a URL that isn't allowed, DatasetError for a file that isn't a zip,
 *   DownloadError, AbortedError, StorageError.
 */
export async function fetchDataset(dataset_url: string, options: FetchDatasetOptions): Promise<FetchedDataset> {
  const { maxBytes = DEFAULT_MAX_ARCHIVE_BYTES } = options;
  const url = checkedUrl(dataset_url, options.allowFile ?? false);
  const dataset =
    url.protocol === 'file:' ? localDataset(url, maxBytes) : await downloadedDataset(url, { ...options, maxBytes });
  if (dataset.kind === 'folder') return dataset;
  const kind = reading(url, () => fileKind(dataset.path));
  if (kind === ZIP) return dataset;
  const expected = 'a zip archive; the URL must start the download of the zip itself';
  throw singleProblem({ file: dataset.name, found: `found ${kind}`, expected });
}

/** @throws ValidationError */
function checkedUrl(dataset_url: string, allowFile: boolean): URL {
  const schemes = allowFile ? 'http, https or file' : 'http or https';
  if (!URL.canParse(dataset_url)) throw invalidUrl(`not a URL; give an ${schemes} URL of a zip`);
  const url = new URL(dataset_url);
  const allowed = allowFile ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  if (!allowed.includes(url.protocol)) {
    throw invalidUrl(`a URL of scheme ${url.protocol.slice(0, -1)}; give an ${schemes} URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidUrl('the URL holds a user name or password; give one that works without');
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

/** The error that callers get for a failed download. */
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
    const reason = thrown instanceof Error ? thrown.message : thrown;
    throw invalidUrl(`not the URL of a local file (${reason})`);
  }
}

/** Runs a function that reads the file system. @throws DownloadError */
function reading<T>(url: URL, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const isAbsent = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
    const reason = isAbsent ? 'there is no such file or folder' : `it can't be read (${fileFailure(thrown)})`;
    throw new DownloadError(url.href, reason, undefined, { cause: thrown });
  }
}
