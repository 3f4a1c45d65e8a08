import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GUIDES } from '../../scripts/site/guides.mjs';
import { aBrowser, accessibilityProblems, executable, openPage } from '../http/a-browser.js';

/** The pages that `npm run docs` writes: links lead somewhere, the search finds guides, axe-core finds nothing. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const site = join(root, 'site');
/** `npm run check` builds them first. */
const isBuilt = process.env.SITE_BUILT === '1';

/** The values of an attribute on a page. */
function valuesOf(node: DefaultTreeAdapterTypes.Node, name: string): string[] {
  const own = ('attrs' in node ? node.attrs : []).filter((each) => each.name === name).map(({ value }) => value);
  return [...own, ...('childNodes' in node ? node.childNodes : []).flatMap((child) => valuesOf(child, name))];
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

describe('guides', () => {
  it('are in the menu, each once', () => {
    const there = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
    const named = Object.values(GUIDES).flat();
    expect(new Set(named).size).toBe(named.length);
    const beside = ['README', 'SECURITY', 'CONTRIBUTING', 'CHANGELOG'];
    expect(named.toSorted()).toEqual([...there.map((name) => name.replace('.md', '')), ...beside].sort());
  });
});

describe.runIf(isBuilt)('the site', () => {
  it('links only to what it has', () => {
    const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
    expect(pages.length).toBeGreaterThan(200);
    const documents = new Map(pages.map((page) => [page, parse(readFileSync(join(site, page), 'utf8'))]));
    const ids = new Map([...documents].map(([page, document]) => [page, new Set(valuesOf(document, 'id'))]));
    const wrong: string[] = [];
    for (const [page, document] of documents) {
      for (const link of new Set([...valuesOf(document, 'href'), ...valuesOf(document, 'src')])) {
        if (/^[a-z]+:/.test(link)) continue;
        const [path = '', anchor = ''] = link.split('#').map(decodeURIComponent);
        const file = path.endsWith('/') ? `${path}index.html` : path;
        const target = path === '' ? page : normalize(join(dirname(page), file));
        // Icons are drawn by a file of elements, which is no page.
        const isThere = anchor === '' || (ids.get(target)?.has(anchor) ?? extname(target) === '.svg');
        if (!existsSync(join(site, target)) || !isThere) wrong.push(`${page}: ${link}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('shows the fields of types', () => {
    const page = readFileSync(join(site, 'interfaces', 'index.ListedModel.html'), 'utf8');
    for (const field of ['name', 'bytes', 'directory', 'licence']) expect(page).toContain(`id="${field}"`);
  });
});

describe.runIf(isBuilt && executable)('the site in a browser', () => {
  let browser: Browser;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const path = join(site, normalize(pathname === '/' ? '/index.html' : pathname));
    if (!existsSync(path)) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': types[extname(path)] ?? 'text/plain' }).end(readFileSync(path));
  });
  let url: string;
  beforeAll(async () => {
    browser = await aBrowser();
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });

  const pages = [
    '',
    'documents/The_command_line.html',
    'documents/Backbones.html', // has long commands in its sentences
    'functions/index.train.html', // has a long type in a heading
    'variables/index.DEFAULT_DEV_FRACTION.html', // has a long name
    'modules/web.html', // has a list of long names
    'interfaces/index.ListedModel.html',
    'classes/index.Predictor.html',
  ];
  it.each(
    pages.flatMap((page) => [
      { page, colorScheme: 'light' as const, width: 1280 },
      { page, colorScheme: 'dark' as const, width: 390 },
    ]),
  )('has nothing that axe-core finds wrong: %j', async ({ page: path, colorScheme, width }) => {
    const viewport = { width, height: 900 };
    const page = await openPage(browser, url, { colorScheme, viewport });
    await page.goto(`${url}${path}`);
    await page.waitForLoadState('networkidle');
    expect(await accessibilityProblems(page)).toEqual([]);
    // A table or a block of code may be scrolled, the page itself not.
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    const pictures = process.env.SITE_PICTURES;
    const name = `${path.replaceAll(/\W+/g, '-') || 'index'}-${colorScheme}-${width}.png`;
    if (pictures) await page.screenshot({ path: join(pictures, name) });
  });

  it('has a search that finds words of guides', async () => {
    const page = await openPage(browser, url);
    await page.locator('#tsd-search-trigger').click();
    await page.locator('#tsd-search-input').pressSequentially('Plug Play');
    await page.locator('#tsd-search-results a', { hasText: 'Installing' }).first().waitFor();
  });
});
