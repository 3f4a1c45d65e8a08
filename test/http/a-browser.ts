import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';

const candidates = [process.env.CHROMIUM, '/usr/bin/chromium'];
/** Chromium, where there is one; `CHROMIUM` names another than Debian's. */
export const executable = candidates.find((path) => path !== undefined && path !== '' && existsSync(path));

export async function aBrowser(): Promise<Browser> {
  if (executable === undefined) throw new Error('no Chromium');
  // Its own sandbox does not work for root, as in containers; it opens nothing but our page.
  return chromium.launch({ executablePath: executable, args: ['--no-sandbox'] });
}

export interface PageOptions extends BrowserContextOptions {
  /** A script that runs before those of the page. */
  readonly init?: string;
  /** Whether requests may fail, and not only with an answer of 4xx. */
  readonly mayFail?: boolean;
}

/** A page that is closed when the running test has finished, and must not have had an error or asked another server. */
export async function openPage(
  browser: Browser,
  url: string,
  { init, mayFail = false, ...options }: PageOptions = {},
): Promise<Page> {
  const context = await browser.newContext(options);
  if (init !== undefined) await context.addInitScript(init);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // An answer of 4xx is one that the page shows; Chromium logs it all the same.
    const isAnswer = message.text().includes('status of 4') || (mayFail && message.text().startsWith('Failed to load'));
    if (message.type() === 'error' && !isAnswer) faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) faults.push(`asked ${request.url()}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(faults).toEqual([]);
  });
  await page.goto(url);
  return page;
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe-core finds wrong with a page as it is now. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axe, 'utf8'));
  const { violations }: AxeResults = await page.evaluate('axe.run()');
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}
