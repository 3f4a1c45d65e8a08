/** The built page at /, in a real browser. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { errAsync, okAsync } from 'neverthrow';
import {
  type Account,
  type InferenceResult,
  type ModelType,
  memoryStorage,
  NotFoundError,
} from 'orchard-nlp';
import { type AccountServices, accountServices, createHandler, serve } from 'orchard-nlp/http';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sentimentRequest, temporaryFolder } from '../public/sentiments.js';
import { aBrowser, accessibilityProblems, executable, openPage } from './a-browser.js';

const KEY = 'a key of acme';
const account: Account = { app_id: 'acme', tier: 'pro' };

const ENTITY_TEXT = 'Ada Lovelace left <b>Paris</b>.';
const emotions = Array.from({ length: 28 }, (_, at) => `emotion ${at}`);

/** What the pretrained models answer, whatever they are asked. */
const catalogue: Record<string, { readonly type: ModelType; readonly answer: InferenceResult }> = {
  'emotion-detection': {
    type: 'multilabel-text-classification',
    answer: { labels: emotions, scores: emotions.map((_, at) => 0.875 / (at + 1)) },
  },
  'named-entity-recognition': {
    type: 'named-entity-recognition',
    answer: {
      labels: ['PERSON', 'PLACE'],
      scores: [0.98, 0.75],
      tokens: ['Ada Lovelace', 'Paris'],
      token_start_positions: [0, 21],
    },
  },
  'research-papers-search': {
    type: 'question-answering',
    answer: { labels: ['Lamps weigh little.', 'Rivers are long.'], scores: [0.75, 0.125] },
  },
};

/** The services of an account, the pretrained models played. */
function withCatalogue({ predictor, page, ...services }: AccountServices) {
  const { predictCustom, predictCustomBatch, predictPretrainedBatch } = predictor(account);
  const pretrained = Object.entries(catalogue).map(([name, { type }]) => ({ name, type }));
  return {
    ...services,
    page: { uploads: page.uploads, installedModels: async () => pretrained },
    predictor: () => ({
      predictCustom: predictCustom.bind(predictor(account)),
      predictCustomBatch: predictCustomBatch.bind(predictor(account)),
      predictPretrainedBatch: predictPretrainedBatch.bind(predictor(account)),
      predictPretrained: (name: string) => {
        const data = catalogue[name]?.answer;
        const metadata = { model_inference_time_ms: 1.5 };
        return data ? okAsync({ data, metadata }) : errAsync(new NotFoundError('pretrained model', name));
      },
    }),
  };
}

async function aService() {
  const storage = memoryStorage();
  const services = accountServices({
    storage,
    trainer: { threads: 1, allowPrivateAddresses: true },
  });
  const authenticate = (apiKey: string) => (apiKey === KEY ? account : undefined);
  const server = await serve(createHandler({ ...withCatalogue(services), authenticate }), { port: 0 });
  return {
    url: server.url,
    async close() {
      await server.close();
      await services.close();
      await storage.close();
    },
  };
}

/** A dataset, as a file and behind a URL. */
async function aDataset() {
  const folder = await temporaryFolder();
  await sentimentRequest(folder);
  const file = join(folder, 'sentiments.zip');
  const server = createServer((_, response) => createReadStream(file).pipe(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    file,
    url: `http://127.0.0.1:${port}/sentiments.zip`,
    async remove() {
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Tells in the report why nothing was tested. */
const title = executable === undefined ? 'the page (no Chromium here; name one in CHROMIUM)' : 'the page';

describe.skipIf(executable === undefined)(title, () => {
  let browser: Browser;
  let service: Awaited<ReturnType<typeof aService>>;
  let dataset: Awaited<ReturnType<typeof aDataset>>;
  beforeAll(async () => {
    [browser, service, dataset] = await Promise.all([aBrowser(), aService(), aDataset()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    await dataset?.remove();
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

  it('asks for a key, tells when it is nobody’s, and keeps it for this tab alone', async () => {
    const page = await openPage(browser, service.url);
    const field = page.getByRole('textbox', { name: 'API key' });
    await field.fill('guessed');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('alert').filter({ hasText: 'Nobody has this API key.' }).waitFor();
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
    await page.getByLabel('File', { exact: true }).setInputFiles(dataset.file);
    await page.getByText('Settings').click();
    await page.getByLabel('Epochs').fill('4');
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
    await page.getByRole('button', { name: 'Ask this model' }).waitFor();
    const seen = await page.evaluate<number[]>('epochsSeen');
    expect(seen.at(-1)).toBe(4);
    expect(new Set(seen).size).toBeGreaterThan(1);
    expect(await inkOf(page, '#metric-chart canvas')).toBeGreaterThan(0);
    expect(await page.getByText('✓ ready; best accuracy on the dev set').count()).toBe(1);
    expect(await page.getByRole('row', { name: 'Show job reviews' }).textContent()).toContain('✓ ready');

    await page.getByRole('button', { name: 'Ask this model' }).click();
    await page.getByLabel('Text', { exact: true }).fill('my order works perfectly');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByText('The model took').waitFor();
    const answers = await page.getByRole('region', { name: 'Answer' }).getByRole('listitem').allInnerTexts();
    expect(answers.map((each) => each.split(/\s/)[0]).sort()).toEqual(['negative', 'positive']);
  }, 60_000);

  it('tells at its field what the service refuses', async () => {
    const page = await aPage();
    await page.getByLabel('Name', { exact: true }).fill('reviews');
    await page.getByLabel('Fetch from a URL').check();
    await page.getByLabel('URL', { exact: true }).fill('ftp://example.com/a.zip');
    await page.getByRole('button', { name: 'Start training' }).click();
    const field = page.getByRole('textbox', { name: 'URL', description: /is no URL of a dataset/ });
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

    await tab(2); // past the button
    await keyboard.type('long');
    await tab(3); // past the type and the size
    await keyboard.press('ArrowDown'); // from the upload to the URL
    await tab(1);
    await keyboard.type(dataset.url);
    await tab(1);
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

  it.each(['light', 'dark'] as const)(
    'has nothing that axe-core finds wrong, in %s colours',
    async (colorScheme) => {
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
    },
  );

  it('fits a telephone without scrolling sideways', async () => {
    const page = await aPage({ viewport: { width: 390, height: 800 } });
    for (const model of Object.keys(catalogue)) await ask(page, model, ENTITY_TEXT);
    await page.getByRole('button', { name: 'Show job' }).last().click();
    await page.getByText('The figures as a table').click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
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

function outlineOf(page: Page): Promise<string> {
  return page.evaluate('getComputedStyle(document.activeElement).outlineWidth');
}
