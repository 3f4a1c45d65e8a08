import { NetworkFailure } from './network-failure.js';
import { type RequestOptions, request } from './request.js';
import { type RetryOptions, retrying } from './retrying.js';

export interface FetchTextOptions extends RequestOptions, RetryOptions {
  readonly maxBytes: number;
}

/**
 * The body of a URL as UTF-8 text; a request that breaks off is repeated.
 * @throws NetworkFailure; the signal's reason; an OrchardError that `options.fetch` rejects with.
 */
export async function fetchText(options: FetchTextOptions): Promise<string> {
  const { maxBytes } = options;
  return retrying(
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
