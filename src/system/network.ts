import { open, rm, stat } from 'node:fs/promises';
import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as delay } from 'node:timers/promises';
import { isError, isOrchardError, messageOf, StorageError } from '../contract/index.js';
import { flush } from './files.js';

interface FailureDetails extends ErrorOptions {
  readonly status?: number;
  /** Whether the error is transient: the same request may succeed a moment later. Default false. */
  readonly isTransient?: boolean;
  /** How long the server asks clients to wait, if it does. */
  readonly pauseMs?: number | undefined;
  /** Whether there were more bytes than the caller allows. Default false. */
  readonly isTooLarge?: boolean;
}

/** A failed request. Its message is for the person who gave the URL; callers turn it into errors of their own. */
export class NetworkFailure extends Error {
  readonly status: number | undefined;
  readonly isTransient: boolean;
  readonly pauseMs: number | undefined;
  readonly isTooLarge: boolean;

  constructor(
    reason: string,
    { status, isTransient = false, pauseMs, isTooLarge = false, ...options }: FailureDetails = {},
  ) {
    super(reason, options);
    this.status = status;
    this.isTransient = isTransient;
    this.pauseMs = pauseMs;
    this.isTooLarge = isTooLarge;
  }
}

/** Transient errors of Node's sockets and its fetch, by code. */
const transient: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server closed the connection',
  EPIPE: 'the server closed the connection',
  UND_ERR_SOCKET: 'the server closed the connection before the end',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the server sent fewer bytes than it announced',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the network can't be reached",
  ETIMEDOUT: 'the server did not answer',
  UND_ERR_CONNECT_TIMEOUT: 'the server did not answer',
  UND_ERR_HEADERS_TIMEOUT: 'the server did not answer',
  UND_ERR_BODY_TIMEOUT: 'the server stopped sending',
};

/** Permanent errors of Node's sockets and its fetch, by code. */
const permanent: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is unknown',
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate can't be verified",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host",
};

/**
 * Why a fetch failed: the first in the chain of causes that is a NetworkFailure or has a known code, else the
 * innermost. Messages of system calls reveal addresses of the local network, so only their codes are included.
 */
function networkFailure(thrown: unknown): NetworkFailure {
  let reason = 'the download failed';
  for (let cause = thrown; isError(cause); cause = cause.cause) {
    if (cause instanceof NetworkFailure) return cause;
    const code = 'code' in cause ? String(cause.code) : '';
    const known = transient[code] ?? permanent[code];
    if (known !== undefined) {
      return new NetworkFailure(`${known} (${code})`, { isTransient: code in transient, cause: thrown });
    }
    if ('syscall' in cause) reason = `the download failed (${code})`;
    else if (cause.message !== '') reason = cause.message;
  }
  return new NetworkFailure(reason, { cause: thrown });
}

/**
 * One HTTP request without following redirects, such as the platform's `fetch`. A custom one can refuse addresses: each
 * redirect passes through it, too, and an OrchardError that it rejects with reaches the caller.
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

/** One request, redirects followed. @param read gets a 2xx answer and its body in pieces. @throws NetworkFailure */
async function request<T>(
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

async function send(url: URL, headers: Record<string, string>, fetch: Fetch, watch: StallWatch): Promise<Response> {
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
  const target = location === null || !URL.canParse(location, from.href) ? undefined : new URL(location, from);
  const { status } = response;
  if (!target || !['http:', 'https:'].includes(target.protocol)) {
    // Not the target itself: it may have a signature or a password.
    const reason = location === null ? 'without saying where' : 'to something that is not an http or https URL';
    throw new NetworkFailure(`the server redirects ${reason}`, { status });
  }
  if (target.username !== '' || target.password !== '') {
    throw new NetworkFailure('the server redirects to a URL with a user name or password', { status });
  }
  return target;
}

function withoutCredentials(headers: RequestOptions['headers'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.includes(name)));
}

