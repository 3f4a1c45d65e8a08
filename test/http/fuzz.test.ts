import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { documentedRoutes } from '../../src/http/routes.js';
import { aRequest } from '../jobs/request.js';
import { aService, MODEL, OTHER_MODEL, UNKNOWN_ID, useCatalogue } from './a-service.js';

/**
 * Whatever is sent: never a 500, every refusal in the documented shape, and no unhandled rejection.
 * `npm run test:fuzz` sends 20,000 requests.
 */

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 2000);
/** Of those, over a socket: slower, and the HTTP parser refuses much before the handler sees it. */
const SHARE_OVER_SOCKET = 0.2;

const catalogue = useCatalogue();

const names = fc.oneof(
  fc.constantFrom(MODEL, UNKNOWN_ID, '..', '%', '%00', '%ff', 'a@b', '__proto__', 'constructor'),
  fc.string({ unit: 'binary', maxLength: 40 }).map(encodeURIComponent),
);
const paths = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom(...documentedRoutes()), names)
      .map(([{ path }, name]) => path.replace(/\{\w+\}/, name)),
  },
  { weight: 1, arbitrary: fc.webPath() },
);
const searches = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc
      .dictionary(fc.constantFrom('limit', 'cursor', 'modelType', 'trainingStatus', 'x', '__proto__'), fc.string())
      .map((query) => `?${new URLSearchParams(query)}`),
  },
);

/** Bodies that are right, and what one wrong turn makes of them. */
const rightBodies = [
  { query: 'a' },
  { queries: ['a', 'b'] },
  { query: 'a', models: [MODEL, OTHER_MODEL] },
  { queries: ['a'], models: [MODEL] },
  aRequest,
  { ...aRequest, training_config: { batch_size: 8, preprocessing: { lowercase: true } } },
];
const bodies = fc.oneof(
  fc.constantFrom(...rightBodies),
  fc
    .tuple(fc.constantFrom(...rightBodies), fc.jsonValue())
    .chain(([right, value]) => fc.constantFrom(...Object.keys(right)).map((key) => ({ ...right, [key]: value }))),
  fc.jsonValue({ maxDepth: 4 }),
);
const rawBodies = fc.oneof(
  { weight: 6, arbitrary: bodies.map((body) => JSON.stringify(body)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('['.repeat(100_000), '{"query":'.repeat(10_000), '{"__proto__":{"query":"a"}}'),
  },
);
const methods = fc.oneof(
  { weight: 6, arbitrary: fc.constant('POST') },
  { weight: 4, arbitrary: fc.constantFrom('GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS') },
);
const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/json;charset=x', 'text/plain', 'json', ''),
    'content-length': fc.constantFrom('-1', '0', '1e9', 'many'),
    'x-request-id': fc.string({ unit: fc.constantFrom(...'ab-_=/ <é'), maxLength: 300 }),
    'transfer-encoding': fc.constant('chunked'),
    accept: fc.constantFrom('text/html', '*/*', ''),
    'x-api-key': fc.string({ unit: fc.constantFrom(...'ab-_=/ <é'), maxLength: 100 }),
    'x-forwarded-for': fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('unknown', ',', '[::1]:80')),
    'content-encoding': fc.constantFrom('gzip', 'identity'),
  },
  { requiredKeys: [] },
);

const requests = fc.record({
  method: methods,
  path: paths,
  search: searches,
  body: rawBodies,
  headers: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
  as: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('pro', 'basic', 'stranger') },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
});

type AnyRequest = typeof requests extends fc.Arbitrary<infer Value> ? Value : never;
const predict = `/predictor/language/pre-trained/${MODEL}`;
const right = {
  method: 'POST',
  path: predict,
  search: '',
  body: '{"query":"a"}',
  headers: {},
  as: 'pro',
} as const;
/** One of each status that must be seen, so that chance does not decide about it. */
const ofEachStatus: [AnyRequest][] = [
  [right],
  [{ ...right, as: null }],
  [
    {
      ...right,
      path: `/batch-predictor/language/pre-trained/${MODEL}`,
      body: '{"queries":["a"]}',
      as: 'basic',
    },
  ],
  [{ ...right, path: '/predictor/language/pre-trained/no-such-model' }],
  [{ ...right, method: 'PUT' }],
  [{ ...right, headers: { 'content-type': 'text/plain' } }],
  [{ ...right, body: '{"query":1}' }],
];

/** What fails without anyone waiting for it until the test ends. */
function unhandledRejections(): unknown[] {
  const reasons: unknown[] = [];
  const note = (reason: unknown) => reasons.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note);
  });
  return reasons;
}

describe.each([
  ['the handler', false, 1 - SHARE_OVER_SOCKET],
  ['a server', true, SHARE_OVER_SOCKET],
])('%s', (_, overSocket, share) => {
  it('refuses every wrong request as documented, and survives it', { timeout: 600_000 }, async () => {
    const unhandled = unhandledRejections();
    const { ask } = await aService(catalogue, { overSocket, trainer: { maxWaitingJobs: 5 } });
    const seen = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(requests, async ({ method, path, search, body, headers, as }) => {
        const hasBody = !['GET', 'HEAD'].includes(method);
        const sent = overSocket ? sendable(headers) : headers;
        const answer = await ask(method, path + search, { as, headers: sent, ...(hasBody && { body }) });
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: Math.round(share * REQUESTS), examples: ofEachStatus },
    );
    expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 401, 403, 404, 405, 415, 422]));
    const { status } = await ask('POST', `/predictor/language/pre-trained/${MODEL}`, {
      body: { query: 'a' },
    });
    expect(status).toBe(200);
    expect(unhandled).toEqual([]);
  });
});

/** Without the headers that fetch sets itself. */
function sendable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const ownHeaders = ['content-length', 'transfer-encoding'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.includes(name)));
}
