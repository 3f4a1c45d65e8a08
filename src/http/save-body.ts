import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BodyLimits, brokenOff, tooLarge, tooSlow } from './read-body.js';
import type { Refusal } from './refusal.js';

/**
 * Writes the body of a request to a new file that only this user may read; after a failure there is none.
 * @returns its bytes. @throws Refusal 413 and 408 beyond the limits. @throws what the file system does
 */
export async function saveBody(
  { body, headers, signal }: Request,
  path: string,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
): Promise<number> {
  if (Number(headers.get('content-length')) > maxBodyBytes) throw tooLarge(maxBodyBytes, true);
  const late = AbortSignal.timeout(bodyTimeoutMs);
  /** What is wrong with the body; what else goes wrong is the file's. */
  let refused: Refusal | undefined;
  let length = 0;
  async function* upToLimit(pieces: AsyncIterable<Uint8Array>) {
    try {
      for await (const piece of pieces) {
        length += piece.byteLength;
        if (length > maxBodyBytes) {
          refused = tooLarge(maxBodyBytes, false);
          throw refused;
        }
        yield piece;
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
    return length;
  } catch (thrown) {
    await rm(path, { force: true });
    throw refused ?? thrown; // the pipeline may reject with what it broke off for
  }
}
