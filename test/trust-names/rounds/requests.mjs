/**
 * Requests to a service with such names wherever a client can write one.
 * @param argv.2 a folder with a pretrained model of each name
 */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { folderModels, memoryStorage } from 'orchard-nlp';
import { accountServices, calendarQuota, createHandler, hashedKeys, newApiKey, serve } from 'orchard-nlp/http';
import { RateLimiterMemory } from 'rate-limiter-flexible';

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
const [folder] = process.argv.slice(2);
const keys = names.map((app_id) => newApiKey({ app_id, tier: 'pro' }));
const services = accountServices({
  storage: memoryStorage(),
  modelLoader: folderModels(folder),
  inference: { isolation: 'inline' },
});
const handler = createHandler({
  ...services,
  authenticate: hashedKeys(keys.map(({ stored }) => stored)),
  quota: calendarQuota({ calls: 10_000, per: 'day' }),
  rateLimiter: new RateLimiterMemory({ points: 10_000, duration: 60 }),
  wrongKeyLimiter: new RateLimiterMemory({ points: 10_000, duration: 60 }),
});
const server = await serve(handler, { port: 0 });

/** @param headers names and values in turn, sent as they are. */
async function ask(method, path, { body, headers = [], key = keys[0].apiKey } = {}) {
  const { host } = new URL(server.url);
  const sent = [...['host', host, 'x-api-key', key, 'content-type', 'application/json'], ...headers];
  const response = await new Promise((resolve, reject) => {
    const request = httpRequest(server.url + path, { method, headers: [...sent, 'connection', 'close'] }, resolve);
    request.on('error', reject);
    request.end(body);
  });
  const answer = await text(response);
  const { statusCode: status } = response;
  assert(status < 500, `${method} ${path}: ${status} ${answer}`);
  return { status, answer };
}

const predict = '/predictor/language/pre-trained';
for (const [at, name] of names.entries()) {
  const key = keys[at].apiKey;
  const headers = [name, name, 'x-request-id', name];
  for (const path of ['', '/docs', '/page', '/trainer/language/models', '/trainer/language/training-jobs']) {
    assert.equal((await ask('GET', `${path}/${name}`, { key, headers })).status, 404);
  }
  assert.equal((await ask('GET', '/trainer/language/models', { key, headers })).status, 200);
  assert.equal((await ask('GET', `/trainer/language/models?${name}=1&${name}[${name}]=2`, { key })).status, 422);
  assert.equal((await ask('GET', '/trainer/language/models', { key: name })).status, 401);

  const query = `${name} is ${name}`;
  const fields = [`"${name}":{"polluted":1}`, `"${name}":"${name}"`, `"constructor":{"prototype":{"${name}":1}}`];
  for (const field of fields) {
    const bodies = [`{${field},"query":"${query}"}`, `{"${name}":{"query":"${query}"}}`, `{"query":{${field}}}`];
    for (const body of bodies) {
      assert.equal((await ask('POST', `${predict}/${name}`, { key, body })).status, 422);
      assert.equal((await ask('POST', '/trainer/language/training-jobs', { key, body })).status, 422);
    }
  }
  const { status, answer } = await ask('POST', `${predict}/${name}`, {
    key,
    body: JSON.stringify({ query }),
  });
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(answer).data.labels.toSorted(), ['__proto__', 'constructor', 'toString']);
}

const body = JSON.stringify({ query: 'a', models: names });
const medley = JSON.parse((await ask('POST', '/medley/language', { body })).answer);
assert.deepEqual(Object.keys(medley.data).sort(), [...names].sort());

const { answer: figures } = await ask('GET', '/metrics');
for (const name of names) assert(figures.includes(`app_id="${name}"`), `/metrics counts the calls of ${name}`);
// Node's server would refuse such methods; other servers may not.
for (const method of names) assert((await handler(new Request(`${server.url}/health`, { method }))).status < 500);

await server.close();
await services.close();
