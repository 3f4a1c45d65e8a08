import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../../src/http/index.js';
import { aBrowser, executable, openPage, type PageOptions } from './a-browser.js';

/** The page at / where a browser lacks something, requests fail, or answers come late. The test plays the service. */

const title = executable === undefined ? 'mishaps (no Chromium here; name one in CHROMIUM)' : 'mishaps';
const KEY = 'a key';
const folder = fileURLToPath(new URL('../../src/http/page/', import.meta.url));

type Reply = (request: Request) => Response | Promise<Response>;

const refusal = (status: number, msg: string, loc: string[] = []) =>
  Response.json({ detail: [{ loc, msg }] }, { status });

function aJob(id: string, status = 'READY') {
  const training_stats = { epoch: 0, metrics: { training: { loss: [] }, validation: {} } };
  const model = { id, name: `job-${id}`, type: 'binary-text-classification' };
  return { model, status, created: '2026-01-02T03:04:05Z', training_stats };
}

const jobList = (...jobs: readonly object[]): Reply => {
  return () => Response.json({ data: jobs, pagination: { next_cursor: null } });
};

/** The events of a job so far, on a connection that stays open until the page closes it. */
function jobEvents(job: object, onClosed = () => {}): Reply {
  const text = `event: job\ndata: ${JSON.stringify(job)}\n\n`;
  const body = () =>
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      cancel: onClosed,
    });
  return () => new Response(body(), { headers: { 'content-type': 'text/event-stream' } });
}

function setOf(id: string, last: number | null = null) {
  const next = last === null ? 0 : last + 1;
  return {
    ...{ id, name: `set-${id}`, labels: ['bad', 'good'], texts: 10, counts: [3, 3], skipped: 0, done: 6, last },
    ...{ model: null, training: null, agreement: { asked: 0, agreed: 0 }, order: 'chance', is_order_due: false },
    ...{ created: '2026-01-02T03:04:05Z', next: { text: next, content: `text ${next} of ${id}` } },
  };
}

const aSet = (id: string, last?: number): Reply => {
  return () => Response.json({ data: setOf(id, last) });
};

const models: Reply = () =>
  Response.json({
    data: [{ name: 'emotion-detection', type: 'multilabel-text-classification', commercial_use: true }],
    answer_views: {},
    column_names: { text: ['text'], label: ['label'], question: ['question'], passage: ['passage'] },
  });

const usual: Readonly<Record<string, Reply>> = {
  'GET /page/models': models,
  'GET /trainer/language/models': jobList(),
  'GET /trainer/language/training-jobs': jobList(),
  'GET /page/labelling-sets': () => Response.json({ data: [setOf('a'), setOf('b')] }),
  'GET /page/labelling-sets/a': aSet('a'),
  'GET /page/labelling-sets/b': aSet('b'),
  'POST /page/labelling-sets/a/choices': aSet('a', 0),
  'POST /page/labelling-sets/a/training': aSet('a', 0),
  'GET /page/labelling-sets/a/rows': () => new Response('{"text":"a","label":"bad"}\n'),
  'POST /page/uploads': () => Response.json({ upload: 'u' }),
  'POST /page/training-jobs': () => Response.json({ id: 'one' }),
  'POST /predictor/language/pre-trained/emotion-detection': () =>
    Response.json({ data: { labels: ['joy'], scores: [0.5] }, metadata: { model_inference_time_ms: 1 } }),
};

/** A reply that waits until it is released. */
function held(reply: Reply) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { reply: () => released.then(() => reply(new Request('http://any'))), release: () => release() };
}

/** Lets a held reply go, and waits until the page has taken it. */
async function late(page: Page, path: string, release: () => void): Promise<void> {
  const answer = page.waitForResponse((response) => response.url().endsWith(path));
  release();
  await (await answer).finished();
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
}

/** A file that is older than any change to it. */
async function anOldFile(content: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'orchard-page-'));
  onTestFinished(() => rm(place, { recursive: true }));
  const file = join(place, 'rows.csv');
  await writeFile(file, content);
  await utimes(file, new Date('2020-01-01'), new Date('2020-01-01'));
  return file;
}

