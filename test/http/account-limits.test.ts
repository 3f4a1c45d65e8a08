import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AccountHolds, limitsAmong } from '../../src/http/account-limits.js';
import { type AccountLimits, type HandlerOptions, serve } from '../../src/http/index.js';
import { aRequest } from '../jobs/request.js';
import { aService, MODEL, useCatalogue } from './a-service.js';
import { gets, rawConnection } from './raw-connection.js';

/** What one account may hold open at a time, and that nothing stays open when a client has left. */

const catalogue = useCatalogue();

/** In this file the API key is the account's name. */
const authenticate = (apiKey: string) => ({ app_id: apiKey, tier: 'pro' }) as const;

async function aHandler(accountLimits: AccountLimits = {}, options: Partial<HandlerOptions> = {}) {
  const service = await aService(catalogue, { handler: { authenticate, accountLimits, ...options } });
  const send = (method: string, path: string, { as = 'acme', ...init }: RequestInit & { as?: string } = {}) => {
    const headers = { 'x-api-key': as, 'content-type': 'application/json', ...init.headers };
    return service.handler(new Request(`http://service.test${path}`, { method, ...init, headers }));
  };
  const aJob = async (as = 'acme') => {
    const response = await send('POST', '/trainer/language/training-jobs', { as, body: JSON.stringify(aRequest) });
    return JSON.parse(await response.text()).id;
  };
  return { ...service, send, aJob };
}

const PREDICT = `/predictor/language/pre-trained/${MODEL}`;
const EVENTS = (id: string) => `/page/training-jobs/${id}/events`;
const endless = () => new ReadableStream({ start: (out) => out.enqueue(Buffer.from('{"query": "')) });
const typeOf = async (response: Response) => JSON.parse(await response.text()).detail[0].type;

