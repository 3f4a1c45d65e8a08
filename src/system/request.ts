import { setTimeout as delay } from 'node:timers/promises';
import { isOrchardError } from '../contract/index.js';
import { NetworkFailure, networkFailure } from './network-failure.js';

/**
 * One HTTP request without following redirects, such as the platform's `fetch`. A custom one can refuse
 * addresses: each redirect passes through it, too, and an OrchardError that it rejects with reaches the
 * caller.
 */
export type Fetch = (
  url: URL,
  init: { redirect: 'manual'; signal: AbortSignal; headers: Record<string, string> },
) => Promise<Response>;

export interface RequestOptions {
  readonly url: URL;
  /** Names in lower case. Those that hold credentials are not forwarded to another host. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the platform's. */
  readonly fetch?: Fetch | undefined;
  /** Whether a redirect from https to http is refused. Default false. */
  readonly refusesDowngrade?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** How long the server may send nothing, in milliseconds. Default 30 s. */
  readonly stallTimeoutMs?: number | undefined;
}

const MAX_REDIRECTS = 5;
const DEFAULT_STALL_TIMEOUT_MS = 30_000;

const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
/** Transient statuses other than 5xx: a timeout, "too early", too many requests. */
const TRANSIENT_STATUSES = [408, 425, 429];
/** Permanent statuses among 5xx: "not implemented", "HTTP version not supported". */
const PERMANENT_STATUSES = [501, 505];

const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization'];

/**
 * One request, redirects followed. `read` gets a 2xx answer and its body in pieces; what it leaves unread is
 * discarded.
 * @throws NetworkFailure; whatever `read` throws; an OrchardError that `options.fetch` rejects with.
 */
export async function request<T>(
  options: RequestOptions,
  read: (response: Response, pieces: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  const watch = new StallWatch(options.stallTimeoutMs ?? DEFAULT_STALL_TIMEOUT_MS, options.signal);
  try {
    const response = await followRedirects(options, watch);
    if (!response.ok) throw refusal(response);
    return await read(response, piecesOf(response, watch));
  } finally {
    watch.end();
  }
}

async function followRedirects(options: RequestOptions, watch: StallWatch): Promise<Response> {
  let { url, headers } = options;
  for (let redirects = 0; ; redirects += 1) {
    const response = await send(url, { ...headers }, options.fetch ?? fetch, watch);
    if (!REDIRECT_STATUSES.includes(response.status)) return response;
    await response.body?.cancel();
    const { status } = response;
    if (redirects === MAX_REDIRECTS) {
      throw new NetworkFailure(`more than ${MAX_REDIRECTS} redirects`, { status });
    }
    const target = redirectTarget(response, url);
    if (options.refusesDowngrade && url.protocol === 'https:' && target.protocol === 'http:') {
      throw new NetworkFailure('the server redirects from https to http', { status });
    }
    if (target.origin !== url.origin) headers = withoutCredentials(headers);
    url = target;
  }
}

async function send(
  url: URL,
  headers: Record<string, string>,
  fetch: Fetch,
  watch: StallWatch,
): Promise<Response> {
  const ours = { 'accept-encoding': 'identity', 'user-agent': 'orchard-nlp' };
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: watch.signal,
      headers: { ...ours, ...headers },
    });
    watch.progressed();
    return response;
  } catch (thrown) {
    throw watch.failureOf(thrown);
  }
}

function redirectTarget(response: Response, from: URL): URL {
  const location = response.headers.get('location');
  const target =
    location === null || !URL.canParse(location, from.href) ? undefined : new URL(location, from);
  const { status } = response;
  if (!target || !['http:', 'https:'].includes(target.protocol)) {
    const where = location ?? 'nowhere';
    throw new NetworkFailure(`the server redirects to ${where}, which is not an http or https URL`, {
      status,
    });
  }
  if (target.username !== '' || target.password !== '') {
    throw new NetworkFailure('the server redirects to a URL with a user name or password', { status });
  }
  return target;
}

function withoutCredentials(headers: RequestOptions['headers'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.includes(name)));
}

