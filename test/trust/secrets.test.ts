import { execFile, spawn } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { folderModels, hubModels, memoryStorage, Predictor } from 'orchard-nlp';
import { newApiKey } from 'orchard-nlp/http';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';

/** Secrets that are given to the service, the command and the library come out of none of them. */

const command = fileURLToPath(new URL('../../dist/orchard.js', import.meta.url));
const QUERY = 'zzquerymark';
const WRONG_KEY = 'zzkeymark';
const PASSWORD = 'zzpasswordmark';
const SIGNATURE = 'zzsignaturemark';
const TOKEN = 'zztokenmark';
const MODEL = 'customer-review';

/** A server that answers with this status, until the test has ended. */
async function answering(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end());
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

it('keys, query texts, passwords and signatures are in no answer, log, metric or complaint of a service', async () => {
  const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });
  const operator = newApiKey({ app_id: 'operator', tier: 'pro' });
  const args = ['serve', '--port', '0', '--data', temporaryDirectory(), '--allow-private-addresses'];
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...process.env, ORCHARD_KEYS: JSON.stringify([stored]), HF_TOKEN: TOKEN },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: string[] = [];
  child.stdout.on('data', (data: Buffer) => said.push(data.toString()));
  let url = '';
  for await (const line of createInterface(child.stderr)) {
    said.push(line);
    url = /Orchard answers at (\S+);/.exec(line)?.[1] ?? '';
    if (url !== '') break;
  }
  child.stderr.on('data', (data: Buffer) => said.push(data.toString()));

  async function ask(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    said.push(text, JSON.stringify([...response.headers]));
    return { status: response.status, text };
  }
  const predict = `/predictor/language/pre-trained/${MODEL}`;
  const query = { query: QUERY };
  expect((await ask('POST', predict, query)).status).toBe(200);
  expect((await ask('POST', predict, query, { 'x-api-key': WRONG_KEY })).status).toBe(401);
  expect((await ask('POST', predict, query, { 'x-api-key': operator.apiKey })).status).toBe(401);
  expect((await ask('POST', `${predict}?query=${QUERY}`, query)).status).toBe(422);
  expect((await ask('POST', predict, { query: QUERY.repeat(10_000) })).status).toBe(422);
  expect((await ask('POST', predict, { query: [QUERY] })).status).toBe(422);
  expect((await ask('POST', `${predict}-none`, query)).status).toBe(404);
  expect((await ask('POST', predict, query, { 'content-type': 'text/plain' })).status).toBe(415);

  const jobs = '/trainer/language/training-jobs';
  const model_config = { name: 'secret', type: 'binary-text-classification', family: 'Papaya', size: 'mini' };
  const withPassword = { dataset_url: `https://someone:${PASSWORD}@example.com/a.zip`, model_config };
  expect((await ask('POST', jobs, withPassword)).status).toBe(422);
  const broken = { dataset_url: `https//someone:${PASSWORD}@example.com/a.zip`, model_config };
  expect((await ask('POST', jobs, broken)).status).toBe(422);
  const signed = { dataset_url: `${await answering(403)}/a.zip?signature=${SIGNATURE}`, model_config };
  const { id } = JSON.parse((await ask('POST', jobs, signed)).text);
  const statusOf = async () => JSON.parse((await ask('GET', `${jobs}/${id}`)).text).data.status;
  await expect.poll(statusOf, { timeout: 60_000, interval: 200 }).toBe('ERROR');
  expect(said.join('\n')).toContain('403');
  await ask('GET', '/metrics');
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  const secrets = [QUERY, WRONG_KEY, PASSWORD, SIGNATURE, TOKEN, apiKey, operator.apiKey];
  expect(secrets.filter((secret) => said.join('\n').includes(secret))).toEqual([]);
});

it('the token of a Hub is in no error, whatever the server answers and however it is written', async () => {
  const errors: unknown[] = [];
  for (const status of [401, 403, 404, 429, 500]) {
    const loader = hubModels({
      token: TOKEN,
      endpoint: await answering(status),
      cacheDirectory: temporaryDirectory(),
      retries: 0,
    });
    errors.push(await loader.load('someone/model').catch((thrown: unknown) => thrown));
  }
  for (const token of [`${TOKEN}\nx`, `${TOKEN} x`, `\u0000${TOKEN}`, `${TOKEN}é`]) {
    try {
      const loader = hubModels({ token, endpoint: await answering(200), cacheDirectory: temporaryDirectory() });
      errors.push(await loader.load('someone/model').catch((thrown: unknown) => thrown));
    } catch (thrown) {
      errors.push(thrown);
    }
  }
  expect(errors.every((error) => error instanceof Error)).toBe(true);
  expect(inspect(errors, { depth: 12, showHidden: true })).not.toContain(TOKEN);
});

it('the command prints no token and no password of a database', async () => {
  const run = async (args: readonly string[], env: Record<string, string> = {}) => {
    const failed: unknown = await promisify(execFile)(process.execPath, [command, ...args], {
      env: { ...process.env, ...env },
      timeout: 30_000,
    }).catch((thrown: unknown) => thrown);
    if (!(failed instanceof Error) || !('stderr' in failed)) throw new Error(`${args[0]} did not fail`);
    return String(failed.stderr);
  };
  const database = `postgres://someone:${PASSWORD}@127.0.0.1:1/none`;
  const printed = [
    await run(['erase', 'acme', '--yes', '--database', database]),
    await run(['erase', 'acme', '--yes', '--database', `postgres:/someone:${PASSWORD}@127.0.0.1:1/none`]),
    await run(['predict', 'someone/model', 'a text'], { HF_TOKEN: `${TOKEN}\nx` }),
    await run(['predict', 'someone/model', 'a text'], { HF_TOKEN: TOKEN, HF_ENDPOINT: await answering(500) }),
  ];
  expect(printed.every((text) => text.length > 0)).toBe(true);
  expect([PASSWORD, TOKEN].filter((secret) => printed.join('\n').includes(secret))).toEqual([]);
});

it('query texts are in no trace, statistic or error of a predictor', async () => {
  const seen: unknown[] = [];
  const note = (message: unknown) => void seen.push(structuredClone(message));
  const channels = ['predict', 'queue', 'load', 'tokenize', 'run', 'decode'].flatMap((stage) =>
    ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((event) => `tracing:orchard.${stage}:${event}`),
  );
  for (const channel of channels) diagnostics.subscribe(channel, note);
  onTestFinished(() => {
    for (const channel of channels) diagnostics.unsubscribe(channel, note);
  });
  const folder = await tinyCatalogue(temporaryDirectory(), { [MODEL]: ['a', 'b', 'c'] });
  const predictor = new Predictor({ modelLoader: folderModels(folder), storage: memoryStorage() });
  expect((await predictor.predictPretrained(MODEL, QUERY)).isOk()).toBe(true);
  const failures = [
    await predictor.predictPretrained(MODEL, QUERY.repeat(20_000)),
    await predictor.predictPretrained(MODEL, QUERY, { deadlineMs: -1 }),
    await predictor.predictPretrained('none', QUERY),
    await predictor.predictPretrained(MODEL, QUERY, { signal: AbortSignal.abort() }),
    await predictor.predictPretrainedBatch(MODEL, Array(30).fill(QUERY)),
  ];
  seen.push(...failures.map((failure) => failure._unsafeUnwrapErr()), predictor.stats(), predictor.usage());
  await predictor.close();
  expect(seen.length).toBeGreaterThan(failures.length + 6);
  expect(inspect(seen, { depth: 12, showHidden: true })).not.toContain(QUERY);
});
