import { type Fetch, MAX_REDIRECTS, networkReason } from '../datasets/index.js';
import { AbortedError, isOrchardError, ModelDownloadError, NotFoundError } from '../errors.js';
import type { HubSettings } from './hub-settings.js';
import { StallWatch } from './stall-watch.js';

/** What is asked of the Hub, and for which model. */
export interface HubRequest {
  readonly model: string;
  readonly revision: string;
  /** Absent for the list of a model's files. */
  readonly file?: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** A failure that may have passed a moment later. */
export class PassingFailure extends Error {
  constructor(
    readonly error: ModelDownloadError,
    /** How long the server asks to be left alone, where it says so. */
    readonly pauseMs?: number,
  ) {
    super(error.message, { cause: error });
  }
}

const REDIRECTS = [301, 302, 303, 307, 308];
const PASSING_STATUSES = [408, 425, 429, 500, 502, 503, 504];

/**
 * One request, redirects followed; `read` takes the body and tells the watch of every piece that comes.
 * @throws PassingFailure where it may be repeated; NotFoundError, ModelDownloadError, AbortedError, and whatever `read`
 *   throws that is one of our errors.
 */
export async function hubRequest<T>(
  request: HubRequest,
  settings: HubSettings,
  read: (response: Response, watch: StallWatch) => Promise<T>,
): Promise<T> {
  const { signal, model, url, file } = request;
  const watch = new StallWatch(settings.stallTimeoutMs, signal);
  try {
    const response = await followRedirects(request, settings, watch);
    if (!response.ok) throw await refusal(response, request, settings);
    return await read(response, watch);
  } catch (thrown) {
    if (signal?.aborted) throw new AbortedError(`loading model ${model}`, { cause: thrown });
    if (thrown instanceof PassingFailure || isOrchardError(thrown)) throw thrown;
    const seconds = settings.stallTimeoutMs / 1000;
    const reason = watch.hasStalled ? `the server sent nothing for ${seconds} s` : networkReason(thrown);
    const advice = `${reason}; try again, or use what is in the cache with \`offline: true\``;
    throw new PassingFailure(
      new ModelDownloadError(model, url.href, advice, { ...fileOf(file), cause: thrown }),
    );
  } finally {
    watch.stop();
  }
}

async function followRedirects(
  request: HubRequest,
  settings: HubSettings,
  watch: StallWatch,
): Promise<Response> {
  let url = request.url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await send(url, request, settings, watch);
    watch.progressed();
    if (!REDIRECTS.includes(response.status)) return response;
    await response.body?.cancel();
    url = redirectTarget(response, url, request);
  }
  throw failure(request, `more than ${MAX_REDIRECTS} redirects`);
}

function send(url: URL, { headers }: HubRequest, settings: HubSettings, watch: StallWatch) {
  const { token, endpoint, fetch } = settings;
  const init: Parameters<Fetch>[1] = {
    redirect: 'manual',
    signal: watch.signal,
    headers: { 'accept-encoding': 'identity', 'user-agent': 'orchard-nlp', ...headers },
  };
  const mayHaveToken = token !== undefined && isSameServer(url, new URL(endpoint));
  if (mayHaveToken) init.headers.authorization = `Bearer ${token}`;
  return fetch(url, init);
}

/** Other hosts, and the same one without encryption, never see the token. */
function isSameServer(url: URL, endpoint: URL): boolean {
  return url.host === endpoint.host && url.protocol === endpoint.protocol;
}

function redirectTarget(response: Response, from: URL, request: HubRequest): URL {
  const location = response.headers.get('location') ?? '';
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target && ['http:', 'https:'].includes(target.protocol)) return target;
  throw failure(request, 'the server redirects to what is no http or https URL', response.status);
}

/** The error of an answer that isn't a 2xx. */
async function refusal(
  response: Response,
  request: HubRequest,
  settings: HubSettings,
): Promise<NotFoundError | ModelDownloadError | PassingFailure> {
  await response.body?.cancel();
  const { status } = response;
  const { model, revision, file } = request;
  if (status === 404 && file === undefined) {
    const what = revision === 'main' ? 'no such model' : `no such model, or no revision ${revision} of it`;
    return new NotFoundError('pretrained model', model, `${settings.endpoint} has ${what}`);
  }
  const error = failure(request, reasonOf(status, request, settings), status);
  return PASSING_STATUSES.includes(status) ? new PassingFailure(error, retryAfterMs(response)) : error;
}

function reasonOf(status: number, { model }: HubRequest, { token, endpoint }: HubSettings): string {
  const page = `${endpoint}/${model}`;
  if (status === 401 && token === undefined) {
    return 'the server wants a token (401), as for a private or gated model and for one that does not exist; check the name, or set HF_TOKEN or `hubModels({ token })`';
  }
  if (status === 401) return 'the server does not accept the token (401); make a new one and set HF_TOKEN';
  if (status === 403) return `the token may not read it (403); ask for access at ${page}`;
  if (status === 404) return 'the server lists this file and does not have it (404)';
  if (status === 429) return 'the server has had too many requests (429); try again later, or set HF_TOKEN';
  return `the server answered ${status}`;
}

/** RFC 9110, 10.2.3: seconds, or a date. */
function retryAfterMs(response: Response): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : 1000 * seconds;
  return ms > 0 ? ms : undefined;
}

function failure({ model, url, file }: HubRequest, reason: string, status?: number): ModelDownloadError {
  return new ModelDownloadError(model, url.href, reason, {
    ...fileOf(file),
    ...(status !== undefined && { status }),
  });
}

const fileOf = (file: string | undefined) => (file === undefined ? {} : { file });
