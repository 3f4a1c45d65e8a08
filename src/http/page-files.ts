import { readFile } from 'node:fs/promises';
import type { Hono } from 'hono';
import { ownFile } from '../own-files.js';
import { staticFiles } from './static-file.js';

/** Where each file of the page is served, and as what. */
const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/page/icon.svg': ['icon.svg', 'image/svg+xml'],
  '/page/licences.txt': ['licences.txt', 'text/plain; charset=utf-8'],
} as const;

/** The files of the page. Browsers ask again each time, and are told where nothing has changed. */
export function pageFiles(): Hono {
  return staticFiles(
    Object.entries(files).map(([path, [name, type]]) => ({ path, type, read: () => content(name) })),
  );
}

/** @throws InstallationError where the page has not been built, or was left out of a bundle. */
async function content(name: string): Promise<string> {
  const script = ownFile(
    'page/page.js',
    () => new URL(/* webpackIgnore: true */ './page/page.js', import.meta.url),
  );
  return readFile(new URL(name, script), 'utf8');
}
