import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Account } from '../../src/contract/index.js';
import { type Handler, serve } from '../../src/http/index.js';
import { aService, MODEL, useCatalogue } from './a-service.js';
import { rawConnection } from './raw-connection.js';

/** Node's server around the handler: what only a socket can show. */

const catalogue = useCatalogue();

const anyone = { authenticate: (): Account => ({ app_id: 'acme', tier: 'pro' }) };

async function aServer(handler: Handler) {
  const server = await serve(handler, { port: 0, drainTimeoutMs: 100 });
  onTestFinished(() => server.close());
  return server;
}

/** Sends bytes as they are, and reads until the server hangs up. */
async function exchange(url: string, ...pieces: string[]) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  for (const piece of pieces) socket.write(piece);
  const answer = await text(socket);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { statusLine: head.split('\r\n')[0], body: JSON.parse(body) };
}

const post = [
  `POST /predictor/language/pre-trained/${MODEL} HTTP/1.1`,
  'host: test',
  'x-api-key: any',
  'content-type: application/json',
].join('\r\n');

describe('what is wrong with a connection', () => {
  it.each([
    ['no HTTP', 'HELLO\r\n\r\n', '400 Bad Request'],
    ['a head of 100 kB', `GET / HTTP/1.1\r\nhost: test\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`, '431 '],
  ])('such as %s, is answered in the documented shape', async (_, bytes, status) => {
    const { url } = await aService(catalogue, { overSocket: true });
    const { statusLine, body } = await exchange(url, bytes);
    expect(statusLine).toContain(`HTTP/1.1 ${status}`);
    expect(body).toEqual({ detail: [{ loc: [], msg: expect.any(String), type: 'bad_request' }] });
  });

  it('a body that stops coming is a 408, and the connection ends', async () => {
    const { url } = await aService(catalogue, {
      overSocket: true,
      handler: { ...anyone, bodyTimeoutMs: 20 },
    });
    const { statusLine, body } = await exchange(url, `${post}\r\ncontent-length: 100\r\n\r\n{"query"`);
    expect(statusLine).toBe('HTTP/1.1 408 Request Timeout');
    expect(body.detail[0].type).toBe('too_slow');
  });

  it('a body announced as too large is a 413 before it is sent', async () => {
    const { url } = await aService(catalogue, { overSocket: true, handler: anyone });
    const { statusLine, body } = await exchange(url, `${post}\r\ncontent-length: 2000000\r\n\r\n`);
    expect(statusLine).toBe('HTTP/1.1 413 Payload Too Large');
    expect(body.detail[0].type).toBe('too_large');
  });

  it('a body in pieces without a length is a 413 once it is too large', async () => {
    const { url } = await aService(catalogue, {
      overSocket: true,
      handler: { ...anyone, maxBodyBytes: 10 },
    });
    const { statusLine } = await exchange(
      url,
      `${post}\r\ntransfer-encoding: chunked\r\n\r\n`,
      'c\r\n{"query": "ab\r\n',
    );
    expect(statusLine).toBe('HTTP/1.1 413 Payload Too Large');
  });

  it.each([
    ['no host', 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n', '400', 'bad_request'],
    ['two hosts', 'GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n', '400', 'bad_request'],
    ['a host that is none', 'GET / HTTP/1.1\r\nhost: a@b/c\r\nconnection: close\r\n\r\n', '400', 'bad_request'],
    ['a path that is no URL', 'GET http://[ HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n', '400', 'bad_request'],
    [
      'an expectation of something else',
      'POST / HTTP/1.1\r\nhost: test\r\nexpect: tea\r\ncontent-length: 1\r\n\r\n',
      '417',
      'expectation',
    ],
    ['CONNECT', 'CONNECT test:80 HTTP/1.1\r\nhost: test\r\n\r\n', '405', 'method'],
    [
      'an upgrade',
      'GET /x HTTP/1.1\r\nhost: test\r\nconnection: upgrade, close\r\nupgrade: x\r\n\r\n',
      '404',
      'not_found',
    ],
  ])('such as %s is refused with a detail', async (_, bytes, status, type) => {
    const { url } = await aService(catalogue, { overSocket: true });
    const { statusLine, body } = await exchange(url, bytes);
    expect(statusLine).toContain(`HTTP/1.1 ${status} `);
    expect(body).toEqual({ detail: [{ loc: expect.any(Array), msg: expect.any(String), type }] });
  });

  it('a client that resets a refused tunnel does no harm', async () => {
    const { url } = await aServer(async () => new Response('fine'));
    for (let made = 0; made < 20; made += 1) {
      const { socket, write } = await rawConnection(url);
      write('CONNECT test:1 HTTP/1.1\r\nhost: test\r\n\r\n');
      socket.resetAndDestroy();
    }
    expect(await (await fetch(url)).text()).toBe('fine');
  });

  it('a client that keeps a refused tunnel open does not hold the server up', async () => {
    const { url, close } = await serve(async () => new Response(), { port: 0, drainTimeoutMs: 100 });
    const { write, read } = await rawConnection(url);
    write('CONNECT test:1 HTTP/1.1\r\nhost: test\r\n\r\n');
    await read((text) => text.includes('"method"'));
    await close();
  });

  it('garbage after a request does not get into the answer', async () => {
    const { url } = await aServer(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return Response.json({ done: true });
    });
    const { statusLine, body } = await exchange(url, `GET / HTTP/1.1\r\nhost: test\r\n\r\nHELLO\r\n\r\n`);
    expect(statusLine).toBe('HTTP/1.1 400 Bad Request');
    expect(body).toMatchObject({ detail: [{ type: 'bad_request' }] });
  });

  it.each(['//', '/%', '/\\', '/trainer/language/models/%zz', '*'])('a path like %s does no harm', async (path) => {
    const { url } = await aService(catalogue, { overSocket: true, handler: anyone });
    const { statusLine } = await exchange(
      url,
      `GET ${path} HTTP/1.1\r\nhost: test\r\nx-api-key: any\r\nconnection: close\r\n\r\n`,
    );
    expect(statusLine).toMatch(/^HTTP\/1\.1 4\d\d/);
  });
});

describe('closing', () => {
  it('lets a request under way end, and takes no other', async () => {
    let answer: () => void = () => undefined;
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let started: () => void = () => undefined;
    const hasStarted = new Promise<void>((resolve) => {
      started = resolve;
    });
    const server = await serve(
      async () => {
        started();
        await mayAnswer;
        return Response.json({ done: true });
      },
      { port: 0 },
    );
    const pending = fetch(server.url);
    await hasStarted;
    const closing = server.close();
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    answer();
    expect(await (await pending).json()).toEqual({ done: true });
    await closing;
  });

  it('does not wait for a request that never ends, nor for idle connections', async () => {
    const server = await aServer(() => new Promise(() => undefined));
    const stuck = fetch(server.url).catch((thrown: unknown) => thrown);
    const { hostname, port } = new URL(server.url);
    const idle = connect(Number(port), hostname).on('error', () => undefined);
    await once(idle, 'connect');
    await server.close();
    expect(await stuck).toBeInstanceOf(TypeError);
  });

  it('is idempotent', async () => {
    const server = await aServer(async () => new Response());
    await Promise.all([server.close(), server.close()]);
    await server.close();
  });
});

it('a port in use is an error, not a server', async () => {
  const { url } = await aServer(async () => new Response());
  const port = Number(new URL(url).port);
  await expect(serve(async () => new Response(), { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
