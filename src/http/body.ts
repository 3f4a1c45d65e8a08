import { createWriteStream, type WriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { clearTimeout, setTimeout } from 'node:timers';
import { TextDecoder } from 'node:util';
import { Refusal } from './refusal.js';

/** Limits of a request's body. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** Maximum time until the whole body has arrived. */
  readonly bodyTimeoutMs: number;
}

/** `application/json`, also with parameters, and its relatives such as `application/vnd.api+json`. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i;

/** Bodies of more bytes are decoded as they arrive, so that no piece of work is long. */
const SMALL_BYTES = 64 * 1024;

/**
 * The JSON body of a request; undefined if it is empty.
 * @param hold is called with the bytes before they are kept in memory.
 * @throws Refusal 415 for another content type, 413 and 408 beyond the limits, 422 if it is not JSON in UTF-8
 */
export async function readBody(
  request: Request,
  limits: BodyLimits,
  hold: (bytes: number) => void = () => undefined,
): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (!JSON_TYPE.test(type)) throw otherType('application/json');
  requirePlain(request);
  const text = await readText(request, limits, hold);
  return text === '' ? undefined : parseJson(text);
}

/** Bodies are UTF-8 and not compressed. @throws Refusal 415 */
export function requirePlain({ headers }: Request): void {
  const charset = CHARSET.exec(headers.get('content-type') ?? '')?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) throw unsupported('content-type', `the body must be UTF-8, not ${charset}`);
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw unsupported('content-encoding', `send the body as it is, not as ${encoding}`);
}

async function readText(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
  hold: (bytes: number) => void,
): Promise<string> {
  const announced = request.headers.get('content-length');
  if (Number(announced) > maxBodyBytes) throw tooLarge(maxBodyBytes, true);
  if (announced !== null) hold(Number(announced));
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), bodyTimeoutMs);
  // Servers enforce an announced length; reading at once avoids a web stream.
  const isSmall = announced !== null && Number(announced) <= SMALL_BYTES;
  const holdPiece = announced === null ? hold : () => undefined;
  const reading = isSmall ? readWhole(request) : readChunks(request, maxBodyBytes, late.signal, holdPiece);
  return Promise.race([reading, rejectedBy(late.signal)])
    .catch((thrown: unknown) => {
      if (thrown instanceof Refusal) throw thrown;
      throw late.signal.aborted ? tooSlow(bodyTimeoutMs) : brokenOff();
    })
    .finally(() => clearTimeout(timer));
}

async function readWhole(request: Request): Promise<string> {
  return decoded(new TextDecoder('utf-8', { fatal: true }), new Uint8Array(await request.arrayBuffer()));
}

/** Reads no more than one chunk beyond `maxBytes`. @throws Refusal */
async function readChunks(
  { body }: Request,
  maxBytes: number,
  signal: AbortSignal,
  hold: (bytes: number) => void,
): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes, false);
    if (signal.aborted) break;
    hold(chunk.byteLength);
    text += decoded(decoder, chunk, { stream: true });
  }
  return text + decoded(decoder);
}

/** @throws Refusal 422 */
function decoded(decoder: TextDecoder, bytes?: Uint8Array, options?: { readonly stream: boolean }): string {
  try {
    return decoder.decode(bytes, options);
  } catch {
    throw notJson('it is not UTF-8');
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson('it ends early or has an invalid character');
  }
}

function notJson(reason: string): Refusal {
  return new Refusal(422, [{ loc: ['body'], msg: `the body is not valid JSON: ${reason}`, type: 'json_invalid' }]);
}

export function otherType(type: string): Refusal {
  return unsupported('content-type', `send the body as content-type: ${type}`);
}

function unsupported(header: 'content-type' | 'content-encoding', msg: string): Refusal {
  return new Refusal(415, [{ loc: ['header', header], msg, type: header.replace('-', '_') }]);
}

function brokenOff(): Refusal {
  return new Refusal(400, [{ loc: ['body'], msg: 'the body is incomplete', type: 'incomplete' }]);
}

/**
 * @param isAnnounced by the content length. Then the server keeps reading for a moment, because a client that is still
 *   sending when the connection closes never sees the answer. A body without a length may never end.
 */
function tooLarge(maxBodyBytes: number, isAnnounced: boolean): Refusal {
  const msg = `the body is larger than ${maxBodyBytes.toLocaleString('en-US')} bytes`;
  const headers = isAnnounced ? {} : HANG_UP;
  return new Refusal(413, [{ loc: ['body'], msg, type: 'too_large' }], { headers });
}

function tooSlow(bodyTimeoutMs: number): Refusal {
  const msg = `the body did not arrive within ${bodyTimeoutMs / 1000} s`;
  return new Refusal(408, [{ loc: ['body'], msg, type: 'too_slow' }], { headers: HANG_UP });
}

const HANG_UP = { connection: 'close' };

/**
 * Writes the body of a request to a new file that only this user can read. Leaves no file after a failure.
 * @throws Refusal 413 and 408 beyond the limits, and errors of the file system
 */
export async function saveBody(
  { body, headers, signal }: Request,
  path: string,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
): Promise<void> {
  if (Number(headers.get('content-length')) > maxBodyBytes) throw tooLarge(maxBodyBytes, true);
  const late = AbortSignal.timeout(bodyTimeoutMs);
  const source = body === null ? Readable.from([]) : Readable.fromWeb(body);
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  /** Which of the two failed; the pipeline then destroys the other with the same error. */
  let broken: Readable | WriteStream | undefined;
  for (const each of [source, file]) each.once('error', () => (broken ??= each));
  /** A problem of the body; other failures are those of the file. */
  let refused: Refusal | undefined;
  let length = 0;
  async function* upToLimit(chunks: AsyncIterable<Uint8Array>) {
    try {
      for await (const chunk of chunks) {
        length += chunk.byteLength;
        if (length > maxBodyBytes) {
          refused = tooLarge(maxBodyBytes, false);
          throw refused;
        }
        yield chunk;
      }
    } catch (thrown) {
      if (late.aborted) refused ??= tooSlow(bodyTimeoutMs);
      else if (signal.aborted || broken !== file) refused ??= brokenOff();
      throw thrown;
    }
  }
  try {
    await pipeline(source, upToLimit, file, { signal: AbortSignal.any([signal, late]) });
  } catch (thrown) {
    await rm(path, { force: true });
    throw refused ?? thrown; // the pipeline may reject with another error
  }
}