describe('an account', () => {
  it('has some event streams at a time, each until its client leaves it', async () => {
    const { send, aJob } = await aHandler({ streams: 2 });
    const [id, others] = [await aJob(), await aJob('stranger')];
    const first = await send('GET', EVENTS(id));
    expect(first.status).toBe(200);
    const leaving = new AbortController();
    expect((await send('GET', EVENTS(id), { signal: leaving.signal })).status).toBe(200);
    const refused = await send('GET', EVENTS(id));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await typeOf(refused)).toBe('open_streams');
    expect((await send('GET', EVENTS(others), { as: 'stranger' })).status).toBe(200);
    await first.body?.cancel();
    leaving.abort();
    for (const _ of [1, 2]) expect((await send('GET', EVENTS(id))).status).toBe(200);
    expect((await send('GET', EVENTS(id))).status).toBe(429);
  });

  it('holds no stream after a HEAD, nor after a refusal', async () => {
    const { send, aJob } = await aHandler({ streams: 1 });
    const id = await aJob();
    expect((await send('HEAD', EVENTS(id))).status).toBe(200);
    expect((await send('GET', EVENTS('0190a6f0-0000-7000-8000-000000000000'))).status).toBe(404);
    expect((await send('GET', EVENTS(id))).status).toBe(200);
  });

  it('has some uploads that arrive at a time', async () => {
    const { send } = await aHandler({ uploads: 1 });
    const upload = (as = 'acme') =>
      send('POST', '/page/uploads', {
        as,
        headers: { 'content-type': 'application/zip' },
        body: endless(),
        duplex: 'half',
      });
    void upload();
    await vi.waitFor(async () => expect(await typeOf(await upload())).toBe('open_uploads'));
    expect((await send('GET', '/page/models')).status).toBe(200);
  });

  it('has some other requests at a time', async () => {
    const { send } = await aHandler({ requests: 2 });
    const ask = (as = 'acme') => send('POST', PREDICT, { as, body: endless(), duplex: 'half' });
    void ask();
    void ask();
    expect(await typeOf(await ask())).toBe('open_requests');
    expect((await send('POST', PREDICT, { as: 'stranger', body: '{"query": "a"}' })).status).toBe(200);
  });

  it.each([
    ['requests', 250, 'requests'],
    ['streams', 50, 'event streams'],
    ['uploads', 5, 'uploads'],
    ['downloads', 10, 'downloads'],
  ] as const)('has by default some %s at a time: %d', (what, most, noun) => {
    const holds = new AccountHolds();
    const releases = Array.from({ length: most }, () => holds.take('acme', what));
    const refusal = expect.objectContaining({
      status: 429,
      headers: { 'retry-after': '1' },
      detail: [
        {
          loc: ['header', 'x-api-key'],
          msg: `${noun} open at a time are limited to ${most} per account; wait until others have ended`,
          type: `open_${what}`,
        },
      ],
    });
    expect(() => holds.take('acme', what)).toThrow(refusal);
    holds.take('stranger', what)();
    releases[0]?.();
    releases[0]?.(); // counts once
    holds.take('acme', what);
    expect(() => holds.take('acme', what)).toThrow(refusal);
  });

  it('has by default 64 MiB of bodies at a time, or a single larger one', () => {
    const holds = new AccountHolds();
    const first = holds.take('acme', 'bodyBytes', 2 ** 26 - 1);
    const second = holds.take('acme', 'bodyBytes', 1);
    expect(() => holds.take('acme', 'bodyBytes', 1)).toThrow(
      'bytes in the bodies of open requests are limited to 67,108,864 per account',
    );
    first();
    second();
    holds.take('acme', 'bodyBytes', 2 ** 30);
    expect(() => holds.take('acme', 'bodyBytes', 1)).toThrow(
      'bytes in the bodies of open requests are limited to 67,108,864 per account',
    );
  });

  it('has by default at most two thirds of the connections of a server, and 315 of many', () => {
    const together = (connections: number) =>
      Object.values(limitsAmong(connections)).reduce((sum, most) => sum + most, 0);
    expect(together(1000)).toBe(315);
    expect(together(100_000)).toBe(315);
    for (let connections = 8; connections < 1000; connections += 1)
      expect(together(connections)).toBeLessThan((connections * 2) / 3);
  });

  it('has some bytes of bodies in memory at a time, announced or not', async () => {
    const { send } = await aHandler({ bodyBytes: 100 });
    const announced = (bytes: number) =>
      send('POST', PREDICT, { headers: { 'content-length': String(bytes) }, body: endless(), duplex: 'half' });
    void announced(90);
    expect(await typeOf(await announced(11))).toBe('open_body_bytes');
    const body = new ReadableStream({ start: (out) => out.enqueue(new Uint8Array(11)) });
    expect(await typeOf(await send('POST', PREDICT, { body, duplex: 'half' }))).toBe('open_body_bytes');
    expect((await send('POST', PREDICT, { body: '"1234567"' })).status).toBe(422);
  });
});

describe('a download that its client breaks off', () => {
  const openFiles = () => readdirSync('/proc/self/fd').length;

  it.skipIf(process.platform !== 'linux')('leaves no file open, and neither does a HEAD', async () => {
    const { send, handler, aReadyModel } = await aHandler(
      { downloads: 2 },
      { authenticate: () => ({ app_id: 'acme', tier: 'pro' }) },
    );
    const server = await serve(handler, { port: 0 });
    onTestFinished(() => server.close());
    // Too much for the buffers on the way: most of it is unread when the client leaves.
    const id = await aReadyModel({}, { 'a-large-file': randomBytes(16 * 2 ** 20) });
    const path = `/page/models/${id}/zip`;
    const request = gets(path).replace('\r\n\r\n', '\r\nx-api-key: acme\r\n\r\n');
    const before = openFiles();
    for (let round = 0; round < 10; round += 1) {
      const connection = await rawConnection(server.url);
      connection.write(request);
      await connection.read((text) => text.includes('PK'));
      connection.socket.destroy();
      expect((await send('HEAD', path)).status).toBe(200);
    }
    await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before));
    const whole = await send('GET', path);
    expect(
      Buffer.from(await whole.arrayBuffer())
        .subarray(0, 2)
        .toString(),
    ).toBe('PK');
  });
});

