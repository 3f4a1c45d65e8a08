import { type FileHandle, open, rm } from 'node:fs/promises';
import { err, ok, type Result, ResultAsync } from 'neverthrow';
import { AbortedError, DownloadError, StorageError, ValidationError } from '../errors.js';
import { networkReason } from './network-reason.js';
import { describeBytes } from './problems.js';

/** Most redirects that are followed. */
export const MAX_REDIRECTS = 5;

const REDIRECT_STATUSES = [301, 302, 303, 307, 308];

/**
 * One HTTP request without following redirects; the platform's `fetch` is one. An own one can refuse
 * addresses: each redirect passes through it too, and a `ValidationError` or `DownloadError` that it
 * rejects with is what the caller gets.
 */
export type Fetch = (
  url: URL,
  init: { redirect: 'manual'; signal: AbortSignal; headers: Record<string, string> },
) => Promise<Response>;

export interface DownloadProgress {
  readonly receivedBytes: number;
  /** As the server announces it, where it does. */
  readonly totalBytes: number | undefined;
}

export interface DownloadOptions {
  readonly maxBytes: number;
  /** For the whole download, redirects included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Default: the platform's. */
  readonly fetch?: Fetch | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

type DownloadFailure = DownloadError | ValidationError | AbortedError | StorageError;

/**
 * Downloads an http or https URL to the file `path`. A file that is there, such as the half of a download that
 * a crash left, is replaced; after an error there is none.
 * @returns the bytes received.
 */
export function download(
  url: URL,
  path: string,
  options: DownloadOptions,
): ResultAsync<number, DownloadFailure> {
  return new ResultAsync(downloadToFile(url, path, options));
}

async function downloadToFile(
  url: URL,
  path: string,
  options: DownloadOptions,
): Promise<Result<number, DownloadFailure>> {
  const { signal: stop, timeoutMs } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = stop ? AbortSignal.any([stop, timeout]) : timeout;
  try {
    signal.throwIfAborted();
    const response = await request(url, options.fetch ?? fetch, signal);
    return ok(await save(response, url, path, options, signal));
  } catch (thrown) {
    await rm(path, { force: true });
    if (stop?.aborted) return err(new AbortedError('the download of dataset_url', { cause: thrown }));
    if (isFailure(thrown)) return err(thrown);
    const reason = timeout.aborted
      ? `the download took longer than ${timeoutMs / 1000} s`
      : networkReason(thrown);
    return err(new DownloadError(url.href, reason, undefined, { cause: thrown }));
  }
}

function isFailure(thrown: unknown): thrown is DownloadFailure {
  return [DownloadError, ValidationError, StorageError].some((failure) => thrown instanceof failure);
}

/** @throws DownloadError where the answer isn't a 2xx; whatever `fetch` throws. */
async function request(url: URL, fetch: Fetch, signal: AbortSignal): Promise<Response> {
  const headers = { accept: 'application/zip, application/octet-stream, */*', 'accept-encoding': 'identity' };
  let target = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await fetch(target, { redirect: 'manual', signal, headers });
    if (response.ok) return response;
    await response.body?.cancel();
    if (!REDIRECT_STATUSES.includes(response.status)) {
      const reason = `the server answered ${`${response.status} ${response.statusText}`.trim()}`;
      throw new DownloadError(url.href, reason, response.status);
    }
    target = redirectTarget(response, target, url);
  }
  throw new DownloadError(url.href, `more than ${MAX_REDIRECTS} redirects`);
}

function redirectTarget(response: Response, from: URL, url: URL): URL {
  const location = response.headers.get('location');
  const target =
    location === null || !URL.canParse(location, from.href) ? undefined : new URL(location, from);
  if (target && ['http:', 'https:'].includes(target.protocol)) return target;
  const reason = `a redirect to ${location ?? 'nowhere'}; only http and https URLs are followed`;
  throw new DownloadError(url.href, reason, response.status);
}

/** @throws DownloadError where the body is too large, StorageError where it can't be written. */
async function save(
  response: Response,
  url: URL,
  path: string,
  { maxBytes, onProgress }: DownloadOptions,
  signal: AbortSignal,
): Promise<number> {
  const announced = response.headers.get('content-length');
  const totalBytes = announced === null ? undefined : Number(announced);
  if (totalBytes !== undefined && totalBytes > maxBytes) {
    await response.body?.cancel();
    throw tooLarge(url, maxBytes);
  }
  const file = await writing(open(path, 'w'));
  try {
    return await copy(response, file, (receivedBytes) => {
      signal.throwIfAborted();
      if (receivedBytes > maxBytes) throw tooLarge(url, maxBytes);
      onProgress?.({ receivedBytes, totalBytes });
    });
  } finally {
    await file.close();
  }
}

async function copy(
  response: Response,
  file: FileHandle,
  onBytes: (received: number) => void,
): Promise<number> {
  let received = 0;
  for await (const chunk of response.body ?? []) {
    received += chunk.byteLength;
    onBytes(received);
    await writing(file.appendFile(chunk));
  }
  return received;
}

function tooLarge(url: URL, maxBytes: number): DownloadError {
  return new DownloadError(url.href, `the file is larger than the limit of ${describeBytes(maxBytes)}`);
}

/** Tells the disk's errors from the network's, which share their codes. */
async function writing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`saving the dataset: ${reason}`, { cause: thrown });
  }
}