function refusal(response: Response): NetworkFailure {
  const { status, statusText } = response;
  const isTransient = TRANSIENT_STATUSES.includes(status) || (status >= 500 && !PERMANENT_STATUSES.includes(status));
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

/** Repeats work after a transient NetworkFailure. @param achieved progress, such as bytes; more resets the count. */
async function withRetry<T>(
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
      // It rejects only because of the signal, whose reason the caller gets.
      await delay(Math.min(pauseMs, MAX_PAUSE_MS), undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}

/** Between half of the pause and all of it, so that many clients that failed together don't return together. */
const jittered = (ms: number): number => ms * (0.5 + Math.random() / 2);

/** The body as UTF-8 text. @throws NetworkFailure; the signal's reason; an OrchardError of `options.fetch`. */
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

export interface DownloadProgress {
  /** Bytes on disk; falls if the download starts anew. */
  readonly receivedBytes: number;
  /** Size that the server announces, if it does. */
  readonly totalBytes: number | undefined;
}

export interface DownloadOptions extends RequestOptions, RetryOptions {
  readonly file: string;
  readonly maxBytes: number;
  /** The file's size, if it is known beforehand. */
  readonly expectedBytes?: number;
  /** For the whole download, redirects and retries included. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether a partial file is kept: what an earlier download left in `file` is resumed, and what this one has
   * when it fails stays there. Only for files that the caller checks afterwards. Default false: the file is
   * written anew, and removed on failure.
   */
  readonly keepsPart?: boolean;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** What the server announced about the file whose first bytes are on disk; empty if the caller checks the bytes. */
interface Source {
  etag: string | undefined;
  totalBytes: number | undefined;
}

/** A download that breaks off is resumed if its file is surely unchanged, else started anew. @returns its bytes. */
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
    await withRetry(
      () => fetchRest(limited, source),
      limited,
      () => bytesOf(file),
    );
    return await bytesOf(file);
  } catch (thrown) {
    const isUseless = thrown instanceof NetworkFailure && thrown.isTooLarge;
    // If it can't be removed, the first failure is still the one to report.
    if (!keepsPart || isUseless) await remove().catch(() => undefined);
    if (timeoutMs === undefined || thrown !== timeout?.reason) throw thrown;
    throw new NetworkFailure(`the download took longer than ${timeoutMs / 1000} s`, { cause: thrown });
  }
}

/** Fetches the rest of the file. @throws NetworkFailure, a transient one if bytes are still missing afterwards. */
async function fetchRest(options: DownloadOptions, source: Source): Promise<void> {
  const { file, maxBytes, expectedBytes, keepsPart } = options;
  const here = await bytesOf(file);
  if (here > 0 && here === expectedBytes) return;
  const mayGoOn = here <= maxBytes && (keepsPart || source.etag !== undefined);
  const start = mayGoOn ? here : 0;
  const headers = { ...options.headers, ...(start > 0 && restHeaders(start, source)) };
  try {
    await request({ ...options, headers }, (response, pieces) => save(response, pieces, options, start, source));
  } catch (thrown) {
    const isBeyondEnd = thrown instanceof NetworkFailure && thrown.status === 416 && start > 0;
    if (!isBeyondEnd) throw thrown;
    // The server's file has no bytes after the part that is here, so that part is of another file.
    await onDisk(file, rm(file, { force: true }));
    await fetchRest(options, source);
  }
}

/** Headers that ask for the bytes from `start` on; for all of them if the file has changed. */
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
  // A server that does not support ranges, or whose file has changed, answers 200 with the whole file.
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
    if (keepsPart) await onDisk(file, flush(handle));
  } finally {
    await handle.close();
  }
  const wanted = expectedBytes ?? totalBytes ?? receivedBytes;
  if (receivedBytes !== wanted) throw broken(`the server sent ${receivedBytes} of ${wanted} bytes`);
}

/** Checks that an answer starts where the file ends, and is of the same file. */
async function requireRest(
  file: string,
  { from, start }: { readonly from: number; readonly start: number },
  before: Source,
  now: Source,
): Promise<void> {
  if (from !== start) throw broken(`the server sent bytes from position ${from}, not from ${start}`);
  if (!differ(before.etag, now.etag) && !differ(before.totalBytes, now.totalBytes)) return;
  await onDisk(file, rm(file, { force: true }));
  throw broken('the file changed while it was downloaded');
}

const differ = <T>(one: T | undefined, other: T | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

const broken = (reason: string): NetworkFailure => new NetworkFailure(reason, { isTransient: true });

function tooLarge(maxBytes: number): NetworkFailure {
  return new NetworkFailure(`the file is larger than ${maxBytes} bytes`, { isTooLarge: true });
}

/** Both unknown if the body was encoded on the way: the headers describe the encoded body then. */
function announcedBy({ status, headers }: Response): Source {
  const isEncoded = (headers.get('content-encoding') ?? 'identity') !== 'identity';
  if (isEncoded) return { etag: undefined, totalBytes: undefined };
  const size = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  const etag = headers.get('etag') ?? '';
  return {
    totalBytes: /^\d+$/.test(size ?? '') ? Number(size) : undefined,
    // RFC 9110, 13.1.5: `If-Range` takes only strong validators.
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

/** Turns errors of the disk into StorageErrors, since they share their codes with errors of the network. */
async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const reason = messageOf(thrown);
    throw new StorageError(`saving ${path}: ${reason}`, { cause: thrown });
  }
}

/** Refuses early what `publicFetch` would, unless the name can't be looked up now. @throws ValidationError */
export async function requirePublicHost(dataset_url: string): Promise<void> {
  // Loaded here, so that an import of the package doesn't wait for it.
  const { refusePrivateHost } = await import('./public-fetch.js');
  await refusePrivateHost(dataset_url);
}
