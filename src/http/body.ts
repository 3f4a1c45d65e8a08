import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Refusal } from './refusal.js';

/** Limits of a request's body. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** Time for the whole body to arrive. */
  readonly bodyTimeoutMs: number;
}

/** `application/json`, also with parameters, and its relatives such as `application/vnd.api+json`. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * The JSON body of a request; undefined if it is empty.
 * @throws Refusal 415 for another content type, 413 and 408 beyond the limits, 422 if it is not JSON in UTF-8
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<unknown> {
  if (!JSON_TYPE.test(request.headers.get('content-type') ?? '')) throw otherType('application/json');
  const bytes = await readBytes(request, limits);
  return bytes.byteLength === 0 ? undefined : parseJson(bytes);
}

async function readBytes(request: Request, { maxBodyBytes, bodyTimeoutMs }: BodyLimits): Promise<Uint8Array> {
  const announced = request.headers.get('content-length');
  if (Number(announced) > maxBodyBytes) throw tooLarge(maxBodyBytes, true);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), bodyTimeoutMs);
  // Servers enforce an announced length; reading at once avoids a web stream.
  const reading = announced === null ? readChunks(request, maxBodyBytes, late.signal) : readWhole(request);
  const bytes = await Promise.race([reading, rejectedBy(late.signal)])
    .catch(() => {
      throw late.signal.aborted ? tooSlow(bodyTimeoutMs) : brokenOff();
    })
    .finally(() => clearTimeout(timer));
  if (bytes.byteLength > maxBodyBytes) throw tooLarge(maxBodyBytes, false);
  return bytes;
}

async function readWhole(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer());
}

/** Reads no more than one chunk beyond `maxBytes`. */
async function readChunks({ body }: Request, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > maxBytes || signal.aborted) break;
  }
  return Buffer.concat(chunks);
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (thrown) {
    const reason = thrown instanceof SyntaxError ? 'it ends early or has an invalid character' : 'it is not UTF-8';
    const msg = `the body is not valid JSON: ${reason}`;
    throw new Refusal(422, [{ loc: ['body'], msg, type: 'json_invalid' }]);
  }
}

export function otherType(type: string): Refusal {
  const msg = `send the body as content-type: ${type}`;
  return new Refusal(415, [{ loc: ['header', 'content-type'], msg, type: 'content_type' }]);
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
      refused ??= late.aborted ? tooSlow(bodyTimeoutMs) : brokenOff();
      throw thrown;
    }
  }
  try {
    const source = body === null ? Readable.from([]) : Readable.fromWeb(body);
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    await pipeline(source, upToLimit, file, { signal: AbortSignal.any([signal, late]) });
  } catch (thrown) {
    await rm(path, { force: true });
    throw refused ?? thrown; // the pipeline may reject with another error
  }
}
