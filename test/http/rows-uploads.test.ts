import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
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
  const send = async (as: string, body = many, signal?: AbortSignal) => {
    const headers = {
      ...{ 'x-api-key': as, 'content-type': 'text/plain', 'content-length': `${body.length}` },
      ...{ 'x-file-name': 'rows.csv', 'x-model-type': 'multiclass-text-classification' },
    };
    const request = new Request('http://test/page/uploads', { method: 'POST', headers, body, signal: signal ?? null });
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

  it('names what is wrong with its rows', async () => {
    const response = await aService().send('acme', `${many}\n,l0\nrow,l1,l2`);
    expect(response.status).toBe(422);
    expect(JSON.stringify(await response.json())).toContain('in rows.csv line 4,003');
  });
});