/** The failure for an answer other than 2xx. */
function refusal(response: Response): NetworkFailure {
  const { status, statusText } = response;
  const isTransient =
    TRANSIENT_STATUSES.includes(status) || (status >= 500 && !PERMANENT_STATUSES.includes(status));
  const details = { status, isTransient, pauseMs: retryAfterMs(response) };
  return new NetworkFailure(`the server answered ${`${status} ${statusText}`.trim()}`, details);
}

/** RFC 9110, 10.2.3: seconds, or a date. */
function retryAfterMs(response: Response): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : 1000 * seconds;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

async function* piecesOf(response: Response, watch: StallWatch): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of response.body ?? []) {
      watch.progressed();
      yield piece;
    }
  } catch (thrown) {
    throw watch.failureOf(thrown);
  }
}

/** Aborts a request that has made no progress for a while. */
class StallWatch {
  /** Fires on a stall, when the caller's own signal fires, and at the end. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #timeoutMs: number;

  constructor(timeoutMs: number, stop: AbortSignal | undefined) {
    this.signal = stop ? AbortSignal.any([stop, this.#controller.signal]) : this.#controller.signal;
    this.#timer = setTimeout(() => this.#controller.abort(), timeoutMs);
    this.#timeoutMs = timeoutMs;
  }

  progressed(): void {
    this.#timer.refresh();
  }

  /** The failure to report for an error of the request or its body. */
  failureOf(thrown: unknown): Error {
    if (isOrchardError(thrown)) return thrown;
    if (!this.#controller.signal.aborted) return networkFailure(thrown);
    const reason = `the server sent nothing for ${this.#timeoutMs / 1000} s`;
    return new NetworkFailure(reason, { isTransient: true, cause: thrown });
  }

  /** Stops watching, and closes the connection if the body was not read to its end. */
  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }
}

export interface RetryOptions {
  /** How often work is repeated after a transient error; progress resets the count. Default 4. */
  readonly retries?: number | undefined;
  /** Pause before the first repetition; doubled before each further one. Default 500 ms. */
  readonly retryPauseMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_RETRIES = 4;
const DEFAULT_RETRY_PAUSE_MS = 500;
/** Longest pause, whatever a server asks for. */
const MAX_PAUSE_MS = 60_000;

/**
 * Repeats work that fails with a transient NetworkFailure; when the repetitions are used up, the last failure
 * is thrown.
 * @param achieved measures progress, such as bytes on disk; when it exceeds its maximum so far, the count of
 *   repetitions is reset.
 * @throws whatever else the work throws; the signal's reason, at once if it fires during a pause.
 */
export async function withRetry<T>(
  work: () => Promise<T>,
  { retries = DEFAULT_RETRIES, retryPauseMs = DEFAULT_RETRY_PAUSE_MS, signal }: RetryOptions,
  achieved: () => Promise<number> = async () => 0,
): Promise<T> {
  let most = await achieved();
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (thrown) {
      signal?.throwIfAborted();
      if (!(thrown instanceof NetworkFailure && thrown.isTransient)) throw thrown;
      const now = await achieved();
      if (now > most) failures = 1;
      most = Math.max(most, now);
      if (failures > retries) throw thrown;
      const pauseMs = thrown.pauseMs ?? jittered(retryPauseMs * 2 ** (failures - 1));
      await delay(Math.min(pauseMs, MAX_PAUSE_MS), undefined, { signal }).catch((aborted: unknown) => {
        signal?.throwIfAborted();
        throw aborted;
      });
    }
  }
}

/**
 * Between half of the pause and all of it, so that many clients that failed together don't return together.
 */
const jittered = (ms: number): number => ms * (0.5 + Math.random() / 2);

/**
 * The body of a URL as UTF-8 text; a request that breaks off is repeated.
 * @throws NetworkFailure; the signal's reason; an OrchardError that `options.fetch` rejects with.
 */
export async function fetchText(
  options: RequestOptions & RetryOptions & { readonly maxBytes: number },
): Promise<string> {
  const { maxBytes } = options;
  return withRetry(
    () =>
      request(options, async (_, pieces) => {
        const read: Uint8Array[] = [];
        let bytes = 0;
        for await (const piece of pieces) {
          bytes += piece.byteLength;
          if (bytes > maxBytes) throw new NetworkFailure(`the answer is larger than ${maxBytes} bytes`);
          read.push(piece);
        }
        return Buffer.concat(read).toString();
      }),
    options,
  );
}
