import { readFile } from 'node:fs/promises';
import type { Hono } from 'hono';
import { staticFiles } from './static-file.js';

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

/** The files of the page. Browsers ask again each time, and are told where nothing has changed. */
export function pageFiles(): Hono {
  return staticFiles(
    Object.entries(files).map(([path, [name, type]]) => ({ path, type, read: () => content(name) })),
  );
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
