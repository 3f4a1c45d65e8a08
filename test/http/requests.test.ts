import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/contract/index.js';
import type { AccessLogEntry } from '../../src/http/index.js';
import { documentedRoutes } from '../../src/http/routes.js';
import { aRequest } from '../jobs/request.js';
import { aService, MODEL, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** Requests before any model is asked: keys, bodies, methods, and the pages without a key. */

const PREDICT = `/predictor/language/pre-trained/${MODEL}`;
const JOBS = '/trainer/language/training-jobs';
const body = { query: 'the lamp was awful' };

const catalogue = useCatalogue();

describe('the API key', () => {
  it.each(documentedRoutes().map(({ method, path }) => [method, path]))(
    'is asked for by %s %s',
    async (method, path) => {
      const { ask } = await aService(catalogue);
      const actual = path.replace('{model_id}', UNKNOWN_ID).replace('{model_name}', MODEL);
      const { status, body } = await ask(method, actual, { as: null });
      expect(status).toBe(401);
      expect(body).toEqual({
        detail: [{ loc: ['header', 'x-api-key'], msg: expect.any(String), type: 'missing' }],
      });
    },
  );

  it('with an unknown key is refused', async () => {
    const { ask } = await aService(catalogue);
    for (const key of ['', 'guess', 'x'.repeat(8000)]) {
      const answer = await ask('POST', PREDICT, { as: null, body, headers: { 'x-api-key': key } });
      expect(answer.status).toBe(401);
    }
  });

  it('may come in a header of any case', async () => {
    const { handler } = await aService(catalogue, {
      handler: { authenticate: () => ({ app_id: 'a', tier: 'basic' }) },
    });
    const headers = { 'X-API-KEY': 'any', 'Content-Type': 'application/json', accept: 'application/json' };
    const request = new Request(`http://service.test${PREDICT}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect((await handler(request)).status).toBe(200);
  });
});

describe.each([
  ['the handler', false],
  ['a server', true],
])('a body through %s', (_, overSocket) => {
  it.each([
    ['no JSON', '{"query": ', 422, 'json_invalid'],
    ['JSON with more behind it', '{"query": "a"} b', 422, 'json_invalid'],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 422, 'json_invalid'],
    ['empty', '', 422, 'missing'],
    ['null', 'null', 422, 'invalid_type'],
  ])('that is %s is refused', async (_name, raw, status, type) => {
    const { ask } = await aService(catalogue, { overSocket });
    const answer = await ask('POST', PREDICT, { body: raw });
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ detail: [{ loc: ['body'], msg: expect.any(String), type }] });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'multipart/form-data'])(
    'of type %s is a 415',
    async (type) => {
      const { ask } = await aService(catalogue, { overSocket });
      const answer = await ask('POST', PREDICT, { body, headers: { 'content-type': type } });
      expect(answer.status).toBe(415);
      expect(answer.body.detail[0].loc).toEqual(['header', 'content-type']);
    },
  );

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'])(
    'of type %s is JSON',
    async (type) => {
      const { ask } = await aService(catalogue, { overSocket });
      expect((await ask('POST', PREDICT, { body, headers: { 'content-type': type } })).status).toBe(200);
    },
  );

  it('up to the limit is read, of one byte more is a 413', async () => {
    const maxBodyBytes = 100;
    const { ask } = await aService(catalogue, { overSocket, handler: { maxBodyBytes } });
    const ofBytes = (bytes: number) => JSON.stringify({ query: '' }).replace('""', `"${'a'.repeat(bytes - 12)}"`);
    expect(Buffer.byteLength(ofBytes(100))).toBe(100);
    expect((await ask('POST', PREDICT, { body: ofBytes(100) })).status).toBe(200);
    const answer = await ask('POST', PREDICT, { body: ofBytes(101) });
    expect(answer.status).toBe(413);
    expect(answer.body.detail[0]).toMatchObject({ loc: ['body'], type: 'too_large' });
    expect((await ask('POST', PREDICT, { body })).status).toBe(200);
  });
});

describe('a query string', () => {
  it.each(documentedRoutes().map(({ method, path }) => [method, path]))(
    'with a parameter that %s %s does not have is refused',
    async (method, path) => {
      const { ask } = await aService(catalogue);
      const actual = path.replace('{model_id}', UNKNOWN_ID).replace('{model_name}', MODEL);
      const answer = await ask(method, `${actual}?colour=red`, method === 'POST' ? { body: {} } : {});
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toContainEqual({
        loc: ['query'],
        msg: expect.stringContaining('"colour"'),
        type: 'unrecognized_keys',
      });
    },
  );
});

describe('a field that is absent', () => {
  it.each<[string, object, (string | number)[], string]>([
    [PREDICT, {}, ['body', 'query'], 'missing; give a string'],
    ['/medley/language', { query: 'a' }, ['body', 'models'], 'missing; give an array'],
    [JOBS, aRequest.model_config, ['body', 'model_config'], 'missing; give an object'],
    [
      JOBS,
      { ...aRequest, model_config: { ...aRequest.model_config, size: undefined } },
      ['body', 'model_config', 'size'],
      'missing; give one of "mini", "base"',
    ],
  ])('of %s is called missing, with what it should hold', async (path, body, loc, msg) => {
    const { ask } = await aService(catalogue);
    const answer = await ask('POST', path, { body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContainEqual({ loc, msg, type: 'missing' });
  });
});

describe('a body full of what is wrong', () => {
  const names = Array.from({ length: 100_000 }, (_, at) => at.toString(36));
  it.each([
    ['a list of numbers', { query: 'a', models: names.map(() => 7) }],
    ['one model over and over', { query: 'a', models: names.map(() => MODEL.slice(0, 4)) }],
    ['unknown fields', Object.fromEntries(names.map((name) => [name, 1]))],
  ])('such as %s gets a short answer', async (_, body) => {
    const { ask } = await aService(catalogue);
    const answer = await ask('POST', '/medley/language', { body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail.length).toBeLessThanOrEqual(100);
    expect(JSON.stringify(answer.body).length).toBeLessThan(20_000);
  });
});

describe('a body that never ends', () => {
  const open = { authenticate: (): Account => ({ app_id: 'acme', tier: 'pro' }) };

  function withBody(body: ReadableStream): Request {
    const headers = { 'x-api-key': 'any', 'content-type': 'application/json' };
    return new Request(`http://service.test${PREDICT}`, { method: 'POST', headers, body, duplex: 'half' });
  }

  it('is a 413 as soon as it is too large', async () => {
    const { handler } = await aService(catalogue, { handler: open });
    let pieces = 0;
    const endless = new ReadableStream({
      pull(out) {
        pieces += 1;
        out.enqueue(new Uint8Array(2 ** 16));
      },
    });
    expect((await handler(withBody(endless))).status).toBe(413);
    expect(pieces).toBeLessThan(25); // 19 pieces are 1.2 MB
  });

  it('is a 408 where it stops coming', async () => {
    const { handler } = await aService(catalogue, { handler: { ...open, bodyTimeoutMs: 1 } });
    const stuck = new ReadableStream({ start: (out) => out.enqueue(Buffer.from('{"query": "never')) });
    expect((await handler(withBody(stuck))).status).toBe(408);
  });
});

describe('a path', () => {
  it.each(['/trainer', '/trainer/language/models/', '/medley/language/x', '/predictor/language/pre-trained/'])(
    'that is not there, %s, is a 404',
    async (path) => {
      const { ask } = await aService(catalogue);
      const { status, body } = await ask('GET', path);
      expect(status).toBe(404);
      expect(body).toEqual({ detail: [{ loc: ['path'], msg: expect.any(String), type: 'not_found' }] });
    },
  );

  it.each([
    ['PUT', '/trainer/language/models', 'GET, HEAD'],
    ['POST', `/trainer/language/models/${UNKNOWN_ID}`, 'GET, HEAD, DELETE'],
    ['GET', PREDICT, 'POST'],
    ['OPTIONS', '/medley/language', 'POST'],
    ['POST', '/health', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
  ])('of other methods answers %s %s with 405', async (method, path, allow) => {
    const { ask } = await aService(catalogue);
    const answer = await ask(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(answer.body).toEqual({ detail: [{ loc: ['method'], msg: expect.any(String), type: 'method' }] });
  });
});

describe('the pages that need no key', () => {
  it('/health answers', async () => {
    const { ask } = await aService(catalogue);
    expect(await ask('GET', '/health', { as: null })).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it('/metrics counts requests by route, method and status, and names no id', async () => {
    const { ask } = await aService(catalogue);
    await ask('POST', PREDICT, { body });
    await ask('POST', PREDICT, { body });
    await ask('GET', '/no/such/path');
    const { body: text } = await ask('GET', '/metrics', { as: null });
    const route = '/predictor/language/pre-trained/{model_name}';
    expect(text).toContain(`orchard_http_requests_total{method="POST",route="${route}",status="200"} 2`);
    expect(text).toContain('orchard_http_requests_total{method="GET",route="none",status="404"} 1');
    expect(text).toContain(
      `orchard_http_request_duration_seconds_count{method="POST",route="${route}",status="200"} 2`,
    );
    expect(text).not.toContain(MODEL);
  });

  it('/docs loads nothing from elsewhere', async () => {
    const { ask } = await aService(catalogue);
    const page = await ask('GET', '/docs', { as: null });
    const links = [...page.body.matchAll(/(?:src|href|url)\s*[=:]\s*["']([^"']+)/g)].map(([, link]) => link);
    expect(links).toEqual(['data:,', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/start.js']);
    for (const link of links.slice(1)) expect((await ask('GET', link, { as: null })).status).toBe(200);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'self'; /);
    expect(policy).not.toMatch(/script-src|https?:/);
    // What Swagger UI needs: its icons, and style attributes.
    expect(policy?.split('; ')).toEqual(
      expect.arrayContaining(["img-src 'self' data:", "style-src 'self' 'unsafe-inline'"]),
    );
    expect(page.body).not.toMatch(/<script>|<style|style=/);
  });
});

describe('the access log', () => {
  it('tells of every request, and never its query texts or key', async () => {
    const entries: AccessLogEntry[] = [];
    const { ask } = await aService(catalogue, { handler: { log: (entry) => entries.push(entry) } });
    const { headers } = await ask('POST', `${PREDICT}?secret=1`, {
      body,
      headers: { 'x-request-id': 'mine-7' },
    });
    expect(headers.get('x-request-id')).toBe('mine-7');
    const refused = await ask('POST', PREDICT, { body, headers: { 'x-api-key': 'guessed' } });
    expect(entries).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        request_id: 'mine-7',
        method: 'POST',
        path: PREDICT,
        status: 422,
        duration_ms: expect.any(Number),
        app_id: 'acme',
      },
      expect.objectContaining({ request_id: refused.headers.get('x-request-id'), status: 401 }),
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/lamp|guessed|secret/);
  });
});
