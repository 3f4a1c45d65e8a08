import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Hono, type MiddlewareHandler } from 'hono';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';
import { ownFile } from '../system/index.js';

interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The hash of the bytes, in quotes. */
  readonly tag: string;
}

interface StaticFile {
  /** Path of its URL. */
  readonly path: string;
  /** Its content-type. */
  readonly type: string;
  /** Default: browsers ask each time whether it has changed. */
  readonly cacheControl?: string;
  /** Called once, and again only if it failed. */
  readonly read: () => Promise<string | Uint8Array>;
}

/** Bytes written to a connection at a time, which bounds the memory of one that does not read. */
const CHUNK_BYTES = 64 * 1024;

/** Nothing from other servers, no inline scripts or styles. */
const strictPolicy = {
  defaultSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
  objectSrc: ["'none'"],
};

/**
 * Serves files from memory; all requests share them.
 * @param policy is added to the content security policy, which allows only this server.
 */
export function staticFiles(files: readonly StaticFile[], policy: Readonly<Record<string, string[]>> = {}): Hono {
  const app = new Hono();
  // The proxy decides whether to require TLS.
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
    if (bytes.byteLength <= CHUNK_BYTES) return context.body(bytes, { headers });
    const length = String(bytes.byteLength);
    return context.body(inChunks(bytes), { headers: { ...headers, 'content-length': length } });
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

/** The same bytes, read on demand. */
function inChunks(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = bytes.subarray(sent, sent + CHUNK_BYTES);
      sent += chunk.byteLength;
      if (chunk.byteLength > 0) controller.enqueue(chunk);
      if (sent >= bytes.byteLength) controller.close();
    },
  });
}

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** The page at /. */
export function pageFiles(): Hono {
  return staticFiles([
    { path: '/', type: HTML, read: () => pageFile('index.html') },
    { path: '/page/page.js', type: SCRIPT, read: () => pageFile('page.js') },
    { path: '/page/style.css', type: CSS, read: () => pageFile('style.css') },
    { path: '/page/icon.svg', type: 'image/svg+xml', read: () => pageFile('icon.svg') },
    { path: '/page/licences.txt', type: 'text/plain; charset=utf-8', read: () => pageFile('licences.txt') },
  ]);
}

/** @throws InstallationError if the page was not built, or is missing from a bundle */
async function pageFile(name: string): Promise<string> {
  const script = ownFile('page/page.js', () => new URL(/* webpackIgnore: true */ './page/page.js', import.meta.url));
  return readFile(new URL(name, script), 'utf8');
}

const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>Text Model Training and Inference Service</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
  <div id="reference"></div>
  <script src="/docs/swagger-ui-bundle.js"></script>
  <script src="/docs/start.js"></script>
</body>
</html>
`;
/** In a separate file, because the page's policy forbids inline scripts. */
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', validatorUrl: null });\n`;

/** Swagger UI uses style attributes, and its icons are data: URLs. */
const referencePolicy = { styleSrc: ["'self'", "'unsafe-inline'"], imgSrc: ["'self'", 'data:'] };

/** The API reference: Swagger UI on /openapi.json, without requests to other servers. */
export function referencePage(): Hono {
  const cacheControl = 'max-age=3600';
  const bundle = 'swagger-ui-bundle.js';
  return staticFiles(
    [
      { path: '/', type: HTML, read: async () => REFERENCE_PAGE },
      { path: '/start.js', type: SCRIPT, cacheControl, read: async () => START },
      { path: '/swagger-ui.css', type: CSS, cacheControl, read: () => referenceFile('swagger-ui.css') },
      { path: `/${bundle}`, type: SCRIPT, cacheControl, read: () => referenceFile(bundle) },
    ],
    referencePolicy,
  );
}

/** The build copies the files of Swagger UI. @throws InstallationError if a bundle left them out */
async function referenceFile(name: string): Promise<Uint8Array> {
  const source = () => new URL(/* webpackIgnore: true */ './reference/swagger-ui-bundle.js', import.meta.url);
  return readFile(new URL(name, ownFile('reference/swagger-ui-bundle.js', source)));
}
