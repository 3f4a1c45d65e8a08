import { createHash } from 'node:crypto';
import { Hono, type MiddlewareHandler } from 'hono';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';

/** A file as it is sent. */
interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of its bytes, in quotes. */
  readonly tag: string;
}

export interface StaticFile {
  /** Where it is served. */
  readonly path: string;
  /** Its content-type. */
  readonly type: string;
  /** What browsers may do with it. Default: ask each time whether it has changed. */
  readonly cacheControl?: string;
  /** Called once; again only where it failed. */
  readonly read: () => Promise<string | Uint8Array>;
}

/** Bytes that are given to a connection at a time, so that one that takes nothing holds no more. */
const PIECE_BYTES = 64 * 1024;

/** Nothing comes from another server, and nothing in the markup runs or styles by itself. */
const strictPolicy = {
  defaultSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
  objectSrc: ["'none'"],
};

/**
 * Serves files, which all requests share in memory. Browsers are told where a file has not changed.
 * @param policy adds to the content security policy, which allows what comes from this server alone.
 */
export function staticFiles(
  files: readonly StaticFile[],
  policy: Readonly<Record<string, string[]>> = {},
): Hono {
  const app = new Hono();
  // Whether hosts are to be reached by TLS alone is for the proxy to say.
  const headers = secureHeaders({
    contentSecurityPolicy: { ...strictPolicy, ...policy },
    strictTransportSecurity: false,
  });
  for (const file of files) app.get(file.path, headers, etag(), sending(file));
  return app;
}

function sending({ read, type, cacheControl = 'no-cache' }: StaticFile): MiddlewareHandler {
  const content = once(read);
  return async (context) => {
    const { bytes, tag } = await content();
    const headers = { 'content-type': type, 'cache-control': cacheControl, etag: tag };
    if (bytes.byteLength <= PIECE_BYTES) return context.body(bytes, { headers });
    const length = String(bytes.byteLength);
    return context.body(inPieces(bytes), { headers: { ...headers, 'content-length': length } });
  };
}

function once(read: StaticFile['read']): () => Promise<Content> {
  let content: Promise<Content> | undefined;
  return () => {
    content ??= read().then(contentOf);
    content.catch(() => {
      content = undefined;
    });
    return content;
  };
}

function contentOf(text: string | Uint8Array): Content {
  const bytes = new Uint8Array(Buffer.from(text));
  return { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

/** The same bytes, read as they are taken. */
function inPieces(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = bytes.subarray(sent, sent + PIECE_BYTES);
      sent += piece.byteLength;
      if (piece.byteLength > 0) controller.enqueue(piece);
      if (sent >= bytes.byteLength) controller.close();
    },
  });
}
