import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it } from 'vitest';
import { calendarQuota } from '../../src/http/index.js';
import { aService, MODEL, OTHER_MODEL, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** How often an account may ask: rates, quotas, and how slowly keys can be guessed. */

const PREDICT = `/predictor/language/pre-trained/${MODEL}`;
const body = { query: 'the lamp was awful' };

const catalogue = useCatalogue();

describe('a rate limit', () => {
  it('counts by account, and tells when to come again', async () => {
    const rateLimiter = new RateLimiterMemory({ points: 2, duration: 3600 });
    const { ask } = await aService(catalogue, { handler: { rateLimiter } });
    expect((await ask('POST', PREDICT, { body })).status).toBe(200);
    expect((await ask('GET', '/trainer/language/models')).status).toBe(200);
    const { status, headers, body: refused } = await ask('POST', PREDICT, { body });
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(3500);
    expect(refused.detail).toEqual([{ loc: ['header', 'x-api-key'], msg: expect.any(String), type: 'rate_limit' }]);
    expect((await ask('POST', PREDICT, { body, as: 'basic' })).status).toBe(200);
  });

  it('whose store fails is a 500, not a free pass', async () => {
    const rateLimiter = { consume: () => Promise.reject(new Error('the store is away')) };
    const { ask } = await aService(catalogue, { handler: { rateLimiter } });
    expect((await ask('POST', PREDICT, { body })).status).toBe(500);
  });
});

describe.each([
  ['of the calendar', (calls: number) => calendarQuota({ calls, per: 'month' })],
  ['of the library', (calls: number) => new RateLimiterMemory({ points: calls, duration: 86_400 })],
])('a quota %s', (_, quotaOf) => {
  const queries = ['a', 'b', 'c'];
  const models = [MODEL, OTHER_MODEL];

  /** A service whose pro account has this many calls, and how many of them are left. */
  async function aServiceWithCalls(calls: number) {
    const service = await aService(catalogue, { handler: { quota: quotaOf(calls) } });
    const callsLeft = async () => {
      let answered = 0;
      while ((await service.ask('POST', PREDICT, { body })).status === 200) answered += 1;
      return answered;
    };
    return { ...service, callsLeft };
  }

  const long = 'a lamp '.repeat(1500); // 10,500 characters
  it.each<[string, unknown, number]>([
    [PREDICT, body, 1],
    [PREDICT, { query: long }, 3],
    [PREDICT, { query: long.slice(0, 5000) }, 1],
    [PREDICT, { query: '' }, 1],
    [`/batch-predictor/language/pre-trained/${MODEL}`, { queries: ['a', long] }, 4],
    ['/medley/language', { query: long, models }, 3],
    [`/batch-predictor/language/pre-trained/${MODEL}`, { queries }, 3],
    ['/medley/language', { ...body, models }, 1],
    ['/medley/language/batch', { queries, models }, 3],
    [`/medley/language/batch/pre-trained/${MODEL}`, { queries }, 3],
    ['/medley/language', { ...body, models: [MODEL, 'no-such-model'] }, 1],
  ])('counts what %s answers', async (path, body, calls) => {
    const { ask, callsLeft } = await aServiceWithCalls(4);
    await ask('POST', path, { body });
    const { body: metrics } = await ask('GET', '/metrics', { as: null });
    expect(metrics).toMatch(new RegExp(`^orchard_inference_calls_total\\{.*\\} ${calls}$`, 'm'));
    expect(await callsLeft()).toBe(4 - calls);
  });

  it('counts the queries to a custom model', async () => {
    const { ask, callsLeft, aReadyModel } = await aServiceWithCalls(4);
    const id = await aReadyModel();
    await ask('POST', `/predictor/language/model/${id}`, { body });
    await ask('POST', `/batch-predictor/language/model/${id}`, { body: { queries: ['a', 'b'] } });
    expect(await callsLeft()).toBe(1);
  });

  it.each<[string, string, unknown]>([
    ['GET', '/trainer/language/models', undefined],
    ['POST', PREDICT, {}],
    ['POST', '/predictor/language/pre-trained/no-such-model', body],
    ['POST', `/predictor/language/model/${UNKNOWN_ID}`, body],
    ['POST', `/batch-predictor/language/pre-trained/${MODEL}`, { queries: Array(21).fill('a') }],
    ['POST', '/medley/language', { ...body, models: ['no-such-model'] }],
  ])('does not count what asks no model or is refused: %s %s', async (method, path, body) => {
    const { ask, callsLeft } = await aServiceWithCalls(2);
    await ask(method, path, { body });
    expect(await callsLeft()).toBe(2);
  });

  it('refuses what goes beyond it with 429, and answers what does not', async () => {
    const { ask } = await aServiceWithCalls(2);
    const batch = await ask('POST', `/batch-predictor/language/pre-trained/${MODEL}`, { body: { queries } });
    expect(batch.status).toBe(429);
    expect(Number(batch.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(batch.body.detail).toEqual([
      {
        loc: ['header', 'x-api-key'],
        msg: expect.stringMatching(
          /^this request takes 3 inference calls, more than the quota .* has left; try again in/,
        ),
        type: 'quota',
      },
    ]);
    const statuses = [];
    for (let call = 0; call < 3; call += 1) statuses.push((await ask('POST', PREDICT, { body })).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await ask('GET', '/trainer/language/models')).status).toBe(200);
    expect((await ask('POST', PREDICT, { body, as: 'basic' })).status).toBe(200);
  });
});

describe('wrong keys', () => {
  const wrong = { 'x-api-key': 'guess' };
  const aGuardedService = (overSocket: boolean, trustProxy = false) =>
    aService(catalogue, {
      overSocket,
      server: { trustProxy },
      handler: { wrongKeyLimiter: new RateLimiterMemory({ points: 2, duration: 3600 }) },
    });

  it('from one address are refused after a few, and then every key from there is', async () => {
    const { ask } = await aGuardedService(true);
    const statuses = [];
    for (let guess = 0; guess < 4; guess += 1) {
      statuses.push((await ask('POST', PREDICT, { body, headers: wrong })).status);
    }
    expect(statuses).toEqual([401, 401, 429, 429]);
    const right = await ask('POST', PREDICT, { body });
    expect(right.status).toBe(429);
    expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(3500);
    expect(right.body.detail).toEqual([{ loc: ['header', 'x-api-key'], msg: expect.any(String), type: 'wrong_keys' }]);
    expect((await ask('POST', PREDICT, { body, as: null })).status).toBe(401);
  });

  it('are counted only where they are wrong', async () => {
    const { ask } = await aGuardedService(true);
    for (let call = 0; call < 5; call += 1) expect((await ask('POST', PREDICT, { body })).status).toBe(200);
    for (let call = 0; call < 5; call += 1) await ask('POST', PREDICT, { body, as: null });
    expect((await ask('POST', PREDICT, { body })).status).toBe(200);
  });

  it('are counted by the address that the proxy saw, where it is trusted, and by none that the client made up', async () => {
    const { ask } = await aGuardedService(true, true);
    const from = (addresses: string) => ({ body, headers: { ...wrong, 'x-forwarded-for': addresses } });
    for (const invented of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) {
      await ask('POST', PREDICT, from(`${invented}, 203.0.113.7`));
    }
    expect((await ask('POST', PREDICT, from('203.0.113.7'))).status).toBe(429);
    expect((await ask('POST', PREDICT, from('203.0.113.8'))).status).toBe(401);
  });

  it('are counted by connection where no proxy is trusted', async () => {
    const { ask } = await aGuardedService(true);
    const statuses = [];
    for (const invented of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) {
      const headers = { ...wrong, 'x-forwarded-for': invented };
      statuses.push((await ask('POST', PREDICT, { body, headers })).status);
    }
    expect(statuses).toEqual([401, 401, 429]);
  });

  it('are counted by network where addresses are of IPv6', async () => {
    const { ask } = await aGuardedService(true, true);
    const from = (address: string) => ({ body, headers: { ...wrong, 'x-forwarded-for': address } });
    for (const host of ['1', '2', 'ffff:1:2:3']) await ask('POST', PREDICT, from(`2001:db8:0:1::${host}`));
    expect((await ask('POST', PREDICT, from('2001:db8:0:1:9::'))).status).toBe(429);
    expect((await ask('POST', PREDICT, from('2001:db8:0:2::1'))).status).toBe(401);
  });

  it.each(['unknown', '', 'fe80::1%lo', '1.2.3.4:80'])(
    'from what is no address, %j, are refused all the same',
    async (address) => {
      const { ask } = await aGuardedService(true, true);
      const headers = { ...wrong, 'x-forwarded-for': address };
      expect((await ask('POST', PREDICT, { body, headers })).status).toBe(401);
    },
  );
});

describe('a service with more queries than it can hold', () => {
  it('refuses some, tells when to come again, and answers the others', async () => {
    const { ask } = await aService(catalogue, { inference: { maxWaiting: 2 } });
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask('POST', PREDICT, { body })));
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200).length).toBe(12 - refused.length);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, body: answer } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(answer.detail).toEqual([{ loc: [], msg: expect.any(String), type: 'overloaded' }]);
    }
    expect((await ask('POST', PREDICT, { body })).status).toBe(200);
  });

  it('tells of a query of which only the beginning was read', async () => {
    const { ask } = await aService(catalogue);
    const long = 'the lamp was awful '.repeat(1000);
    const answer = await ask('POST', `/batch-predictor/language/pre-trained/${MODEL}`, {
      body: { queries: ['short', long] },
    });
    expect(answer.body.metadata).toEqual({ model_inference_time_ms: expect.any(Number), truncated: [1] });
    const medley = { queries: [long, 'short', long], models: [MODEL, OTHER_MODEL] };
    const { metadata } = (await ask('POST', '/medley/language/batch', { body: medley })).body;
    expect(metadata.truncated).toEqual([0, 2]);
  });
});
