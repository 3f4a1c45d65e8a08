import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { familyNameOf, modelTypes } from '../../src/contract/index.js';
import { saveBody } from '../../src/http/body.js';
import { accountServices, createHandler, type Handler, serve, type UploadLimits } from '../../src/http/index.js';
import { aMemoryStorage } from '../jobs/builders.js';
import { FakeHost, statsAfter } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { readPage } from '../report/page.js';
import { datasetUrl } from '../support/dataset-url.js';
import { fakeTimers } from '../support/fake-timers.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aService, MODEL, OTHER_MODEL, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** What the page at / asks of the service beyond the documented interface, without a browser. */

const catalogue = useCatalogue();

/** In this file the API key is the account's name. */
const authenticate = (apiKey: string) => ({ app_id: apiKey, tier: 'pro' }) as const;
const zip = new Uint8Array([...Buffer.from('PK\x03\x04'), 1, 2, 3]);
const { model_config } = aRequest;

interface Sent {
  readonly as?: string;
  readonly type?: string;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks a handler, or a server at a URL. */
function asking(handler: Handler, url = 'http://service.test') {
  return async (method: string, path: string, { as = 'acme', type, body, headers }: Sent = {}) => {
    const request = new Request(url + path, {
      method,
      headers: { ...headers, ...(as !== '' && { 'x-api-key': as }), ...(type && { 'content-type': type }) },
      ...(body !== undefined && { body, duplex: 'half' }),
    });
    return handler(request);
  };
}

async function aPage(options: Parameters<typeof aService>[1] = {}) {
  const service = await aService(catalogue, { ...options, handler: { authenticate, ...options.handler } });
  const send = asking(service.handler);
  return { ...service, send, ...uploading(send) };
}

function uploading(send: ReturnType<typeof asking>) {
  async function upload(as = 'acme'): Promise<string> {
    const response = await send('POST', '/page/uploads', { as, type: 'application/zip', body: zip });
    return JSON.parse(await response.text()).upload;
  }
  async function train(upload: string, { as = 'acme', ...fields }: { as?: string } & object = {}) {
    const body = JSON.stringify({ upload, model_config, ...fields });
    const response = await send('POST', '/page/training-jobs', { as, type: 'application/json', body });
    return { status: response.status, body: JSON.parse(await response.text()) };
  }
  return { upload, train };
}

describe('the files of the page', () => {
  it('run and style nothing that lies in the markup, and load from this server alone', async () => {
    const { send } = await aPage();
    const response = await send('GET', '/', { as: '' });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'self'; /);
    expect(policy).not.toContain('unsafe');
    const { all } = readPage(await response.text());
    const attributes = all.flatMap(({ attrs }) => attrs);
    expect(attributes.filter(({ name }) => name === 'style' || name.startsWith('on'))).toEqual([]);
    expect(all.filter(({ tagName }) => tagName === 'style')).toEqual([]);
    const links = attributes.flatMap(({ name, value }) =>
      ['src', 'href'].includes(name) && !value.startsWith('#') ? [value] : [],
    );
    expect(links).toEqual(expect.arrayContaining(['/page/page.js', '/page/style.css', '/page/icon.svg']));
    for (const link of links) expect((await send('GET', link, { as: '' })).status).toBe(200);
  });

  it.each(['/', '/page/page.js', '/page/style.css'])('%s is sent again only when it has changed', async (path) => {
    const { send } = await aPage();
    const first = await send('GET', path);
    const tag = first.headers.get('etag') ?? '';
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const second = await send('GET', path, { headers: { 'if-none-match': tag } });
    expect(second.status).toBe(304);
    expect(await second.text()).toBe('');
    expect((await send('GET', path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('offer every documented type of model with its family', async () => {
    const { send } = await aPage();
    const page = readPage(await (await send('GET', '/')).text());
    const offered = page.elements('option').flatMap(({ attrs }) => {
      const of = (wanted: string) => attrs.find(({ name }) => name === wanted)?.value;
      return of('data-family') === undefined ? [] : [[of('value'), of('data-family')]];
    });
    // The same task by another name.
    const types = modelTypes.filter((type) => type !== 'sequence-labeling');
    expect(offered).toEqual(types.map((type) => [type, familyNameOf[type]]));
  });

  it('are not there where the services of the page are not', async () => {
    const { send } = await aPage({ handler: { page: undefined } });
    for (const path of ['/', '/page/page.js', '/page/models']) {
      expect((await send('GET', path)).status).toBe(404);
    }
  });
});

describe('every route of the page that asks the service', () => {
  const routes = [
    ['GET', '/page/models'],
    ['POST', '/page/uploads'],
    ['POST', '/page/training-jobs'],
    ['GET', `/page/training-jobs/${UNKNOWN_ID}/events`],
    ['GET', '/page/labelling-sets'],
    ['GET', `/page/labelling-sets/${UNKNOWN_ID}`],
    ['DELETE', `/page/labelling-sets/${UNKNOWN_ID}`],
    ['GET', `/page/labelling-sets/${UNKNOWN_ID}/rows`],
    ['POST', `/page/labelling-sets/${UNKNOWN_ID}/choices`],
    ['POST', `/page/labelling-sets/${UNKNOWN_ID}/order`],
  ] as const;

  it.each(routes)('needs an API key: %s %s', async (method, path) => {
    const { send } = await aPage();
    const response = await send(method, path, { as: '' });
    expect(response.status).toBe(401);
    expect(JSON.parse(await response.text()).detail[0].type).toBe('missing');
  });

  it.each(routes)('counts for the rate: %s %s', async (method, path) => {
    const rateLimiter = new RateLimiterMemory({ points: 1, duration: 3600 });
    const { send } = await aPage({ handler: { rateLimiter } });
    await send(method, path);
    expect((await send(method, path)).status).toBe(429);
  });

  it.each(routes)('takes no query string: %s %s', async (method, path) => {
    const { send } = await aPage();
    const post = { type: 'application/json', body: '{}' };
    const response = await send(method, `${path}?colour=red`, method === 'POST' ? post : {});
    expect(response.status).toBe(422);
    expect(JSON.parse(await response.text()).detail).toContainEqual(expect.objectContaining({ loc: ['query'] }));
  });

  it.each([
    ['POST', '/page/models', 'GET, HEAD'],
    ['GET', '/page/uploads', 'POST'],
    ['POST', `/page/training-jobs/${UNKNOWN_ID}/events`, 'GET, HEAD'],
    ['POST', '/', 'GET, HEAD'],
  ])('takes no other method: %s %s is a 405', async (method, path, allow) => {
    const { send } = await aPage();
    const response = await send(method, path);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
  });
});

it('lists the documented pretrained models that are installed, and how the answers of each type are shown', async () => {
  const { send } = await aPage();
  const { data, answer_views, column_names } = JSON.parse(await (await send('GET', '/page/models')).text());
  const type = 'multiclass-text-classification';
  expect(data).toEqual([
    { name: MODEL, type, commercial_use: true, bytes: await folderBytes(MODEL) },
    { name: OTHER_MODEL, type, commercial_use: true, bytes: await folderBytes(OTHER_MODEL) },
  ]);
  // As docs/files.md lists them.
  expect(column_names).toMatchObject({
    text: ['text', 'sentence', 'content', 'review', 'utterance'],
    label: expect.arrayContaining(['label', 'intent', 'labels', 'topics']),
    question: ['question', 'query'],
    passage: ['passage', 'context', 'answer'],
  });
  expect(answer_views).toEqual({
    'binary-text-classification': 'labels',
    'multiclass-text-classification': 'labels',
    'multilabel-text-classification': 'labels',
    'named-entity-recognition': 'entities',
    'sequence-labeling': 'entities',
    'question-answering': 'passages',
  });
});

async function folderBytes(name: string): Promise<number> {
  const folder = join(catalogue.directory, name);
  const paths = await readdir(folder, { recursive: true });
  const contents = await Promise.all(paths.map((path) => readFile(join(folder, path)).catch(() => '')));
  return contents.reduce((sum, { length }) => sum + length, 0);
}

describe('an upload', () => {
  it('is trained on, and removed when the job has ended', async () => {
    const { upload, train, host, services } = await aPage();
    const { status, body } = await train(await upload());
    expect(status).toBe(200);
    const run = await host.nextRun();
    expect(run.spec).toMatchObject({ id: body.id, allowFileUrls: true });
    const path = fileURLToPath(datasetUrl(run.spec));
    expect(new Uint8Array(await readFile(path))).toEqual(zip);
    await run.finish();
    await vi.waitFor(async () => {
      await services.page.uploads.sweep();
      expect(existsSync(path)).toBe(false);
    }, 20_000);
  });

  it('does not let callers of the documented operation use file: URLs', async () => {
    const { upload, train, host, send } = await aPage();
    await train(await upload());
    const dataset_url = datasetUrl((await host.nextRun()).spec);
    expect(dataset_url).toMatch(/^file:/);
    const body = JSON.stringify({ dataset_url, model_config });
    const path = '/trainer/language/training-jobs';
    expect((await send('POST', path, { type: 'application/json', body })).status).toBe(422);
  });

  it.each([
    ['another account', 'stranger'],
    ['a second job', 'acme'],
  ])('is not for %s', async (_, as) => {
    const { upload, train } = await aPage();
    const id = await upload();
    if (as === 'acme') await train(id);
    const { status, body } = await train(id, { as });
    expect(status).toBe(422);
    expect(body.detail).toEqual([{ loc: ['body', 'upload'], msg: expect.any(String), type: 'upload' }]);
  });

  it('is kept for another try where the request is refused', async () => {
    const { upload, train } = await aPage();
    const id = await upload();
    const lowercase = { model_config: { ...model_config, preprocessing: { lowercase: true } } };
    const contradiction = { ...lowercase, training_config: { preprocessing: { lowercase: false } } };
    expect((await train(id, contradiction)).status).toBe(422);
    expect((await train(id)).status).toBe(200);
  });

  it('makes room for new ones: the oldest of four that wait is removed', async () => {
    const { upload, train } = await aPage();
    const ids = [await upload(), await upload(), await upload(), await upload()];
    const others = await upload('stranger');
    expect((await train(others, { as: 'stranger' })).status).toBe(200);
    const statuses = [];
    for (const id of ids) statuses.push((await train(id)).status);
    expect(statuses).toEqual([422, 200, 200, 200]);
  });

  describe('where the disk for them is bounded', () => {
    function aBoundedPage(uploadLimits: UploadLimits) {
      const host = new FakeHost();
      const storage = aMemoryStorage();
      const services = accountServices({ storage, trainer: { host }, uploadLimits });
      onTestFinished(() => services.close());
      const send = asking(createHandler({ ...services, authenticate, maxUploadBytes: 100 }));
      const put = async (body: Uint8Array<ArrayBuffer> | ReadableStream, as = 'acme') => {
        const isEndless = body instanceof ReadableStream;
        const headers = isEndless ? {} : { 'content-length': String(body.byteLength) };
        const sent = { as, type: 'application/zip', body, headers };
        const response = await send('POST', '/page/uploads', sent);
        return { status: response.status, ...JSON.parse(await response.text()) };
      };
      return { host, storage, put, ...uploading(send) };
    }
    const full = { detail: [{ loc: ['body'], msg: expect.any(String), type: 'uploads' }] };
    const endless = () => new ReadableStream({ start: (out) => out.enqueue(zip) });

    it('those of an account that wait make place, those of jobs do not until their job ends', async () => {
      const { host, put, train } = aBoundedPage({ maxAccountBytes: 20 });
      const first = await put(zip.slice());
      const second = await put(zip.slice());
      const third = await put(zip.slice());
      expect((await train(first.upload)).status).toBe(422);
      expect((await train(second.upload)).status).toBe(200);
      expect((await train(third.upload)).status).toBe(200);
      expect(await put(zip.slice())).toEqual({ status: 429, ...full });
      expect((await put(zip.slice(), 'stranger')).status).toBe(200);
      await (await host.nextRun()).finish();
      await vi.waitFor(async () => expect((await put(zip.slice())).status).toBe(200));
    });

    it('those of all accounts together are bounded too, and those under way count', async () => {
      const { put, storage } = aBoundedPage({ maxBytes: 105 });
      void put(endless());
      // Two that arrive at the same moment can both be refused.
      await vi.waitFor(async () => expect(await storage.listKeys('uploads')).toHaveLength(1));
      expect(await put(endless(), 'stranger')).toEqual({ status: 503, ...full });
      expect((await put(zip.slice(), 'stranger')).status).toBe(503);
    });

    it('what was refused or broke off takes no place', async () => {
      const { put } = aBoundedPage({ maxBytes: 100, maxAccountBytes: 100 });
      for (const body of [broken(), new Uint8Array(90), new Uint8Array(101)]) {
        expect((await put(body)).status).toBeGreaterThanOrEqual(400);
      }
      expect((await put(new Uint8Array(100).fill(0).map((_, at) => zip[at] ?? 0))).status).toBe(200);
    });
  });

  const page = '<!doctype html><p>Sign in first';
  const broken = () =>
    new ReadableStream({
      start: (out) => out.enqueue(zip),
      pull: (out) => out.error(new Error('the client went away')),
    });
  it.each([
    ['of another content type', { type: 'application/json', body: zip }, 415, 'content_type'],
    ['that is no zip', { type: 'application/zip', body: page }, 422, 'not_a_zip'],
    ['of nothing', { type: 'application/zip' }, 422, 'not_a_zip'],
    ['that is too large', { type: 'application/zip', body: new Uint8Array(101) }, 413, 'too_large'],
    ['that breaks off', { type: 'application/zip', body: broken() }, 400, 'incomplete'],
  ])('%s is refused and leaves nothing', async (_, sent, status, type) => {
    const storage = aMemoryStorage();
    const services = accountServices({ storage });
    onTestFinished(() => services.close());
    const send = asking(createHandler({ ...services, authenticate, maxUploadBytes: 100 }));
    const response = await send('POST', '/page/uploads', sent);
    expect(response.status).toBe(status);
    expect(JSON.parse(await response.text()).detail[0].type).toBe(type);
    expect(await storage.listKeys('uploads')).toEqual([]);
  });

  it('that comes too slowly is refused and leaves nothing', async () => {
    const directory = temporaryDirectory();
    const body = new ReadableStream({ start: (out) => out.enqueue(zip) });
    const request = new Request('http://service.test', { method: 'POST', body, duplex: 'half' });
    const saving = saveBody(request, join(directory, 'a.zip'), { maxBodyBytes: 100, bodyTimeoutMs: 1 });
    await expect(saving).rejects.toMatchObject({ status: 408 });
    expect(await readdir(directory)).toEqual([]);
  });

  it('that can not be written is our defect, not the client’s', async () => {
    const request = new Request('http://service.test', { method: 'POST', body: zip });
    const saving = saveBody(request, '/no/such/folder/a.zip', { maxBodyBytes: 100, bodyTimeoutMs: 1000 });
    await expect(saving).rejects.toMatchObject({ code: 'ENOENT' });
    const slow = new ReadableStream({ pull: async (out) => out.enqueue(await delay(5, zip)) });
    const late = new Request('http://service.test', { method: 'POST', body: slow, duplex: 'half' });
    const limits = { maxBodyBytes: 1_000_000, bodyTimeoutMs: 10_000 };
    await expect(saveBody(late, '/no/such/folder/a.zip', limits)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('outlives the service where its job goes on later, and is removed when that has ended', async () => {
    const storage = aMemoryStorage();
    const start = () => {
      const host = new FakeHost();
      const services = accountServices({ storage, trainer: { host } });
      onTestFinished(() => services.close());
      return { host, services, ...uploading(asking(createHandler({ ...services, authenticate }))) };
    };
    const first = start();
    const { id } = (await first.train(await first.upload())).body;
    await first.host.nextRun();
    await first.services.close();

    const second = start();
    second.services.trainer({ app_id: 'acme', tier: 'pro' }); // continues the account's jobs
    const run = await second.host.nextRun();
    expect(run.spec.id).toBe(id);
    expect(new Uint8Array(await readFile(fileURLToPath(datasetUrl(run.spec))))).toEqual(zip);
    await run.finish();
    await vi.waitFor(async () => {
      await second.services.page.uploads.sweep();
      expect(await storage.listKeys('uploads')).toEqual([]);
    }, 20_000);
  });
});

describe('the events of a job', () => {
  /** Starts a job, and reads its events as the page does. */
  async function aWatchedJob() {
    const page = await aPage();
    const body = JSON.stringify(aRequest);
    const created = await page.send('POST', '/trainer/language/training-jobs', {
      type: 'application/json',
      body,
    });
    const { id } = JSON.parse(await created.text());
    const run = await page.host.nextRun();
    const watch = () => page.send('GET', `/page/training-jobs/${id}/events`);
    return { ...page, id, run, watch };
  }

  function eventsOf({ body }: Response) {
    const comments: string[] = [];
    const parser = new EventSourceParserStream({ onComment: (comment) => comments.push(comment) });
    const events = body?.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader();
    async function next() {
      const read = await events?.read();
      return read?.value && { event: read.value.event, data: JSON.parse(read.value.data) };
    }
    return { next, comments, leave: async () => events?.cancel() };
  }

  it('begin with the whole state, tell of progress and epochs, and end with the job', async () => {
    const { run, watch } = await aWatchedJob();
    const response = await watch();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const { next } = eventsOf(response);
    expect(await next()).toMatchObject({ event: 'job', data: { status: 'RUNNING' } });
    run.progress(7);
    const progress = { phase: 'train', fraction: 0.07, epoch: 0, epochs: 2, step: 7, steps: 100 };
    expect(await next()).toEqual({ event: 'progress', data: progress });
    run.emit({ type: 'epoch', stats: statsAfter(1), rows: 40, positive: 'danger' });
    const named = { training_stats: statsAfter(1), validation_rows: 40, positive_label: 'danger' };
    expect(await next()).toMatchObject({ event: 'job', data: named });
    const warning = {
      kind: 'duplicate_row',
      count: 1,
      message: 'a row is there twice',
      examples: [],
    } as const;
    run.emit({ type: 'warnings', warnings: [warning] });
    const { examples, ...told } = warning;
    expect(await next()).toMatchObject({ data: { warnings: [told] } });
    await run.finish(statsAfter(2));
    const ready = { status: 'READY', training_stats: statsAfter(2), validation_rows: 40, positive_label: 'danger' };
    expect(await next()).toMatchObject({ data: ready });
    expect(await next()).toBeUndefined();
  });

  it('can be read again from the middle: all figures so far come first', async () => {
    const { run, watch } = await aWatchedJob();
    const first = eventsOf(await watch());
    await first.next();
    run.emit({ type: 'epoch', stats: statsAfter(3) });
    await first.next();
    await first.leave();
    await vi.waitFor(async () => {
      const again = eventsOf(await watch());
      expect(await again.next()).toMatchObject({ event: 'job', data: { training_stats: { epoch: 3 } } });
      await again.leave();
    });
  });

  it('of a job that has ended are its state alone', async () => {
    const { run, watch } = await aWatchedJob();
    run.obey();
    const { next } = eventsOf(await watch());
    let last = await next();
    for (let event = last; event !== undefined; event = await next()) last = event;
    expect(last).toMatchObject({ event: 'job', data: { status: 'ERROR', error: { code: 'aborted' } } });
  });

  it('are watched no longer than somebody reads them', async () => {
    const { services, id, watch } = await aWatchedJob();
    const spy = vi.spyOn(services.trainer(authenticate('acme')), 'watch');
    const { next, leave } = eventsOf(await watch());
    await next();
    const signal = spy.mock.calls[0]?.[1]?.signal;
    expect(spy.mock.calls[0]?.[0]).toBe(id);
    expect(signal?.aborted).toBe(false);
    await leave();
    await vi.waitFor(() => expect(signal?.aborted).toBe(true));
  });

  it('have a comment every 15 seconds, so that no proxy takes the connection for dead', async () => {
    const { run, watch } = await aWatchedJob();
    fakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { next, comments } = eventsOf(await watch());
    await next();
    vi.advanceTimersByTime(30_000);
    run.progress(1);
    await next();
    expect(comments).toEqual(['still here', 'still here']);
  });

  it('end with what went wrong where the service closes', async () => {
    const { services, watch } = await aWatchedJob();
    const { next } = eventsOf(await watch());
    await next();
    await services.close();
    expect(await next()).toMatchObject({ event: 'failed', data: { detail: [{ type: 'server_error' }] } });
    expect(await next()).toBeUndefined();
  });

  it('do not hold up a server that stops', async () => {
    const { handler, id } = await aWatchedJob();
    const server = await serve(handler, { port: 0, drainTimeoutMs: 60_000 });
    const headers = { 'x-api-key': 'acme', accept: 'text/event-stream' };
    const response = await fetch(`${server.url}/page/training-jobs/${id}/events`, { headers });
    const { next } = eventsOf(response);
    expect(await next()).toMatchObject({ event: 'job' });
    const rest = next().catch(() => 'cut');
    await server.close();
    expect(await rest).toBe('cut');
  });

  it.each([
    ['nobody', 'acme', UNKNOWN_ID],
    ['another account', 'stranger', undefined],
  ])('of a job of %s are a 404', async (_, as, unknown) => {
    const { send, id } = await aWatchedJob();
    const response = await send('GET', `/page/training-jobs/${unknown ?? id}/events`, { as });
    expect(response.status).toBe(404);
    expect(JSON.parse(await response.text()).detail[0].loc).toEqual(['path', 'model_id']);
  });
});
