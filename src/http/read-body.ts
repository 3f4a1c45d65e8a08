import { err, ok, Result } from 'neverthrow';
import { type Refusal, refusal } from './refusal.js';

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** For the whole body to arrive. */
  readonly bodyTimeoutMs: number;
}

/** `application/json`, also with parameters, and its relatives such as `application/vnd.api+json`. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * The JSON body of a request; undefined where it is empty. Refused with 415 for another content type, with 413 and 408
 * beyond the limits, with 422 where it isn't JSON in UTF-8.
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<Result<unknown, Refusal>> {
  if (!JSON_TYPE.test(request.headers.get('content-type') ?? '')) return err(notJsonType);
  const bytes = await readBytes(request, limits);
  return bytes.andThen(parseJson);
}

async function readBytes(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
): Promise<Result<Uint8Array, Refusal>> {
  const announced = request.headers.get('content-length');
  if (Number(announced) > maxBodyBytes) return err(tooLarge(maxBodyBytes));
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), bodyTimeoutMs);
  try {
    // A server holds a body to the length that it announces; to read it at once spares a web stream.
    const reading = announced === null ? readPieces(request, maxBodyBytes, late.signal) : readWhole(request);
    const bytes = await Promise.race([reading, rejectedBy(late.signal)]);
    return bytes.byteLength > maxBodyBytes ? err(tooLarge(maxBodyBytes)) : ok(bytes);
  } catch {
    return err(late.signal.aborted ? tooSlow(bodyTimeoutMs) : brokenOff);
  } finally {
    clearTimeout(timer);
  }
}

async function readWhole(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer());
}

/** Reads no more than one piece beyond `maxBytes`. */
async function readPieces({ body }: Request, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece);
    length += piece.byteLength;
    if (length > maxBytes || signal.aborted) break;
  }
  return Buffer.concat(pieces);
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

function parseJson(bytes: Uint8Array): Result<unknown, Refusal> {
  if (bytes.byteLength === 0) return ok(undefined);
  const parse = Result.fromThrowable(
    (): unknown => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)),
    (thrown) => {
      const reason =
        thrown instanceof SyntaxError ? 'it ends early or has a wrong character' : 'it is not UTF-8';
      return refusal(422, { loc: ['body'], msg: `the body is no JSON: ${reason}`, type: 'json_invalid' });
    },
  );
  return parse();
}

const notJsonType = refusal(415, {
  loc: ['header', 'content-type'],
  msg: 'send the body as content-type: application/json',
  type: 'content_type',
});

export const brokenOff = refusal(400, { loc: ['body'], msg: 'the body broke off', type: 'incomplete' });

export function tooLarge(maxBodyBytes: number): Refusal {
  const msg = `the body is larger than ${maxBodyBytes.toLocaleString('en-US')} bytes`;
  return refusal(413, { loc: ['body'], msg, type: 'too_large' }, { connection: 'close' });
}

export function tooSlow(bodyTimeoutMs: number): Refusal {
  const msg = `the body did not arrive within ${bodyTimeoutMs / 1000} s`;
  return refusal(408, { loc: ['body'], msg, type: 'too_slow' }, { connection: 'close' });
}
