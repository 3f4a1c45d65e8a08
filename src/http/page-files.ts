import { readFile } from 'node:fs/promises';
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';

/** Where each file of the page is served, and as what. */
const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/page/icon.svg': ['icon.svg', 'image/svg+xml'],
  '/page/licences.txt': ['licences.txt', 'text/plain; charset=utf-8'],
} as const;

/** The build puts the page beside the built files of this package; a run from source finds it there too. */
const places = [new URL('./page/', import.meta.url), new URL('../../dist/page/', import.meta.url)];
const BUILT_FILE = 'page.js';

/** Everything comes from this server, and nothing in the markup runs or styles by itself. */
const contentSecurityPolicy = {
  defaultSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
  objectSrc: ["'none'"],
};

/** The files of the page. Browsers ask again each time, and are told where nothing has changed. */
export function pageFiles(): Hono {
  const app = new Hono();
  // Whether hosts are to be reached by TLS alone is for the proxy to say.
  const headers = secureHeaders({ contentSecurityPolicy, strictTransportSecurity: false });
  for (const [path, [name, type]] of Object.entries(files)) {
    app.get(path, headers, etag(), async (context) =>
      context.body(await content(name), {
        headers: { 'content-type': type, 'cache-control': 'no-cache' },
      }),
    );
  }
  return app;
}

/** @throws where the page has not been built. */
async function content(name: string): Promise<string> {
  const [first, second] = await Promise.allSettled(places.map((place) => readPage(place, name)));
  if (first?.status === 'fulfilled') return first.value;
  if (second?.status === 'fulfilled') return second.value;
  throw second?.reason;
}

/** A folder without the built script holds the page's sources. */
async function readPage(place: URL, name: string): Promise<string> {
  const [text] = await Promise.all([
    readFile(new URL(name, place), 'utf8'),
    readFile(new URL(BUILT_FILE, place)),
  ]);
  return text;
}
