import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Handler, type ServeOptions, serve } from '../../src/http/index.js';
import { gets, rawConnection } from './raw-connection.js';

/** Connections that ask for much, take nothing or stay silent: what they may cost, and that others are answered. */

const LARGE = 'a'.repeat(4 * 2 ** 20);

async function aServer(handler: Handler, options: ServeOptions = {}) {
  const server = await serve(handler, { port: 0, drainTimeoutMs: 100, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** Answers each path with itself, a little later for the first ones. */
const echo: Handler = async (request) => {
  const { pathname } = new URL(request.url);
  await new Promise((resolve) => setTimeout(resolve, pathname === '/0' ? 20 : 0));
  return new Response(pathname);
};

describe('requests that a connection sends without waiting for answers', () => {
  it('are answered one after the other, in their order', async () => {
    let running = 0;
    let most = 0;
    const { url } = await aServer(async (request) => {
      running += 1;
      most = Math.max(most, running);
      const answer = await echo(request);
      running -= 1;
      return answer;
    });
    const connection = await rawConnection(url);
    connection.write(Array.from({ length: 10 }, (_, at) => gets(`/${at}`)).join(''));
    const answers = await connection.read((text) => text.endsWith('/9'));
    expect(answers.match(/\/\d$|\/\d(?=HTTP)/g)).toEqual(Array.from({ length: 10 }, (_, at) => `/${at}`));
    expect(most).toBe(1);
  });

  it('end the connection where they are too many', async () => {
    const handler = vi.fn<Handler>(async () => new Response(LARGE));
    const { url } = await aServer(handler);
    const connection = await rawConnection(url);
    connection.write(gets('/', 3000));
    await connection.read();
    expect(handler.mock.calls.length).toBeLessThan(3);
    expect(await (await fetch(url)).text()).toBe(LARGE);
  });

  it('are not answered any more once the client has gone', async () => {
    const asked: string[] = [];
    let gone = false;
    const { url } = await aServer((request) => {
      asked.push(new URL(request.url).pathname);
      request.signal.addEventListener('abort', () => {
        gone = true;
      });
      return new Promise(() => undefined);
    });
    const connection = await rawConnection(url);
    connection.write(gets('/0') + gets('/1'));
    await vi.waitFor(() => expect(asked).toEqual(['/0']));
    connection.socket.destroy();
    await vi.waitFor(() => expect(gone).toBe(true));
    expect(asked).toEqual(['/0']);
  });
});

describe('answers that no client reads', () => {
  it('hold up no further request of their connection, and end it after a while', async () => {
    const handler = vi.fn<Handler>(async () => new Response(LARGE));
    const { url } = await aServer(handler, { stallTimeoutMs: 200 });
    const connection = await rawConnection(url);
    connection.write(gets('/', 5));
    await vi.waitFor(() => expect(handler).toHaveBeenCalled());
    const aborted = new Promise((resolve) => {
      connection.socket.once('close', resolve);
    });
    // A client that does not read notices the end when it writes.
    const writing = setInterval(() => connection.write('x'), 20);
    onTestFinished(() => clearInterval(writing));
    await aborted;
    expect(handler).toHaveBeenCalledOnce();
  });

  it('are kept up to a number of bytes in all; the largest go first', async () => {
    const { url } = await aServer(async (request) => new Response(request.url.endsWith('small') ? 'ok' : LARGE), {
      maxUntakenBytes: 10 * 2 ** 20,
    });
    const open = await Promise.all(Array.from({ length: 10 }, () => rawConnection(url)));
    for (const each of open) each.write(gets('/'));
    const read = await Promise.all(open.map((each) => each.read((text) => text.endsWith(LARGE))));
    const whole = read.filter((text) => text.endsWith(LARGE));
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.length).toBeLessThan(10);
    expect(await (await fetch(`${url}/small`)).text()).toBe('ok');
  });
});

describe('connections beyond the limit', () => {
  it('take the place of the one that has been silent longest', async () => {
    const { url } = await aServer(echo, { maxConnections: 2 });
    const silent = await rawConnection(url);
    const half = await rawConnection(url);
    half.write('GET / HTTP/1.1\r\nhost: te');
    const third = await rawConnection(url);
    third.write(gets('/third'));
    expect(await third.read((text) => text.endsWith('/third'))).toContain('200 OK');
    expect(await silent.read()).toBe('');
    half.write('st\r\n\r\n');
    expect(await half.read((text) => text.endsWith('/'))).toContain('200 OK');
  });

  it('take the place of one that waits for a refusal, rather than of one that is silent', async () => {
    const handler = vi.fn<Handler>((request, connection) => {
      if (!request.url.endsWith('/refused')) return echo(request);
      connection?.onRefused?.();
      return new Promise(() => undefined);
    });
    const { url } = await aServer(handler, { maxConnections: 2 });
    const silent = await rawConnection(url);
    const refused = await rawConnection(url);
    refused.write(gets('/refused'));
    await vi.waitFor(() => expect(handler).toHaveBeenCalledTimes(1));
    const third = await rawConnection(url);
    third.write(gets('/third'));
    expect(await third.read((text) => text.endsWith('/third'))).toContain('200 OK');
    expect(await refused.read()).toBe('');
    silent.write(gets('/silent'));
    expect(await silent.read((text) => text.endsWith('/silent'))).toContain('200 OK');
  });

  it('are refused where all the others are being answered', async () => {
    const handler = vi.fn<Handler>(() => new Promise(() => undefined));
    const { url } = await aServer(handler, { maxConnections: 2 });
    for (const _ of [1, 2]) (await rawConnection(url)).write(gets('/'));
    await vi.waitFor(() => expect(handler).toHaveBeenCalledTimes(2));
    const third = await rawConnection(url);
    third.write(gets('/'));
    const [head, body] = (await third.read()).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 503 /);
    expect(head).toContain('retry-after: 1');
    expect(JSON.parse(body ?? '')).toMatchObject({ detail: [{ type: 'overloaded' }] });
  });
});

it('a connection beyond the limit may ask whether the service runs', async () => {
  const handler = vi.fn<Handler>((request) =>
    request.url.endsWith('/health') ? echo(request) : new Promise(() => undefined),
  );
  const { url } = await aServer(handler, { maxConnections: 1 });
  (await rawConnection(url)).write(gets('/'));
  await vi.waitFor(() => expect(handler).toHaveBeenCalled());
  const second = await rawConnection(url);
  second.write(gets('/health', 2));
  expect((await second.read((text) => text.match(/200 OK/g)?.length === 2)).match(/200 OK/g)).toHaveLength(2);
  second.write(gets('/'));
  expect(await second.read()).toMatch(/HTTP\/1.1 503 /);
});

it('a request whose body stops is a 408, whatever it is for', async () => {
  const { url } = await aServer(async (request) => new Response(await request.text()), { stallTimeoutMs: 100 });
  const slow = await rawConnection(url);
  slow.write('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 3\r\n\r\nx');
  expect(await slow.read()).toMatch(/^HTTP\/1.1 408 /);
});

it('a connection that sends nothing is closed', async () => {
  const { url } = await aServer(echo, { stallTimeoutMs: 100 });
  const silent = await rawConnection(url);
  expect(await silent.read()).toBe('');
});

it('a request whose answer takes longer than a stall is answered', async () => {
  const { url } = await aServer(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return new Response('late');
    },
    { stallTimeoutMs: 50 },
  );
  expect(await (await fetch(url)).text()).toBe('late');
});
