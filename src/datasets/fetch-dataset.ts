import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { err, errAsync, ok, Result, ResultAsync } from 'neverthrow';
import {
  type AbortedError,
  type DatasetError,
  DownloadError,
  StorageError,
  ValidationError,
} from '../errors.js';
import { DEFAULT_MAX_ARCHIVE_BYTES } from './archive-limits.js';
import { type DownloadOptions, download } from './download.js';
import { fileKind, ZIP } from './file-kind.js';
import { describeBytes, singleProblem } from './problems.js';

/** Limit on the time of a whole download: 10 minutes. */
export const DEFAULT_DOWNLOAD_TIMEOUT_MS = 10 * 60 * 1000;

export interface FetchDatasetOptions extends Partial<DownloadOptions> {
  /** Where a download is saved; made if needed. */
  readonly directory: string;
  /** Accept `file:` URLs: a zip, or the unzipped folder. Default false. */
  readonly allowFile?: boolean;
}

/** A dataset on the local disk. `name` is what to call it in messages: the last part of its URL. */
export type FetchedDataset =
  | { readonly kind: 'zip'; readonly path: string; readonly name: string; readonly bytes: number }
  | { readonly kind: 'folder'; readonly path: string; readonly name: string };

export type FetchDatasetError = ValidationError | DownloadError | DatasetError | AbortedError | StorageError;

/**
 * Brings the dataset of an http, https or `file:` URL to the local disk and sees that it is a zip. A local
 * zip or folder is used where it lies. Redirects are followed to http and https only, five at most.
 * @param options.maxBytes limit on the zip. Default {@link DEFAULT_MAX_ARCHIVE_BYTES}.
 * @param options.timeoutMs limit on the whole download. Default {@link DEFAULT_DOWNLOAD_TIMEOUT_MS}.
 */
export function fetchDataset(
  dataset_url: string,
  options: FetchDatasetOptions,
): ResultAsync<FetchedDataset, FetchDatasetError> {
  const { maxBytes = DEFAULT_MAX_ARCHIVE_BYTES } = options;
  const checked = checkUrl(dataset_url, options.allowFile ?? false);
  if (checked.isErr()) return errAsync(checked.error);
  const url = checked.value;
  const fetched: ResultAsync<FetchedDataset, FetchDatasetError> =
    url.protocol === 'file:'
      ? new ResultAsync(Promise.resolve(localDataset(url, maxBytes)))
      : downloadedDataset(url, maxBytes, options);
  return fetched.andThen((dataset) => refuseOtherThanZip(dataset, url));
}

function checkUrl(dataset_url: string, allowFile: boolean): Result<URL, ValidationError> {
  const schemes = allowFile ? 'http, https or file' : 'http or https';
  if (!URL.canParse(dataset_url)) return err(invalidUrl(`not a URL; give an ${schemes} URL of a zip`));
  const url = new URL(dataset_url);
  const allowed = allowFile ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  if (!allowed.includes(url.protocol)) {
    return err(invalidUrl(`a URL of scheme ${url.protocol.slice(0, -1)}; give an ${schemes} URL`));
  }
  if (url.username !== '' || url.password !== '') {
    return err(invalidUrl('the URL holds a user name or password; give one that opens without'));
  }
  return ok(url);
}

function invalidUrl(msg: string): ValidationError {
  return new ValidationError([{ loc: ['dataset_url'], msg, type: 'dataset_url' }]);
}

function downloadedDataset(
  url: URL,
  maxBytes: number,
  options: FetchDatasetOptions,
): ResultAsync<FetchedDataset, FetchDatasetError> {
  const { directory, timeoutMs = DEFAULT_DOWNLOAD_TIMEOUT_MS } = options;
  const path = join(directory, 'dataset.zip');
  const name = posix.basename(url.pathname) || url.host;
  return ResultAsync.fromPromise(
    mkdir(directory, { recursive: true }),
    (thrown) => new StorageError(`making a folder for the dataset: ${thrown}`, { cause: thrown }),
  )
    .andThen(() => download(url, path, { ...options, maxBytes, timeoutMs }))
    .map((bytes) => ({ kind: 'zip', path, name, bytes }));
}

function localDataset(url: URL, maxBytes: number): Result<FetchedDataset, ValidationError | DownloadError> {
  return localPath(url).andThen((path) => {
    const name = basename(path);
    return reading(url, () => statSync(path)).andThen((found): Result<FetchedDataset, DownloadError> => {
      if (found.isDirectory()) return ok({ kind: 'folder', path, name });
      if (!found.isFile()) return err(new DownloadError(url.href, 'neither a file nor a folder'));
      if (found.size > maxBytes) {
        return err(new DownloadError(url.href, `larger than the limit of ${describeBytes(maxBytes)}`));
      }
      return ok({ kind: 'zip', path, name, bytes: found.size });
    });
  });
}

function localPath(url: URL): Result<string, ValidationError> {
  const toPath = Result.fromThrowable(fileURLToPath, (thrown) =>
    invalidUrl(`not the URL of a local file (${thrown instanceof Error ? thrown.message : thrown})`),
  );
  return toPath(url);
}

function refuseOtherThanZip(
  dataset: FetchedDataset,
  url: URL,
): Result<FetchedDataset, DatasetError | DownloadError> {
  if (dataset.kind === 'folder') return ok(dataset);
  return reading(url, () => fileKind(dataset.path)).andThen((kind) => {
    if (kind === ZIP) return ok(dataset);
    const expected = 'a zip archive; the URL must start the download of the zip itself';
    return err(singleProblem({ file: dataset.name, found: `found ${kind}`, expected }));
  });
}

/** Runs what reads the file system. */
function reading<T>(url: URL, read: () => T): Result<T, DownloadError> {
  return Result.fromThrowable(read, (thrown) => {
    const isAbsent = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
    const reason = isAbsent ? 'there is no such file or folder' : `it can't be read (${thrown})`;
    return new DownloadError(url.href, reason, undefined, { cause: thrown });
  })();
}
