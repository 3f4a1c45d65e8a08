import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/contract/errors.js';
import { probeHandler } from '../../src/http/create-handler.js';
import { readinessOf } from '../../src/http/probes.js';
import { aService, MODEL, useCatalogue } from './a-service.js';

/** Whether a process can work, as it tells those who send requests to it. */

const catalogue = useCatalogue();
const fine = { otherwise: 'never told', check: async () => undefined };
const broken = {
  otherwise: 'the database does not answer',
  check: () => Promise.reject(new Error('secret')),
};

describe('readiness', () => {
  it('is there while every check succeeds, and else says what is wrong', async () => {
    expect(await readinessOf([])()).toBeUndefined();
    expect(await readinessOf([fine, fine])()).toBeUndefined();
    expect(await readinessOf([fine, broken])()).toBe(broken.otherwise);
  });

  it('is not there where a check never comes to its end', async () => {
    const stuck = { otherwise: 'it hangs', check: () => new Promise(() => undefined) };
    expect(await readinessOf([stuck])()).toBe('it hangs');
  });

  it('is looked at once for many who ask at the same time', async () => {
    let checks = 0;
    const counted = { otherwise: '', check: async () => (checks += 1) };
    const ready = readinessOf([counted]);
    await Promise.all(Array.from({ length: 50 }, () => ready()));
    expect(checks).toBe(1);
  });
});

describe('/ready', () => {
  it('needs no key, and is a 503 that says why where the service can’t work', async () => {
    const { ask } = await aService(catalogue, { handler: { ready: readinessOf([broken]) } });
    const { status, body } = await ask('GET', '/ready', { as: null });
    expect(status).toBe(503);
    expect(body).toEqual({ detail: [{ loc: [], msg: broken.otherwise, type: 'not_ready' }] });
    expect((await ask('GET', '/health', { as: null })).status).toBe(200);
  });

  it('is a 200 where it can', async () => {
    const { ask } = await aService(catalogue, { handler: { ready: readinessOf([fine]) } });
    expect(await ask('GET', '/ready', { as: null })).toMatchObject({
      status: 200,
      body: { status: 'ready' },
    });
    expect((await ask('POST', '/ready', { as: null })).status).toBe(405);
  });
});

describe('a process that serves its probes alone', () => {
  const handler = probeHandler({ ready: readinessOf([fine]) });
  const ask = (path: string, method = 'GET') => handler(new Request(`http://trainer.test${path}`, { method }));

  it.each(['/health', '/ready', '/metrics'])('answers %s', async (path) => {
    expect((await ask(path)).status).toBe(200);
    expect((await ask(path, 'POST')).status).toBe(405);
  });

  it.each(['/', '/docs', '/openapi.json', '/trainer/language/models'])('has nothing at %s', async (path) => {
    const response = await ask(path);
    expect(response.status).toBe(404);
    expect(JSON.parse(await response.text()).detail[0].msg).toContain('this process only trains');
  });
});

describe('a service whose database is away', () => {
  it('answers 503 with when to come again, and tells nothing of the database', async () => {
    const away = () => Promise.reject(new StorageError('db.internal refuses', { isUnavailable: true }));
    const { ask } = await aService(catalogue, { handler: { rateLimiter: { consume: away } } });
    const answer = await ask('POST', `/predictor/language/pre-trained/${MODEL}`, { body: { query: 'a' } });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body.detail).toEqual([{ loc: [], msg: expect.any(String), type: 'unavailable' }]);
    expect(JSON.stringify(answer.body)).not.toContain('db.internal');
  });
});
