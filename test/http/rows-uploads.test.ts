import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { modelTypes } from '../../src/contract/index.js';
import { accountServices, createHandler } from '../../src/http/index.js';
import { memoryStorage } from '../../src/storage/index.js';
import { FakeHost } from '../jobs/fake-host.js';

/** Uploads of many rows, which threads make into zips. */

const lines = (count: number) => Array.from({ length: count }, (_, row) => `row ${row},l${row % 3}`);
const many = ['text,label', ...lines(4000)].join('\n');

function aService() {
  const storage = memoryStorage();
  const services = accountServices({
    storage,
    trainer: { host: new FakeHost() },
    inference: { isolation: 'inline' },
  });
  onTestFinished(() => services.close());
  const authenticate = (apiKey: string) => ({ app_id: apiKey, tier: 'pro' }) as const;
  const handler = createHandler({ ...services, authenticate });
  const send = async (
    as: string,
    body = many,
    signal?: AbortSignal,
    changed: Readonly<Record<string, string | undefined>> = {},
  ) => {
    const headers = {
      ...{ 'x-api-key': as, 'content-type': 'text/plain', 'content-length': `${body.length}` },
      ...{ 'x-file-name': 'rows.csv', 'x-model-type': 'multiclass-text-classification' },
    };
    const sent = Object.entries({ ...headers, ...changed }).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    );
    const init = { method: 'POST', headers: sent, body, signal: signal ?? null };
    const request = new Request('http://test/page/uploads', init);
    return handler(request);
  };
  return { storage, send };
}

/** The threads that run, and the most of them at a time. */
function watchedThreads() {
  const running = new Set<Worker>();
  const seen = { started: 0, most: 0, running, onStart: (_started: number) => {} };
  const note = (worker: Worker) => {
    running.add(worker);
    worker.once('exit', () => running.delete(worker));
    seen.started += 1;
    seen.most = Math.max(seen.most, running.size);
    seen.onStart(seen.started);
  };
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  return seen;
}

const detailOf = async (response: Response) => JSON.parse(await response.text()).detail;
const temporaryFolders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('orchard-rows-'));

describe('an upload of many rows', () => {
  it('is made into a zip in a thread', async () => {
    const threads = watchedThreads();
    const { storage, send } = aService();
    const response = await send('acme');
    expect(response.status).toBe(200);
    expect(threads).toMatchObject({ started: 1, running: new Set() });
    expect(await storage.listKeys('uploads')).toHaveLength(1);
  });

  it('ends with its client: no thread goes on, and no file is left', async () => {
    const threads = watchedThreads();
    const { storage, send } = aService();
    const gone = new AbortController();
    threads.onStart = () => gone.abort();
    const before = temporaryFolders();
    const response = await send('acme', many, gone.signal);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(threads).toMatchObject({ started: 1, running: new Set() });
    expect(temporaryFolders()).toEqual(before);
    expect(await storage.listKeys('uploads')).toEqual([]);
  });

  it('waits for others: of one account for all of it, of several where two are read', async () => {
    const threads = watchedThreads();
    const { send } = aService();
    const statuses = async (accounts: readonly string[]) =>
      (await Promise.all(accounts.map((account) => send(account)))).map(({ status }) => status);
    expect(await statuses(['acme', 'acme', 'acme'])).toEqual([200, 200, 200]);
    expect(threads).toMatchObject({ started: 3, most: 1 });
    expect(await statuses(['one', 'two', 'three', 'four'])).toEqual([200, 200, 200, 200]);
    expect(threads).toMatchObject({ started: 7, most: 2 });
  });

  it('of one account does not make another wait for all of its own', async () => {
    const { send } = aService();
    const done: string[] = [];
    const upload = async (account: string) => {
      await send(account);
      done.push(account);
    };
    await Promise.all([...Array.from({ length: 5 }, () => upload('busy')), upload('other')]);
    expect(done.indexOf('other')).toBeLessThan(4);
  });

  it('leaves none of its files where it was read', async () => {
    const before = temporaryFolders();
    const { send } = aService();
    expect((await send('acme')).status).toBe(200);
    expect((await send('acme', `${many}\nrow,l1,l2`)).status).toBe(422);
    expect(temporaryFolders()).toEqual(before);
  });

  it('names what is wrong with its rows', async () => {
    const response = await aService().send('acme', `${many}\n,l0\nrow,l1,l2`);
    expect(response.status).toBe(422);
    const [problem, ...others] = await detailOf(response);
    expect(problem).toEqual({ loc: ['body'], msg: expect.stringContaining('in rows.csv line 4,003'), type: 'dataset' });
    expect(others).toEqual([]);
  });

  it('lists 100 of its problems and says how many more there are', async () => {
    const wrong = Array.from({ length: 1234 }, () => 'row,l1,l2').join('\n');
    const detail = await detailOf(await aService().send('acme', `${many}\n${wrong}`));
    expect(detail).toHaveLength(101);
    expect(detail[99].msg).toContain('in rows.csv line 4,101');
    expect(detail[100]).toEqual({ loc: ['body'], msg: 'and 1,134 more', type: 'dataset' });
  });

  it.each([
    [undefined, 'the header is missing'],
    ['translation', 'translation is not a type of model'],
  ])('is refused for the type of model %s, before it is read', async (type, found) => {
    const response = await aService().send('acme', many, undefined, { 'x-model-type': type });
    expect(response.status).toBe(422);
    const [problem] = await detailOf(response);
    expect(problem).toMatchObject({ loc: ['header', 'x-model-type'], type: 'model_type' });
    expect(problem.msg).toBe(`${found}; give one of ${modelTypes.join(', ')}`);
  });
});
