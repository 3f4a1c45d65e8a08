import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { aService, MODEL, useCatalogue } from './a-service.js';
import { answersIn } from './answers.js';
import { rawConnection } from './raw-connection.js';

/**
 * Whatever bytes a connection brings, and however it takes its answers: each ends within 5 s, every answer is a whole one,
 * refusals have a `detail`, there is no unhandled rejection, and memory stays within a bound.
 * `npm run test:fuzz` makes 20,000 exchanges.
 */

const EXCHANGES = Number(process.env.FUZZ_REQUESTS ?? 320);
/** Connections at the same time. */
const CONNECTIONS = 16;
const MAX_HANG_MS = 5000;
/** Above what there was before. Clients share the process, and those of a round may keep 400 MB of answers that they read. */
const MAX_GROWTH_BYTES = 700 * 2 ** 20;

const catalogue = useCatalogue();
const authenticate = (apiKey: string) => (apiKey === 'right' ? ({ app_id: 'acme', tier: 'pro' } as const) : undefined);

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: test\r\nx-api-key: right\r\n\r\n`;
function post(path: string, body: string, headers = ''): string {
  const length = Buffer.byteLength(body);
  return `POST ${path} HTTP/1.1\r\nhost: test\r\nx-api-key: right\r\ncontent-type: application/json\r\n${headers}content-length: ${length}\r\n\r\n${body}`;
}
/** After which the server hangs up, unless something before it has gone wrong. */
const BYE = 'GET /health HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n';
const PREDICT = `/predictor/language/pre-trained/${MODEL}`;
const chunked = (chunks: string) =>
  `POST ${PREDICT} HTTP/1.1\r\nhost: test\r\nx-api-key: right\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`;

const sound = fc.constantFrom(
  get('/health'),
  get('/docs/swagger-ui-bundle.js'),
  get('/openapi.json'),
  get('/trainer/language/models'),
  get('/no/such/path'),
  get('/trainer/language/models?__proto__=1&limit=2'),
  post(PREDICT, '{"query":"the lamp was awful"}'),
  post(PREDICT, '{"query":"a"}', 'expect: 100-continue\r\n'),
  post(PREDICT, '{"__proto__":{"query":"a"}}'),
  post('/medley/language', `{"query":"a","models":["__proto__","${MODEL}"]}`),
  post(`/batch-predictor/language/pre-trained/${MODEL}`, `{"queries":["${'long '.repeat(300)}","b"]}`),
  chunked('3\r\n{"q\r\nb\r\nuery":"ab"}\r\n0\r\n\r\n'),
);
const unsound = fc.constantFrom(
  'GET / HTTP/1.1\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: a@b/c\r\n\r\n',
  'GET /health HTTP/1.0\r\n\r\n',
  'GET /health HTTP/9.9\r\nhost: test\r\n\r\n',
  'CONNECT test:1 HTTP/1.1\r\nhost: test\r\n\r\n',
  `GET /health HTTP/1.1\r\nhost: test\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
  post(PREDICT, '{"query":"a"}', 'expect: tea\r\n'),
  post(PREDICT, '{"query":"a"}', 'content-length: 3\r\n'),
  post(PREDICT, '{"query":"a"}', 'transfer-encoding: chunked\r\n'),
  post(PREDICT, '{"query":"a"}').replace('right', 'wrong'),
  chunked('zz\r\n'),
  chunked('ffffffff\r\nabc'),
  '\0\0\0\0',
  '\r\n\r\n\r\n',
);
const pieces = fc.oneof(
  { weight: 6, arbitrary: sound },
  { weight: 2, arbitrary: unsound },
  // Half a request, after which others may come.
  {
    weight: 2,
    arbitrary: fc
      .tuple(sound, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([text, share]) => text.slice(0, Math.floor(text.length * share))),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);

const exchanges = fc.record({
  pieces: fc.array(pieces, { minLength: 1, maxLength: 4 }),
  /** How often the pieces are sent one after the other: more than a connection may have waiting, at times. */
  times: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 400 }) }),
  client: fc.constantFrom('reads', 'reads late', 'ends', 'resets', 'leaves without a word'),
});
type Exchange = typeof exchanges extends fc.Arbitrary<infer Value> ? Value : never;

/** Plays a client, and reads to the end what there is for it. @returns what it has read. */
async function play(url: string, { pieces: sent, times, client }: Exchange): Promise<string> {
  const { socket, write, read } = await rawConnection(url);
  write(sent.join('').repeat(times) + (client.startsWith('reads') ? BYE : ''));
  if (client === 'ends') socket.end();
  if (client === 'reads late') await delay(100);
  if (client === 'resets') socket.resetAndDestroy();
  if (client === 'leaves without a word') socket.destroy();
  return socket.destroyed ? '' : read();
}

async function within<Value>(ms: number, what: string, work: Promise<Value>): Promise<Value> {
  const late = new AbortController();
  const hangs = delay(ms, undefined, { signal: late.signal }).then(() => {
    throw new Error(`${what} hangs for more than ${ms} ms`);
  });
  hangs.catch(() => undefined);
  return Promise.race([work, hangs]).finally(() => late.abort());
}

it('answers or ends every connection, and survives it', { timeout: 3_600_000 }, async () => {
  const failures: unknown[] = [];
  const note = (reason: unknown) => failures.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note);
  });
  const server = { stallTimeoutMs: 300, maxConnections: 50 };
  const { url } = await aService(catalogue, {
    overSocket: true,
    server,
    handler: { authenticate, bodyTimeoutMs: 500 },
  });
  const properties = Object.getOwnPropertyNames(Object.prototype).length;
  const before = process.memoryUsage().rss;
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(exchanges, { minLength: CONNECTIONS, maxLength: CONNECTIONS }), async (played) => {
      const read = await Promise.all(
        played.map((exchange) => within(MAX_HANG_MS, JSON.stringify(exchange), play(url, exchange))),
      );
      for (const { status, body } of read.flatMap(answersIn)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect(status === 503 || status < 500).toBe(true);
        if (status >= 400) expect(JSON.parse(body).detail[0].msg).toEqual(expect.any(String));
      }
      const health = await within(MAX_HANG_MS, '/health', fetch(`${url}/health`));
      expect(health.status).toBe(200);
      expect(process.memoryUsage().rss - before).toBeLessThan(MAX_GROWTH_BYTES);
    }),
    // To shrink would play connections for minutes.
    { numRuns: Math.ceil(EXCHANGES / CONNECTIONS), endOnFailure: true },
  );
  // Which others occur is chance.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400]));
  expect(statuses.size).toBeGreaterThan(4);
  expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(properties);
  expect(failures).toEqual([]);
});