describe.skipIf(executable === undefined)(title, () => {
  let browser: Browser;
  /** The page's own files, by their paths, and their types. */
  const files = new Map<string, readonly [type: string, content: string]>();
  beforeAll(async () => {
    browser = await aBrowser();
    const entryPoints = { page: join(folder, 'main.ts'), style: join(folder, 'style.css') };
    const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false, outdir: folder });
    for (const { path, text } of outputFiles) {
      files.set(`/page/${basename(path)}`, [path.endsWith('.js') ? 'text/javascript' : 'text/css', text]);
    }
    files.set('/', ['text/html', await readFile(join(folder, 'static/index.html'), 'utf8')]);
    files.set('/page/icon.svg', ['image/svg+xml', await readFile(join(folder, 'static/icon.svg'), 'utf8')]);
  });
  afterAll(() => browser?.close());

  /** @param replies what differs from the usual ones; each can be replaced later */
  async function aService(replies: Readonly<Record<string, Reply>> = {}) {
    const answers: Record<string, Reply> = { ...usual, ...replies };
    const asked: string[] = [];
    const server = await serve(
      async (request) => {
        const { pathname } = new URL(request.url);
        const [type, content] = files.get(pathname) ?? [];
        if (type !== undefined) return new Response(content, { headers: { 'content-type': type } });
        await request.text();
        const route = `${request.method} ${pathname}`;
        asked.push(route);
        return answers[route]?.(request) ?? refusal(404, `nothing at ${route}`);
      },
      { port: 0 },
    );
    onTestFinished(() => server.close());
    return { url: server.url, answers, asked };
  }

  /** The page, with the key entered. */
  async function aPage(url: string, options?: PageOptions): Promise<Page> {
    const page = await openPage(browser, url, options);
    await enter(page);
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    return page;
  }

  async function enter(page: Page, key = KEY): Promise<void> {
    await page.getByRole('textbox', { name: 'API key' }).fill(key);
    await page.getByRole('button', { name: 'Use this key' }).click();
  }

  const go = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  const openSet = async (page: Page, id: string) => {
    await go(page, `label/${id}`);
    await page.getByRole('heading', { name: `set-${id}` }).waitFor();
  };
  const fails = (page: Page, path: string) => page.route(`**${path}*`, (route) => route.abort());
  const unreachable = "The service can't be reached; is it running?";

  describe('the key', () => {
    it.each([
      [
        'forbids',
        `Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('', 'SecurityError'); } });`,
      ],
      ['is full', `Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); };`],
    ])('works where the storage of the tab %s', async (_, init) => {
      const { url } = await aService();
      const page = await aPage(url, { init });
      await page.getByRole('heading', { name: 'Ask a model' }).waitFor();
      await page.getByRole('button', { name: 'Forget the key' }).click();
      await page.getByRole('textbox', { name: 'API key' }).waitFor();
    });

    it('outlives a service that is away for a moment, but not one that refuses it', async () => {
      const { url, answers } = await aService();
      const page = await aPage(url, { mayFail: true });
      await fails(page, '/page/models');
      await page.reload();
      const problem = page.locator('#key-problem');
      await problem.filter({ hasText: unreachable }).waitFor();
      expect(await problem.textContent()).toBe(unreachable);
      expect(await page.locator('#key').getAttribute('aria-invalid')).toBeNull();
      await page.unroute('**/page/models*');
      await page.getByRole('button', { name: 'Use this key' }).click(); // the field still has the key
      await page.getByRole('heading', { name: 'Ask a model' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'Ask a model' }).waitFor();
      answers['GET /page/models'] = () => refusal(401, "this API key isn't valid");
      await page.reload();
      await problem.filter({ hasText: "This API key isn't valid." }).waitFor();
      expect(await page.evaluate('sessionStorage.length')).toBe(0);
      expect(await page.locator('#key').getAttribute('aria-invalid')).toBe('true');
    });

    it('is not sent with a character that no header has', async () => {
      const { url, asked } = await aService();
      const page = await openPage(browser, url);
      await enter(page, 'ключ');
      await page.locator('#key-problem', { hasText: "has a character that can't be sent in a request" }).waitFor();
      expect(asked).toEqual([]);
    });
  });

  it('shows a job where streams have no async iterator, and closes the stream of a job that is left', async () => {
    let onClosed = () => {};
    const closed = new Promise<void>((resolve) => {
      onClosed = resolve;
    });
    const { url } = await aService({
      'GET /trainer/language/training-jobs': jobList(aJob('one', 'RUNNING'), aJob('two')),
      'GET /page/training-jobs/one/events': jobEvents(aJob('one', 'RUNNING'), onClosed),
      'GET /page/training-jobs/two/events': jobEvents(aJob('two')),
    });
    const init = 'delete ReadableStream.prototype.values; delete ReadableStream.prototype[Symbol.asyncIterator];';
    const page = await aPage(url, { init });
    await page.locator('#job-state', { hasText: '▶ running' }).waitFor();
    await page.getByRole('button', { name: 'Show job job-two' }).click();
    await page.locator('#job-state', { hasText: '✓ ready' }).waitFor();
    await closed;
  });

  it('asks to choose a file again that was edited after it was chosen', async () => {
    const { url, asked } = await aService();
    const page = await aPage(url, { mayFail: true });
    const file = await anOldFile('text,label\na,x\nb,y\n');
    const field = page.getByLabel('File', { exact: true });
    await field.setInputFiles(file);
    await page.getByRole('region', { name: 'The first rows of the file' }).waitFor();
    await writeFile(file, 'text,label\na,x\nb,y\nc,x\n');
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.locator('#file-problem', { hasText: 'choose it again' }).waitFor();
    expect(await page.locator('#train-problem').textContent()).toBe('');
    await field.setInputFiles(file);
    await page.getByRole('button', { name: 'Start training' }).click();
    await expect.poll(() => asked).toContain('POST /page/training-jobs');
  });

  it('shows the rows of the file that was chosen last', async () => {
    const { url } = await aService();
    // The first read takes as long as the test wants.
    const init = `
      const { text } = Blob.prototype;
      let calls = 0;
      Blob.prototype.text = async function () {
        calls += 1;
        const isFirst = calls === 1;
        const content = await text.call(this);
        if (isFirst) await new Promise((release) => { globalThis.release = release; });
        return content;
      };`;
    const page = await aPage(url, { init });
    const field = page.getByLabel('File', { exact: true });
    const file = (name: string, content: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(content) });
    await field.setInputFiles(file('old.csv', 'text,label\na,x\n'));
    await field.setInputFiles(file('new.csv', 'question,passage\nq,p\n'));
    const rows = page.getByRole('region', { name: 'The first rows of the file' });
    await rows.getByRole('columnheader', { name: 'passage' }).waitFor();
    await page.waitForFunction('globalThis.release');
    await page.evaluate('release(); new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    expect(await rows.getByRole('columnheader').allInnerTexts()).toEqual(['question', 'passage']);
  });

  it('opens the settings for what is wrong in them', async () => {
    const { url, asked, answers } = await aService();
    const page = await aPage(url);
    await page.getByLabel('File', { exact: true }).setInputFiles(await anOldFile('text,label\na,x\nb,y\n'));
    const settings = page.getByText('Settings');
    const epochs = page.getByLabel('Epochs');
    await settings.click();
    await epochs.fill('5000');
    await settings.click();
    await epochs.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.locator('#epochs:focus').waitFor();
    expect(asked).not.toContain('POST /page/uploads');
    await epochs.fill('5');
    await settings.click();
    answers['POST /page/training-jobs'] = () => refusal(422, 'too many', ['body', 'training_config', 'num_epochs']);
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.getByText('Too many.').waitFor();
    await page.locator('#epochs:focus').waitFor();
  });

  it('drops an explanation of an answer before', async () => {
    const failing = held(() => refusal(422, 'no explanation'));
    const { url } = await aService({ 'POST /page/explanations': failing.reply });
    const page = await aPage(url);
    const query = page.getByLabel('Text', { exact: true });
    const ask = async (text: string) => {
      await query.fill(text);
      const answer = page.waitForResponse(/emotion-detection$/);
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      await (await answer).finished();
      await page.getByText('The model took').waitFor();
    };
    await ask('one');
    await page.getByRole('button', { name: 'Which words influenced it?' }).click();
    await ask('two');
    await late(page, '/page/explanations', failing.release);
    expect(await page.locator('#explanation').textContent()).toBe('');
  });

  describe('jobs', () => {
    /** Two trained models, the first one in the panel. */
    async function twoJobs(replies: Readonly<Record<string, Reply>> = {}, options?: PageOptions) {
      const service = await aService({
        'GET /trainer/language/training-jobs': jobList(aJob('one'), aJob('two')),
        'GET /page/training-jobs/one/events': jobEvents(aJob('one')),
        'GET /page/training-jobs/two/events': jobEvents(aJob('two')),
        ...replies,
      });
      const page = await aPage(service.url, options);
      page.on('dialog', (dialog) => void dialog.accept());
      await show(page, 'one');
      return { ...service, page };
    }

    async function show(page: Page, id: string): Promise<void> {
      const listed = page.waitForResponse(/training-jobs\?limit/);
      await page.getByRole('button', { name: `Show job job-${id}` }).click();
      await page.locator('#job-state', { hasText: '✓ ready' }).waitFor();
      await (await listed).finished();
    }

    it.each([
      ['hides', true],
      ['shows why it failed to delete', false],
    ])('%s a model in its own panel alone', async (_, isDeleted) => {
      const deletion = held(() => (isDeleted ? new Response(null, { status: 204 }) : refusal(409, 'not now')));
      const { page } = await twoJobs({ 'DELETE /trainer/language/models/one': deletion.reply });
      await page.getByRole('button', { name: 'Delete the model' }).click();
      await show(page, 'two');
      await late(page, '/models/one', deletion.release);
      expect(await page.getByRole('heading', { name: 'Job job-two' }).isVisible()).toBe(true);
      expect(await page.locator('#files-problem').textContent()).toBe('');
      expect(await page.evaluate('document.activeElement.id')).toBe('job-heading');
    });

    it('says that the models can’t be listed, where they were asked for', async () => {
      const { page } = await twoJobs(
        { 'DELETE /trainer/language/models/one': () => new Response(null, { status: 204 }) },
        { mayFail: true },
      );
      await fails(page, '/page/models');
      await page.getByRole('button', { name: 'Ask this model' }).click();
      await page.locator('#job-problem', { hasText: unreachable }).waitFor();
      await page.getByRole('button', { name: 'Delete the model' }).click();
      await page.locator('#models-problem', { hasText: unreachable }).waitFor();
    });
  });

  describe('labelling', () => {
    const card = (page: Page) => page.locator('#card-text').textContent();

    it('starts one training, however often it is asked for while the rows are sent', async () => {
      const upload = held(() => Response.json({ upload: 'u' }));
      const { url, asked } = await aService({
        'POST /page/uploads': upload.reply,
        'GET /page/training-jobs/one/events': jobEvents(aJob('one')),
      });
      const page = await aPage(url);
      await openSet(page, 'a');
      const train = page.locator('#train-set');
      await train.click();
      await page.keyboard.press('1');
      await page.locator('#last-choice', { hasText: 'is bad' }).waitFor();
      expect(await train.getAttribute('aria-disabled')).toBe('true');
      await train.click({ force: true });
      await late(page, '/page/uploads', upload.release);
      await expect.poll(() => train.getAttribute('aria-disabled')).toBeNull();
      expect(asked.filter((route) => route === 'POST /page/training-jobs')).toHaveLength(1);
    });

    it.each([
      ['the text', aSet('a', 0)],
      ['the problem', () => refusal(422, 'no such label')],
    ] as const)(
      'keeps %s that follows a choice out of another set, which can be labelled meanwhile',
      async (_, reply) => {
        const choice = held(reply);
        const { url, asked } = await aService({
          'POST /page/labelling-sets/a/choices': choice.reply,
          'POST /page/labelling-sets/b/choices': aSet('b', 0),
        });
        const page = await aPage(url);
        await openSet(page, 'a');
        await page.keyboard.press('1');
        await expect.poll(() => asked).toContain('POST /page/labelling-sets/a/choices');
        await openSet(page, 'b');
        await page.keyboard.press('1');
        await expect.poll(() => card(page)).toBe('text 1 of b');
        await late(page, '/a/choices', choice.release);
        expect(await card(page)).toBe('text 1 of b');
        expect(await page.locator('#choice-problem').textContent()).toBe('');
      },
    );

    it.each([
      ['another set', 'label/b', 'set-b'],
      ['the list', 'label', 'Your sets'],
    ])('keeps a set that comes late out of %s', async (_, hash, heading) => {
      const slow = held(aSet('a'));
      const { url, asked } = await aService({ 'GET /page/labelling-sets/a': slow.reply });
      const page = await aPage(url);
      await go(page, 'label/a');
      await expect.poll(() => asked).toContain('GET /page/labelling-sets/a');
      await go(page, hash);
      const wanted = page.getByRole('heading', { name: heading });
      await wanted.waitFor();
      await late(page, '/labelling-sets/a', slow.release);
      expect(await wanted.isVisible()).toBe(true);
      expect(await page.getByRole('heading', { name: 'set-a' }).count()).toBe(0);
    });
  });
});