describe('a body', () => {
  it.each([
    ['in another charset', { 'content-type': 'application/json; charset=utf-16' }, 'content_type'],
    ['that is compressed', { 'content-encoding': 'gzip' }, 'content_encoding'],
  ])('%s is a 415 that says so', async (_, headers, type) => {
    const { send } = await aHandler();
    const response = await send('POST', PREDICT, { headers, body: '{"query": "a"}' });
    expect(response.status).toBe(415);
    expect(await typeOf(response)).toBe(type);
  });

  it.each([
    ['/predictor/language/pre-trained', 1, 'query'],
    ['/batch-predictor/language/pre-trained', 20, 'queries'],
  ])('of %s may have the most and longest queries, escaped as JSON allows', async (path, count, field) => {
    const { send } = await aHandler();
    const text = JSON.stringify('a '.repeat(50_000)).replaceAll('a', '\\u0061').replaceAll(' ', '\\u0020');
    const all = field === 'query' ? text : `[${Array(count).fill(text).join()}]`;
    const response = await send('POST', `${path}/${MODEL}`, { body: `{"${field}": ${all}}` });
    expect(response.status).toBe(200);
  });
});

describe('refusals', () => {
  it('wait for 20 ms behind the last one of their account, and for five seconds at most', () => {
    const holds = new AccountHolds();
    const paused = (account: string, now: number) => Math.round(holds.refusalPauseMs(account, now));
    expect([0, 0, 5, 100].map((now) => paused('acme', now))).toEqual([0, 20, 35, 0]);
    expect(paused('stranger', 100)).toBe(0);
    const flood = Array.from({ length: 300 }, () => paused('acme', 1000));
    expect([flood[1], flood[249], flood[250], flood[299]]).toEqual([20, 4980, 5000, 5000]);
    expect(paused('acme', 7000)).toBe(0);
  });

  it('without a valid key wait behind the last one of their network', async () => {
    const pauses = vi.spyOn(AccountHolds.prototype, 'refusalPauseMs').mockReturnValue(1);
    onTestFinished(() => pauses.mockRestore());
    const { handler } = await aHandler();
    const onRefused = vi.fn();
    const request = new Request('http://service.test/trainer/language/models');
    expect((await handler(request, { remoteAddress: '::ffff:192.0.2.7', onRefused })).status).toBe(401);
    expect(pauses.mock.calls.map(([asker]) => asker)).toEqual(['network 192.0.2.7']);
    expect(onRefused).toHaveBeenCalledOnce();
  });

  it('for too many at a time wait too', async () => {
    const pauses = vi.spyOn(AccountHolds.prototype, 'refusalPauseMs').mockReturnValue(1);
    onTestFinished(() => pauses.mockRestore());
    const { send, aJob } = await aHandler({ streams: 1 });
    const id = await aJob();
    const first = await send('GET', EVENTS(id));
    expect((await send('GET', EVENTS(id))).status).toBe(429);
    await first.body?.cancel();
    expect(pauses).toHaveBeenCalledOnce();
  });

  it('wait, and answers do not', async () => {
    const pauses = vi.spyOn(AccountHolds.prototype, 'refusalPauseMs').mockReturnValue(1);
    onTestFinished(() => pauses.mockRestore());
    const { send } = await aHandler({ bodyBytes: 1000 });
    const body = JSON.stringify({ query: 'a'.repeat(600) });
    const statuses = await Promise.all([1, 2].map(async () => (await send('POST', PREDICT, { body })).status));
    expect(statuses.toSorted()).toEqual([200, 429]);
    expect(pauses.mock.calls.map(([account]) => account)).toEqual(['account acme']);
  });
});
