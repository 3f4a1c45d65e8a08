import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { fetchText, NetworkFailure } from '../../src/system/index.js';
import { serve, serveInTurn } from './serve.js';

const quick = { maxBytes: 1000, retryPauseMs: 1 };

const answer =
  (status: number, headers: Record<string, string> = {}, body = 'text'): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

const failureOf = (call: Promise<unknown>): Promise<NetworkFailure> =>
  call.then(
    () => expect.fail('it goes through'),
    (thrown) => (thrown instanceof NetworkFailure ? thrown : expect.fail(`no NetworkFailure: ${thrown}`)),
  );

describe('a request that fails', () => {
  it.each([408, 425, 429, 500, 502, 503, 504, 522])('with %i is repeated', async (status) => {
    const { url, asked } = await serveInTurn(answer(status), answer(status), answer(200));
    expect(await fetchText({ ...quick, url })).toBe('text');
    expect(asked).toHaveLength(3);
  });

  it.each([400, 401, 403, 404, 410, 416, 501, 505])('with %i is not', async (status) => {
    const { url, asked } = await serveInTurn(answer(status), answer(200));
    expect(await failureOf(fetchText({ ...quick, url }))).toMatchObject({
      status,
      message: expect.stringContaining(`the server answered ${status}`),
    });
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['ECONNRESET', 3],
    ['EAI_AGAIN', 3],
    ['ENOTFOUND', 1],
    ['CERT_HAS_EXPIRED', 1],
  ])('with the code %s is sent %i times', async (code, times) => {
    let sent = 0;
    const fetch = async () => {
      sent += 1;
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });
    };
    const url = new URL('https://example.com/');
    const { message } = await failureOf(fetchText({ ...quick, url, fetch, retries: 2 }));
    expect(message).toContain(`(${code})`);
    expect(sent).toBe(times);
  });

  it('is sent five times, unless asked otherwise', async () => {
    const { url, asked } = await serveInTurn(answer(503));
    await failureOf(fetchText({ ...quick, url }));
    expect(asked).toHaveLength(5);
  });

  it.each<[string, unknown, string]>([
    ['has no message', new TypeError('fetch failed', { cause: new Error('') }), 'fetch failed'],
    ['has a cause with a message', new TypeError('fetch failed', { cause: new Error('bad port') }), 'bad port'],
    ['is no error', 'a text', 'the download failed'],
  ])('for a reason that %s says what is known of it', async (_, thrown, message) => {
    const fetch = () => Promise.reject(thrown);
    const failure = await failureOf(fetchText({ ...quick, url: new URL('http://example.com'), fetch }));
    expect(failure).toMatchObject({ message, isTransient: false, isTooLarge: false });
    expect(failure.cause).toBe(thrown);
  });

  it.each(['soon', ''])("pauses as usual if the server's retry-after is %j", async (after) => {
    const { url, asked } = await serveInTurn(answer(503, { 'retry-after': after }), answer(200));
    expect(await fetchText({ ...quick, url })).toBe('text');
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['7', 7000],
    ['soon', undefined],
    [new Date(0).toUTCString(), 0],
  ])('tells how long the server asks to wait: %s', async (after, pauseMs) => {
    const { url } = await serveInTurn(answer(503, { 'retry-after': after }));
    expect(await failureOf(fetchText({ ...quick, url, retries: 0 }))).toMatchObject({ pauseMs, isTransient: true });
  });

  it('is repeated if the connection breaks in the middle', async () => {
    const { url } = await serveInTurn(
      (_, response) => response.writeHead(200, { 'content-length': 4 }).write('te', () => response.destroy()),
      answer(200),
    );
    expect(await fetchText({ ...quick, url })).toBe('text');
  });

  it('is repeated if the server sends nothing for a while', async () => {
    const { url } = await serveInTurn(() => undefined, answer(200));
    expect(await fetchText({ ...quick, url, stallTimeoutMs: 50 })).toBe('text');
  });

  it('is repeated when the server asks for it', async () => {
    const past = new Date(0).toUTCString();
    const { url } = await serveInTurn(
      answer(503, { 'retry-after': '0' }),
      answer(429, { 'retry-after': past }),
      answer(200),
    );
    expect(await fetchText({ ...quick, url, retryPauseMs: 60_000 })).toBe('text');
  });

  it('is not repeated once the signal fires, whatever pause was to come', async () => {
    const stop = new AbortController();
    const reason = new Error('changed my mind');
    const { url, asked } = await serveInTurn((_, response) =>
      response.writeHead(503, { 'retry-after': '30' }).end(() => stop.abort(reason)),
    );
    await expect(fetchText({ ...quick, url, signal: stop.signal })).rejects.toBe(reason);
    expect(asked).toHaveLength(1);
  });

  it('is not repeated if the answer is too large', async () => {
    const { url, asked } = await serveInTurn(answer(200, {}, 'x'.repeat(1001)));
    expect((await failureOf(fetchText({ ...quick, url }))).message).toContain('larger than 1000 bytes');
    expect(asked).toHaveLength(1);
  });
});

