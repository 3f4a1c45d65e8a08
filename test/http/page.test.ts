import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBrowser, accessibilityProblems, executable, openPage } from './a-browser.js';
import { aPlayedService, catalogue, ENTITY_TEXT, KEY, someDatasets } from './page-service.js';

/** The built page at /, in a real browser. */

/** Tells in the report why nothing was tested. */
const title = executable === undefined ? 'the page (no Chromium here; name one in CHROMIUM)' : 'the page';

/** Rows of a training that lasts until a slow browser has cancelled it. */
const LASTING = 5000;

describe.skipIf(executable === undefined)(title, () => {
  let browser: Browser;
  let service: Awaited<ReturnType<typeof aPlayedService>>;
  let datasets: Awaited<ReturnType<typeof someDatasets>>;
  beforeAll(async () => {
    [browser, service, datasets] = await Promise.all([aBrowser(), aPlayedService(), someDatasets()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    await datasets?.remove();
  });

  /** The page with the key taken. */
  async function aPage(options?: BrowserContextOptions): Promise<Page> {
    const page = await openPage(browser, service.url, options);
    await page.getByRole('textbox', { name: 'API key' }).fill(KEY);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('heading', { name: 'Ask a model' }).waitFor();
    return page;
  }

  async function ask(page: Page, model: string, query = 'anything'): Promise<void> {
    await page.getByLabel('Model', { exact: true }).selectOption(`pre-trained/${model}`);
    await page.getByLabel('Text', { exact: true }).fill(query);
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByText('The model took 1.5 ms.').waitFor();
  }

  it('asks for a key, says when it isn’t valid, and keeps it for this tab alone', async () => {
    const page = await openPage(browser, service.url);
    const field = page.getByRole('textbox', { name: 'API key' });
    await field.fill('guessed');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('alert').filter({ hasText: "This API key isn't valid." }).waitFor();
    await field.fill(KEY);
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Ask a model' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Ask a model' }).waitFor();
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await field.waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('shows labels as bars, the first ten before the others', async () => {
    const page = await aPage();
    await ask(page, 'emotion-detection');
    const answer = page.getByRole('region', { name: 'Answer' });
    expect(await answer.getByRole('listitem').count()).toBe(10);
    const [text = ''] = await answer.getByRole('listitem').allInnerTexts();
    expect(text).toMatch(/^emotion 0\s+87\.5\s%$/);
    const widths = await answer.locator('.filled').evaluateAll((bars) => bars.map((bar) => bar.clientWidth));
    const [first = 0, second = 0] = widths;
    expect(first / second).toBeCloseTo(2, 1);
    await answer.getByText('18 more').click();
    expect(await answer.getByRole('listitem').count()).toBe(28);
  });

  it('highlights entities where they stand, names their types, and takes no text for markup', async () => {
    const page = await aPage();
    await ask(page, 'named-entity-recognition', ENTITY_TEXT);
    const marks = page.locator('mark');
    expect(await marks.allInnerTexts()).toEqual(['Ada Lovelace PERSON', 'Paris PLACE']);
    const [text = ''] = await page.locator('.entities').allInnerTexts();
    expect(text.replace(' PERSON', '').replace(' PLACE', '')).toBe(ENTITY_TEXT);
    const row = page.getByRole('row', { name: 'Paris PLACE 75.0 %' });
    expect(await row.count()).toBe(1);
  });

  it('ranks passages', async () => {
    const page = await aPage();
    await ask(page, 'research-papers-search');
    const items = page.locator('ol.passages li');
    expect(await items.allInnerTexts()).toEqual([
      expect.stringMatching(/^Lamps weigh little\.\s+score 0\.750$/),
      expect.stringMatching(/^Rivers are long\.\s+score 0\.125$/),
    ]);
  });

  it('trains on an uploaded zip, draws the curves as they grow, and asks the new model', async () => {
    const page = await aPage();
    await page.getByLabel('Name', { exact: true }).fill('reviews');
    await page.getByLabel('File', { exact: true }).setInputFiles(datasets.file);
    await page.getByText('Settings').click();
    await page.getByLabel('Epochs').fill('12'); // enough for a slow browser to see some of them
    await page.getByLabel('Batch size').fill('8');
    await page.getByLabel('Learning rate').fill('0.001');
    await page.evaluate(`
      const rows = document.querySelector('#figures-rows');
      globalThis.epochsSeen = [];
      new MutationObserver(() => epochsSeen.push(rows.children.length)).observe(rows, { childList: true });
    `);
    await page.getByRole('button', { name: 'Start training' }).click();

    await page.locator('#figures-rows tr').first().waitFor({ state: 'attached' });
    expect(await inkOf(page, '#loss-chart canvas')).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Ask this model' }).waitFor({ timeout: 90_000 });
    const seen = await page.evaluate<number[]>('epochsSeen');
    expect(seen.at(-1)).toBeGreaterThan(3); // it stops early
    expect(new Set(seen).size).toBeGreaterThan(1);
    expect(await inkOf(page, '#metric-chart canvas')).toBeGreaterThan(0);
    expect(await page.locator('#job-state').textContent()).toMatch(
      /^✓ ready; best accuracy [01]\.\d{3} on \d+ held-out rows$/,
    );
    expect(await page.locator('#metric-legend').textContent()).toMatch(/F1 of "positive" \d/);
    expect(await page.getByRole('row', { name: 'Show job reviews' }).textContent()).toContain('✓ ready');

    await ask(page, 'emotion-detection');
    await page.locator('#job-heading').scrollIntoViewIfNeeded();
    await page.getByRole('button', { name: 'Ask this model' }).click();
    await page.locator('#query:focus').waitFor();
    const model = page.getByLabel('Model', { exact: true });
    expect(await model.locator('option:checked').textContent()).toMatch(/^reviews \(/);
    const box = await model.boundingBox();
    expect(box?.y).toBeGreaterThan(0); // the model is in view, as the field is
    expect(await page.getByRole('region', { name: 'Answer' }).isVisible()).toBe(false); // it was another model's
    await page.getByLabel('Text', { exact: true }).fill('my order works perfectly');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByText('The model took').waitFor();
    const answers = await page.getByRole('region', { name: 'Answer' }).getByRole('listitem').allInnerTexts();
    expect(answers.map((each) => each.split(/\s/)[0]).sort()).toEqual(['negative', 'positive']);
  }, 120_000);

  it('trains on a CSV file, or tells at its field all that is wrong in it, under its own name', async () => {
    const page = await aPage();
    await page.getByLabel('Name', { exact: true }).fill('rows');
    const field = page.getByLabel('File', { exact: true });
    const file = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
    await field.setInputFiles(file('Meine Zeilen.csv', 'text,label\nfine,good\n,bad\nodd,\n'));
    await page.getByRole('button', { name: 'Start training' }).click();
    const problem = page.locator('#file-problem');
    await problem.filter({ hasText: 'Meine Zeilen.csv line 3' }).waitFor();
    expect((await problem.textContent())?.split('\n')).toHaveLength(2);
    expect(await problem.getAttribute('tabindex')).toBeNull();
    await field.setInputFiles(file('many.csv', `text,label\n${',bad\n'.repeat(50)}`));
    await page.getByRole('button', { name: 'Start training' }).click();
    await problem.filter({ hasText: 'many.csv line 51' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await scrollsByKeys(page, problem);
    await page.getByText('What a file looks like').click();
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'reviews.csv' }).click();
    expect((await download).suggestedFilename()).toBe('reviews.csv');
    await page.getByLabel('Task').selectOption('named-entity-recognition');
    expect(await page.getByRole('region', { name: 'A sample of names.conll' }).count()).toBe(1);
    await page.getByLabel('Task').selectOption('binary-text-classification');
    const rows = Array.from({ length: LASTING }, (_, at) => `${at} is ${at % 2 ? 'fine,good' : 'bad,poor'}`);
    await field.setInputFiles(file('rows.csv', ['text,label', ...rows].join('\n')));
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.getByRole('heading', { name: 'Job rows' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.locator('#job-state', { hasText: '■ cancelled' }).waitFor();
  });

  it('shows the first rows of a file, whose columns can have any names, and fills in what follows from them', async () => {
    const page = await aPage();
    const rows = Array.from(
      { length: LASTING },
      (_, at) => `${at},"Message ${at}, in full",${['Bill', 'Card', 'Loan'][at % 3]}`,
    );
    const buffer = Buffer.from(['No,Message Body,Topic of it', ...rows].join('\n'));
    await page.getByLabel('File', { exact: true }).setInputFiles({ name: 'My Mail.csv', mimeType: 'text/csv', buffer });
    const preview = page.getByRole('region', { name: 'The first rows of the file' });
    await preview.getByRole('cell', { name: 'Message 0, in full' }).waitFor();
    expect(await preview.locator('tbody tr').count()).toBe(3);
    expect(await page.getByLabel('Text is in').inputValue()).toBe('Message Body');
    expect(await page.getByLabel('Label is in').inputValue()).toBe('Topic of it');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('my-mail');
    expect(await page.getByLabel('Task').inputValue()).toBe('multiclass-text-classification');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.getByRole('heading', { name: 'Job my-mail' }).waitFor();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.locator('#job-state', { hasText: '■ cancelled' }).waitFor();
  });

  it('lists the models for any use before those that are not for commercial use, and says what each answers', async () => {
    const page = await aPage();
    const groups = page.locator('#model optgroup');
    const labels = await groups.evaluateAll((all) => all.map((group) => group.getAttribute('label')));
    expect(labels.slice(-2)).toEqual(['Pretrained, for any use', 'Pretrained, not for commercial use']);
    expect(await groups.last().locator('option').allTextContents()).toEqual(['named-entity-recognition']);
    const model = page.getByLabel('Model', { exact: true });
    await model.selectOption('pre-trained/named-entity-recognition');
    const note = page.locator('#model-note');
    expect(await note.textContent()).toMatch(/^Which people.*names\. Not for commercial use\.$/);
    await model.selectOption('pre-trained/emotion-detection');
    expect(await note.textContent()).toBe('Which emotions a text shows.');
    expect(await model.locator('option:checked').textContent()).toBe('emotion-detection (11.3 MB)');
  });

  it('colours the words that moved an answer, and offers examples', async () => {
    const page = await aPage();
    await page.getByLabel('Model', { exact: true }).selectOption('pre-trained/named-entity-recognition');
    await page.getByRole('button', { name: 'Apple opens a shop in Paris.' }).click();
    await page.getByText('The model took 1.5 ms.').waitFor();
    await page.getByRole('button', { name: 'Which words influenced it?' }).click();
    const place = page.locator('#explanation .words').first();
    await place.waitFor();
    expect(await place.textContent()).toBe('Apple opens a shop in Paris.');
    expect(await place.locator('mark.for').allInnerTexts()).toEqual(['Apple']);
    expect(await place.locator('mark.against').allInnerTexts()).toEqual(['Paris.']);
    const told = page.getByRole('status').filter({ hasText: 'What counts most towards the answer: “Apple”.' });
    await told.waitFor({ state: 'attached' });
    await ask(page, 'emotion-detection');
    // The sentence that `ask` waits for may still be that of the answer before.
    await place.waitFor({ state: 'detached' });
    expect(await page.locator('#explanation *').count()).toBe(0);
  });

  it('lists what is wrong in the dataset of a failed job in a box that keys scroll', async () => {
    const page = await aPage();
    await page.getByLabel('Name', { exact: true }).fill('wrong');
    await page.getByLabel('File', { exact: true }).setInputFiles(datasets.wrongFile);
    await page.getByRole('button', { name: 'Start training' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /^In the dataset, train\.tsv .* \(and 24 more\)/ })
      .waitFor();
    const box = page.getByRole('region', { name: 'Problems in the dataset' });
    const rows = box.locator('tbody tr');
    expect(await rows.count()).toBe(25);
    const cells = await rows.first().locator('th, td').allTextContents();
    expect(cells).toEqual(['train.tsv line 2, column label', 'found label id 7', 'an id of label_id.json (0 to 1)']);
    expect(await page.getByRole('rowheader', { name: 'dev.tsv' }).count()).toBe(5);
    await scrollsByKeys(page, box);
    await page.getByRole('button', { name: 'Show job' }).last().click();
    await page.getByText('✓ ready; best').waitFor();
    expect(await page.locator('#job-dataset *').count()).toBe(0);
  });

  it('tells at its field what the service refuses', async () => {
    const page = await aPage();
    await page.getByLabel('Name', { exact: true }).fill('reviews');
    await page.getByLabel('Fetch from a URL').check();
    await page.getByLabel('URL', { exact: true }).fill('ftp://example.com/a.zip');
    await page.getByRole('button', { name: 'Start training' }).click();
    const field = page.getByRole('textbox', { name: 'URL', description: /is not the URL of a dataset/ });
    await field.waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate('document.activeElement.id')).toBe('url');
  });

  it('can be worked with the keyboard alone: ask, train from a URL, cancel', async () => {
    const page = await openPage(browser, service.url);
    const { keyboard } = page;
    const tab = async (times: number) => {
      for (let pressed = 0; pressed < times; pressed += 1) await keyboard.press('Tab');
    };
    await keyboard.type(KEY);
    await keyboard.press('Enter');
    await page.locator('#model:focus').waitFor();
    await keyboard.type('named');
    await tab(1);
    await keyboard.type(ENTITY_TEXT);
    await keyboard.press('Control+Enter');
    await page.locator('mark').first().waitFor();
    const told = page.getByRole('status').filter({ hasText: '2 found: Ada Lovelace, PERSON; Paris, PLACE.' });
    await told.waitFor({ state: 'attached' });

    await tab(5); // past two examples, the button, and the one that explains
    await keyboard.press('ArrowDown'); // from the upload to the URL
    await tab(1);
    await keyboard.type(datasets.url);
    await tab(1);
    await keyboard.type('long');
    await tab(3); // past the type and the size
    await keyboard.press('Enter'); // opens the settings
    await tab(1);
    await keyboard.type('500');
    await keyboard.press('Enter');
    await page.locator('#job-heading:focus').waitFor();
    await page.getByText('▶ running').first().waitFor();
    await tab(1);
    expect(await page.evaluate('document.activeElement.id')).toBe('cancel-job');
    expect(await outlineOf(page)).not.toBe('0px');
    await keyboard.press('Enter');
    await page.locator('#job-state', { hasText: '■ cancelled' }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('job-heading');
  });

  it.each(['light', 'dark'] as const)('has nothing that axe-core finds wrong, in %s colours', async (colorScheme) => {
    const start = await openPage(browser, service.url, { colorScheme });
    expect(await accessibilityProblems(start)).toEqual([]);
    const page = await aPage({ colorScheme });
    for (const model of Object.keys(catalogue)) {
      await ask(page, model, ENTITY_TEXT);
      expect(await accessibilityProblems(page)).toEqual([]);
    }
    const jobs = page.getByRole('button', { name: 'Show job' });
    await jobs.last().click(); // the first one, which has all its figures
    await page.getByText('The figures as a table').click();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByText('What a file looks like').click();
    await page.getByRole('button', { name: 'Which words influenced it?' }).click();
    await page.locator('#explanation .words').first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show job wrong' }).click();
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  it('fits a telephone without scrolling sideways', async () => {
    const page = await aPage({ viewport: { width: 390, height: 800 } });
    for (const model of Object.keys(catalogue)) await ask(page, model, ENTITY_TEXT);
    await page.getByRole('button', { name: 'Show job' }).last().click();
    await page.getByText('The figures as a table').click();
    await page.getByText('What a file looks like').click();
    await page.getByRole('button', { name: 'Which words influenced it?' }).click();
    await page.locator('#explanation .words').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    const cutOff = `(() => { const box = document.querySelector('#jobs-scroll'); return box.scrollWidth - box.clientWidth; })()`;
    expect(await page.evaluate(cutOff)).toBe(0);
    await page.getByRole('button', { name: 'Show job wrong' }).click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  it('offers the report, the card and the zip of a model, and deletes it when that is confirmed', async () => {
    const page = await aPage();
    await page.getByRole('button', { name: 'Show job reviews' }).click();
    for (const [button, name, begins] of [
      ['Report', 'reviews-report.html', '<!doctype html>'],
      ['Card', 'reviews-card.md', '---'],
      ['Download the model', 'reviews.zip', 'PK'],
    ] as const) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: button, exact: true }).click();
      expect((await download).suggestedFilename()).toBe(name);
      expect((await readFile(await (await download).path(), 'latin1')).slice(0, 15)).toMatch(begins);
    }
    const answers = [false, true];
    page.on('dialog', (dialog) => void (answers.shift() ? dialog.accept() : dialog.dismiss()));
    const models = page.locator('#model option', { hasText: 'reviews' });
    await page.getByRole('button', { name: 'Delete the model' }).click();
    expect(await models.count()).toBe(1);
    await page.getByRole('button', { name: 'Delete the model' }).click();
    await expect.poll(() => models.count()).toBe(0);
    expect(await page.locator('#job').isVisible()).toBe(false);
  });

  it('/docs draws every operation under a policy that runs nothing in the markup', async () => {
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('pageerror', (thrown) => problems.push(thrown.message));
    await page.goto(`${service.url}/docs`);
    await page.locator('.opblock').first().waitFor();
    expect(await page.locator('.opblock').count()).toBe(14);
    expect(problems).toEqual([]);
    await page.close();
  });
});

/** How many pixels of a canvas are drawn on. */
function inkOf(page: Page, canvas: string): Promise<number> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector(${JSON.stringify(canvas)});
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, at) => at % 4 === 3 && value > 0).length;
  })()`);
}

/** Many problems take no more of the page than a box does. */
async function scrollsByKeys(page: Page, box: Locator): Promise<void> {
  expect((await box.boundingBox())?.height).toBeLessThan(400);
  await box.focus();
  await page.keyboard.press('End');
  await expect.poll(() => box.evaluate((element) => element.scrollTop)).toBeGreaterThan(0);
}

function outlineOf(page: Page): Promise<string> {
  return page.evaluate('getComputedStyle(document.activeElement).outlineWidth');
}
