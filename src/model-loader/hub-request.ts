import { ModelDownloadError, NotFoundError } from '../errors.js';
import { NetworkFailure, type RequestOptions, type RetryOptions } from '../network/index.js';
import type { HubSettings } from './hub-settings.js';

/** A request to the Hub. */
export interface HubRequest {
  readonly model: string;
  readonly revision: string;
  /** Absent for the list of a model's files. */
  readonly file?: string;
  readonly url: URL;
  readonly signal?: AbortSignal | undefined;
}

/** How the request is sent. Its token never goes to another host, nor to the same host unencrypted. */
export function requestOptions(
  { url, signal }: HubRequest,
  { token, fetch, stallTimeoutMs, retries, retryPauseMs }: HubSettings,
): RequestOptions & RetryOptions {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { url, signal, headers, fetch, stallTimeoutMs, retries, retryPauseMs, refusesDowngrade: true };
}

/** The error that callers get for a failed request; anything but a NetworkFailure is returned unchanged. */
export function hubError(thrown: unknown, request: HubRequest, settings: HubSettings): unknown {
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
    return 'the server sends more bytes than the Hub lists; check the endpoint, and any proxies';
  }
  switch (failure.status) {
    case undefined:
      return `${failure.message}; try again, or use what is in the cache with \`offline: true\``;
    case 401:
      return token === undefined
        ? 'the server wants a token (401), as for a private or gated model and for one that does not exist; check the name, or set HF_TOKEN or `hubModels({ token })`'
        : 'the server does not accept the token (401); make a new one and set HF_TOKEN';
    case 403:
      return `the token may not read it (403); ask for access at ${endpoint}/${model}`;
    case 404:
      return 'the server lists this file but does not have it (404)';
    case 429:
      return 'the server got too many requests (429); try again later, or set HF_TOKEN';
    default:
      return failure.message;
  }
}