describe('a request', () => {
  it('may be answered by as much as is allowed, and says who asks', async () => {
    const { url, asked } = await serveInTurn(answer(200, {}, 'x'.repeat(1000)));
    expect(await fetchText({ ...quick, url, headers: { accept: 'text/plain' } })).toBe('x'.repeat(1000));
    expect(asked[0]).toMatchObject({
      'user-agent': 'orchard-nlp',
      'accept-encoding': 'identity',
      accept: 'text/plain',
    });
  });

  it('may have no body', async () => {
    const fetch = async () => new Response(null, { status: 204 });
    expect(await fetchText({ ...quick, url: new URL('http://example.com'), fetch })).toBe('');
  });
});

describe('a redirect', () => {
  const headers = {
    ...{ authorization: 'Bearer secret', cookie: 'a=b', 'proxy-authorization': 'Basic secret' },
    accept: 'text/plain',
  };

  it('to the same host gets the credentials', async () => {
    const { url, asked } = await serveInTurn(answer(302, { location: '/other' }), answer(200));
    await fetchText({ ...quick, url, headers });
    expect(asked[1]).toMatchObject(headers);
  });

  it('to another host does not get them, nor does the first host when that one sends back', async () => {
    const first = await serveInTurn(
      (_, response) => response.writeHead(302, { location: other.url.href }).end(),
      answer(200),
    );
    const other = await serveInTurn(answer(307, { location: first.url.href }));
    expect(await fetchText({ ...quick, url: first.url, headers })).toBe('text');
    expect(first.asked[0]).toMatchObject(headers);
    for (const asked of [other.asked[0], first.asked[1]]) {
      expect(asked).toMatchObject({ accept: 'text/plain' });
      expect(asked).not.toHaveProperty('authorization');
      expect(asked).not.toHaveProperty('cookie');
      expect(asked).not.toHaveProperty('proxy-authorization');
    }
  });

  it.each([
    ['http:', 'http:'],
    ['http:', 'https:'],
    ['https:', 'https:'],
  ])('from %s to %s is followed also where a downgrade is refused', async (from, to) => {
    const asked: string[] = [];
    const fetch = async (target: URL) => {
      asked.push(target.protocol);
      const location = `${to}//example.com/there`;
      return asked.length === 1 ? new Response(null, { status: 302, headers: { location } }) : new Response('text');
    };
    const url = new URL(`${from}//example.com/`);
    expect(await fetchText({ ...quick, url, fetch, refusesDowngrade: true })).toBe('text');
    expect(asked).toEqual([from, to]);
  });

  it('from https to http is refused if asked for', async () => {
    const fetch = async ({ protocol }: URL) =>
      protocol === 'http:'
        ? new Response('text')
        : new Response(null, { status: 302, headers: { location: 'http://example.com/' } });
    const options = { ...quick, url: new URL('https://example.com/'), fetch };
    expect(await fetchText(options)).toBe('text');
    const { message } = await failureOf(fetchText({ ...options, refusesDowngrade: true }));
    expect(message).toBe('the server redirects from https to http');
  });

  it.each([
    ['file:///etc/secret', 'to something that is not an http or https URL'],
    ['http://', 'to something that is not an http or https URL'],
    ['ftp://127.0.0.1/a.zip?signature=secret', 'to something that is not an http or https URL'],
    ['http://ann:secret@[/', 'to something that is not an http or https URL'],
    ['http://ann:secret@127.0.0.1/', 'a URL with a user name or password'],
  ])('to %s is refused, and not repeated', async (location, reason) => {
    const { url, asked } = await serveInTurn(answer(302, { location }));
    const failure = await failureOf(fetchText({ ...quick, url }));
    expect(failure.status).toBe(302);
    expect(failure.message).toContain(reason);
    expect(failure.message).not.toContain('secret');
    expect(asked).toHaveLength(1);
  });

  it.each([301, 302, 303, 307, 308])('with %i leads to a place, which it has to name', async (status) => {
    const { url, asked } = await serveInTurn(answer(status, { location: '../there?a=b' }), answer(200));
    expect(await fetchText({ ...quick, url })).toBe('text');
    expect(asked).toHaveLength(2);
    const lost = await serveInTurn(answer(status));
    expect(await failureOf(fetchText({ ...quick, url: lost.url }))).toMatchObject({
      ...{ status, isTransient: false, message: 'the server redirects without saying where' },
    });
  });

  it.each(['http://:secret@127.0.0.1/', 'http://ann@127.0.0.1/'])('has no part of a login: %s', async (location) => {
    const { url } = await serveInTurn(answer(302, { location }));
    expect((await failureOf(fetchText({ ...quick, url }))).message).toContain('with a user name or password');
  });

  it('is followed five times and no more', async () => {
    const base = await serve(({ url = '' }, response) => {
      const left = Number(url.slice(1));
      if (left === 0) response.end('text');
      else response.writeHead(308, { location: `/${left - 1}` }).end();
    });
    expect(await fetchText({ ...quick, url: new URL('/5', base) })).toBe('text');
    const { message } = await failureOf(fetchText({ ...quick, url: new URL('/6', base) }));
    expect(message).toBe('more than 5 redirects');
  });
});
