import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { ModelDownloadError, NotFoundError } from '../contract/index.js';
import {
  type DownloadProgress,
  download,
  fetchText,
  move,
  NetworkFailure,
  type RequestOptions,
  type RetryOptions,
} from '../system/index.js';
import { type Checksum, fetchChecked } from './checksum.js';
import type { HubCache } from './hub-cache.js';
import type { HubSettings } from './hub-models.js';

/** Requests to the Hugging Face Hub: the files of a repository, and their download. */

/** Maximum size of a list of files: 64 MiB, enough for about 300,000 files. */
const MAX_LIST_BYTES = 64 * 1024 ** 2;

/** A model of the Hub at one commit. */
interface HubRepository {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

export interface HubFile {
  /** Its path in the repository, with '/'. */
  readonly path: string;
  readonly bytes: number;
  readonly checksum: Checksum;
}

const sha1Schema = z.string().regex(/^[0-9a-f]{40}$/);
/** The server's paths become local files, so none may leave the snapshot. */
const pathSchema = z
  .string()
  .refine((path) => path.split('/').every((part) => !['', '.', '..'].includes(part) && !/[\\:\0]/.test(part)));

/** The fields that are read from the response to `/api/models/{model}/revision/{revision}?blobs=true`. */
const answerSchema = z.object({
  sha: sha1Schema,
  siblings: z.array(
    z.object({
      rfilename: pathSchema,
      size: z.int().nonnegative(),
      /** The file's id in git: the SHA-1 of the file, or of its pointer if the file is in LFS. */
      blobId: sha1Schema,
      lfs: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size: z.int().nonnegative() }).nullish(),
    }),
  ),
});

/**
 * Asks the Hub for the commit of a revision, and its files.
 * @throws NotFoundError, ModelDownloadError, and the signal's reason
 */
export async function describeRepository(
  model: string,
  revision: string,
  settings: HubSettings,
  signal: AbortSignal | undefined,
): Promise<HubRepository> {
  const path = `api/models/${model}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const url = new URL(`${settings.endpoint}/${path}`);
  const request = { model, revision, url, signal };
  const options = { ...requestOptions(request, settings), maxBytes: MAX_LIST_BYTES };
  const text = await fetchText(options).catch((thrown) => {
    throw hubError(thrown, request, settings);
  });
  const answer = answerSchema.safeParse(parsedJson(text));
  if (!answer.success) {
    const [issue] = answer.error.issues;
    const reason = `this is not a response of the Hugging Face Hub (${issue?.path.join('.')}: ${issue?.message}); check the endpoint`;
    throw new ModelDownloadError(model, url.href, reason);
  }
  const { sha: commit, siblings } = answer.data;
  return {
    commit,
    files: siblings.map(({ rfilename, size, blobId, lfs }) => ({
      path: rfilename,
      bytes: lfs?.size ?? size,
      checksum: lfs ? { algorithm: 'SHA-256', value: lfs.sha256 } : { algorithm: 'git SHA-1', value: blobId },
    })),
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A file of the Hub to download into the cache. */
interface BlobDownload {
  readonly file: HubFile;
  readonly cache: HubCache;
  /** The request for the file. */
  readonly request: HubRequest & { readonly file: string };
  readonly settings: HubSettings;
  /** Called with the number of bytes of the file on disk. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Ensures that a file of the Hub is in the cache, complete and with the right checksum. Resumes a partial file. Concurrent
 * callers, in this process or another, wait until the file is there.
 * @throws ModelDownloadError, StorageError, and errors of the disk and the signal
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

async function fetchUnderLock({ file, cache, request, settings, onBytes }: BlobDownload): Promise<void> {
  const { bytes, checksum } = file;
  const path = cache.partialBlob(checksum.value);
  const options = {
    ...requestOptions(request, settings),
    ...{ file: path, maxBytes: bytes, expectedBytes: bytes, keepsPart: true },
    onProgress: ({ receivedBytes }: DownloadProgress) => onBytes(receivedBytes),
  };
  const fetch = () =>
    download(options).catch((thrown: unknown) => {
      throw hubError(thrown, request, settings);
    });
  const wrong = await fetchChecked({ path, bytes, checksum }, fetch, request.signal);
  if (wrong !== undefined) {
    const reason = `the ${checksum.algorithm} of its bytes is ${wrong}, not ${checksum.value} as the Hub says; they were deleted. Check the endpoint and any proxies`;
    throw new ModelDownloadError(request.model, request.url.href, reason, { file: file.path });
  }
  await move(path, cache.blob(checksum.value));
}

async function bytesOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** A request to the Hub. */
interface HubRequest {
  readonly model: string;
  readonly revision: string;
  /** Absent for the list of a model's files. */
  readonly file?: string;
  readonly url: URL;
  readonly signal?: AbortSignal | undefined;
}

/** How the request is sent. The token is never sent to another host, nor to the same host unencrypted. */
function requestOptions(
  { url, signal }: HubRequest,
  { token, fetch, stallTimeoutMs, retries, retryPauseMs }: HubSettings,
): RequestOptions & RetryOptions {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { url, signal, headers, fetch, stallTimeoutMs, retries, retryPauseMs, refusesDowngrade: true };
}

/** The public error for a failed request. Anything but a NetworkFailure is returned unchanged. */
function hubError(thrown: unknown, request: HubRequest, settings: HubSettings): unknown {
  if (!(thrown instanceof NetworkFailure)) return thrown;
  const { model, revision, file, url } = request;
  const { status } = thrown;
  if (status === 404 && file === undefined) {
    const what = revision === 'main' ? 'no such model' : `no such model, or no revision ${revision} of it`;
    return new NotFoundError('pretrained model', model, `${settings.endpoint} has ${what}`);
  }
  return new ModelDownloadError(model, url.href, reasonOf(thrown, request, settings), {
    ...(file !== undefined && { file }),
    ...(status !== undefined && { status }),
    cause: thrown,
  });
}

function reasonOf(failure: NetworkFailure, { model }: HubRequest, { token, endpoint }: HubSettings): string {
  if (failure.isTooLarge) {
    return 'the server sends more bytes than the Hub lists; check the endpoint and any proxies';
  }
  switch (failure.status) {
    case undefined:
      return `${failure.message}; try again, or use what is in the cache with \`offline: true\``;
    case 401:
      return token === undefined
        ? 'the server requires a token (401), which happens for private, gated and missing models; check the name, or set HF_TOKEN or `hubModels({ token })`'
        : 'the server rejects the token (401); create a new one and set HF_TOKEN';
    case 403:
      return `the token has no access (403); request access at ${endpoint}/${model}`;
    case 404:
      return 'the server lists this file but does not have it (404)';
    case 429:
      return 'the server received too many requests (429); try again later, or set HF_TOKEN';
    default:
      return failure.message;
  }
}
