import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBrowser, accessibilityProblems, executable, openPage } from './a-browser.js';
import { aPlayedService, KEY } from './page-service.js';

/** The view of the built page in which texts are labelled, in a real browser. */

const things = ['lamp', 'chair', 'kettle', 'jacket', 'backpack', 'desk'];
const bad = ['arrived broken', 'stopped working', 'is far too small', 'smells of plastic', 'came three weeks late'];
const good = ['works perfectly', 'is lovely', 'came a day early', 'makes me smile', 'is worth every penny'];
const texts = things.flatMap((thing) => [...bad, ...good].map((verdict) => `The ${thing} ${verdict}.`));
const labelOf = (text: string) => (bad.some((verdict) => text.includes(verdict)) ? 'complaint' : 'praise');
const keyOf = (text: string) => (labelOf(text) === 'complaint' ? '1' : '2');

const title = executable === undefined ? 'labelling (no Chromium here; name one in CHROMIUM)' : 'labelling';

describe.skipIf(executable === undefined)(title, () => {
  let browser: Browser;
  let service: Awaited<ReturnType<typeof aPlayedService>>;
  beforeAll(async () => {
    [browser, service] = await Promise.all([aBrowser(), aPlayedService()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  /** The view with the key taken, and without a click. */
  async function aView(options?: BrowserContextOptions): Promise<Page> {
    const page = await openPage(browser, service.url, options);
    await page.goto(`${service.url}/#label`);
    await page.locator('#key:focus').waitFor();
    await page.keyboard.type(KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Label your own texts' }).waitFor();
    return page;
  }

  async function aSet(page: Page, name: string, content = texts.join('\n')): Promise<void> {
    await page.getByLabel('Name of the set').fill(name);
    await page.getByLabel('Labels, one per line').fill('complaint\npraise');
    await page.getByLabel('Texts, one per line').fill(content);
    await page.getByRole('button', { name: 'Start labelling' }).click();
    await page.getByRole('heading', { name, exact: true }).waitFor();
  }

  const shown = async (page: Page) => (await page.locator('#card-text').textContent()) ?? '';
  const count = (page: Page, labelled: number) =>
    page.locator('#set-count', { hasText: `${labelled} of ${texts.length} labelled` }).waitFor();

  /** Labels the texts that are shown, by keys. @returns the rows */
  async function label(page: Page, times: number, done = 0): Promise<{ text: string; label: string }[]> {
    const rows: { text: string; label: string }[] = [];
    while (rows.length < times) {
      const text = await shown(page);
      await page.keyboard.press(keyOf(text));
      rows.push({ text, label: labelOf(text) });
      await count(page, done + rows.length);
    }
    return rows;
  }

  it('labels by keys, undoes, survives a reload, trains, and then asks the model which texts come next', async () => {
    const page = await aView();
    const { keyboard } = page;
    await page.locator('#new-set-heading:focus').waitFor();
    await keyboard.press('Tab');
    await keyboard.type('orders');
    await keyboard.press('Tab');
    await keyboard.type('complaint\npraise');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    await keyboard.insertText(texts.join('\n'));
    await keyboard.press('Tab');
    await keyboard.press('Enter');
    await page.locator('#set-heading:focus').waitFor();

    const rows = await label(page, 19);
    await keyboard.press('s');
    await page.locator('#set-count', { hasText: '19 of 60 labelled, 1 skipped' }).waitFor();
    await keyboard.press('Backspace');
    await page.locator('#set-count', { hasText: /^19 of 60 labelled$/ }).waitFor();
    const last = await shown(page);
    await keyboard.press(keyOf(last) === '1' ? '2' : '1'); // wrong
    await count(page, 20);
    await keyboard.press('u');
    await count(page, 19);
    expect(await shown(page)).toBe(last);
    rows.push(...(await label(page, 1, 19)));
    expect(await page.locator('#opinion').textContent()).toBe('');

    await page.reload();
    await count(page, 20);
    await page.locator('#set-heading:focus').waitFor();
    const told = page.getByRole('status').filter({ hasText: 'Next text: ' });
    await keyboard.press('s');
    await told.waitFor({ state: 'attached' });
    await keyboard.press('Control+z');
    await page.locator('#last-choice', { hasText: 'Undone' }).waitFor();

    await page.locator('#train-set').focus();
    await keyboard.press('Enter');
    await page.getByText('The model is trained. Keep').waitFor({ timeout: 110_000 });
    // The text that was on the screen stays; the next one is the model's.
    await expect.poll(() => isOrdered(page), { timeout: 60_000 }).toBe(true);
    await label(page, 1, 20);
    await page.locator('#card-order', { hasText: 'Picked by the model' }).waitFor();
    await page
      .locator('#opinion', { hasText: /^The model (?:agrees: \d+|said (?:complaint|praise), \d+) %\.$/ })
      .waitFor();
    await label(page, 2, 21);
    await page.locator('#model-state', { hasText: /has agreed with \d of your 3 labels/ }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download the rows' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe('orders.jsonl');
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(23);
    expect(lines.slice(0, 20).map((line) => JSON.parse(line))).toEqual(rows);

    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByLabel('Model', { exact: true }).selectOption({ index: 0 });
    await page.getByLabel('Text', { exact: true }).fill('The mug arrived broken.');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByText('The model took').waitFor();
    const answers = await page.getByRole('region', { name: 'Answer' }).getByRole('listitem').allInnerTexts();
    expect(answers.map((each) => each.split(/\s/)[0]).sort()).toEqual(['complaint', 'praise']);
  });

  /** Whether a set has the order that is due, as the service says. */
  async function isOrdered(page: Page): Promise<boolean> {
    const id = new URL(page.url()).hash.split('/')[1];
    const response = await fetch(`${service.url}/page/labelling-sets/${id}`, { headers: { 'x-api-key': KEY } });
    const { data } = JSON.parse(await response.text());
    return data.order === 'model' && !data.is_order_due;
  }

  it('takes no keys while they are switched off, nor in fields and other views', async () => {
    const page = await aView();
    await aSet(page, 'switched');
    await page.getByLabel('Keyboard shortcuts').uncheck();
    await page.keyboard.press('1');
    await page.getByLabel('Keyboard shortcuts').check();
    await page.keyboard.press('2');
    await count(page, 1);
    await page.getByRole('link', { name: 'Models' }).click();
    await page.keyboard.press('1');
    await page.getByRole('link', { name: 'Label', exact: true }).click();
    const listed = page.getByRole('listitem').filter({ hasText: 'switched' });
    await listed.filter({ hasText: '1 of 60 texts' }).waitFor();
    await page.getByLabel('Name of the set').fill('us1'); // in a field, keys write
    await listed.filter({ hasText: '1 of 60 texts' }).waitFor();
    await listed.getByRole('link').click();
    await count(page, 1);
    const counts = await page.locator('#label-counts li').allInnerTexts();
    expect(counts.map((each) => each.split(/\s+/))).toEqual([
      ['complaint', '0'],
      ['praise', '1'],
    ]);
  });

  it('shows what another tab has labelled instead of labelling it twice', async () => {
    const [page, other] = [await aView(), await aView()];
    await aSet(page, 'tabs');
    await other.goto(page.url());
    await other.locator('#set-heading', { hasText: 'tabs' }).waitFor();
    const text = await shown(page);
    expect(await shown(other)).toBe(text);
    await label(page, 1);
    await other.keyboard.press(keyOf(text) === '1' ? '2' : '1');
    await other.getByRole('alert').filter({ hasText: 'has already been labelled or skipped' }).waitFor();
    await count(other, 1);
    expect(await shown(other)).not.toBe(text);
  });

  it('reads a file, and tells at its field what is wrong in it', async () => {
    const page = await aView();
    await page.getByLabel('Choose a file of texts').check();
    const field = page.getByLabel('File of texts', { exact: true });
    const file = (content: string) => ({ name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from(content) });
    await page.getByLabel('Name of the set').fill('notes');
    await page.getByLabel('Labels, one per line').fill('a');
    await field.setInputFiles(file('id,remark\n1,fine\n'));
    const start = page.getByRole('button', { name: 'Start labelling' });
    await start.click();
    await page.locator('#set-labels-problem', { hasText: 'Give at least two labels.' }).waitFor();
    await page.getByLabel('Labels, one per line').fill('a\nb');
    await start.click();
    await page.locator('#set-file-problem', { hasText: 'expected a column "text"' }).waitFor();
    await field.setInputFiles(file('id,text\n1,<b>fine</b>\n'));
    await start.click();
    await page.getByText('0 of 1 labelled').waitFor();
    expect(await shown(page)).toBe('<b>fine</b>');
    await page.keyboard.press('1');
    await page.getByText('All texts are labelled or skipped.').waitFor();
    expect(await page.locator('#train-set').getAttribute('aria-disabled')).toBe('true');
  });

  it('deletes a set when that is confirmed', async () => {
    const page = await aView();
    await aSet(page, 'gone');
    page.on('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Delete the set' }).click();
    await page.locator('#sets-heading:focus').waitFor();
    expect(await page.getByRole('link', { name: 'gone' }).count()).toBe(0);
  });

  it.each(['light', 'dark'] as const)('has nothing that axe-core finds wrong, in %s colours', async (colorScheme) => {
    const page = await aView({ colorScheme });
    expect(await accessibilityProblems(page)).toEqual([]);
    await aSet(page, `axe-${colorScheme}`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await label(page, 5);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineWidth')).not.toBe('0px');
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  it('fits a telephone without scrolling sideways', async () => {
    const page = await aView({ viewport: { width: 390, height: 800 } });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    const long = `${'donaudampfschifffahrt'.repeat(9)} ${texts.join(' ')}`;
    await aSet(page, 'long-words-in-24-letters', [long, `${long} twice`].join('\n'));
    await page.keyboard.press('1');
    await page.locator('#last-choice', { hasText: 'is complaint' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });
});
