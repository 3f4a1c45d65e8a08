import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { hashedKeys, newApiKey } from '../../src/http/index.js';
import { aRequest } from '../jobs/request.js';
import { aService, MODEL, OTHER_MODEL, useCatalogue } from './a-service.js';

/** The service as curl asks it: another client than the one in Node, and what the documentation shows. */

const hasCurl = spawnSync('curl', ['--version']).status === 0;
const { apiKey, stored } = newApiKey({ app_id: 'acme', tier: 'pro' });

/** What `--data @-` sends. */
const tooLarge = 'a'.repeat(1_300_000);

const catalogue = useCatalogue();

/** @returns what curl does with a path of a fresh service. */
async function aCurl() {
  const service = await aService(catalogue, {
    overSocket: true,
    handler: { authenticate: hashedKeys([stored]) },
  });
  return async (path: string, ...args: readonly string[]) => {
    const options = ['--silent', '--show-error', '--max-time', '20', '--write-out', '\n%{http_code}'];
    const running = promisify(execFile)('curl', [...options, ...args, service.url + path]);
    running.child.stdin?.on('error', () => undefined).end(tooLarge);
    const { stdout } = await running;
    const end = stdout.lastIndexOf('\n');
    return { status: Number(stdout.slice(end)), body: JSON.parse(stdout.slice(0, end) || 'null') };
  };
}

const key = ['--header', `x-api-key: ${apiKey}`];
const json = ['--header', 'Content-Type: application/json', '--header', 'accept: application/json'];
const post = (body: unknown) => ['--data', typeof body === 'string' ? body : JSON.stringify(body)];
const query = 'the driver was kind';

describe.skipIf(!hasCurl)('curl', () => {
  it('asks a pretrained model, a batch and a medley', async () => {
    const curl = await aCurl();
    const one = await curl(`/predictor/language/pre-trained/${MODEL}`, ...key, ...json, ...post({ query }));
    expect(one).toEqual({
      status: 200,
      body: {
        data: { labels: expect.any(Array), scores: expect.any(Array) },
        metadata: { model_inference_time_ms: expect.any(Number) },
      },
    });
    const path = `/batch-predictor/language/pre-trained/${MODEL}`;
    const batch = await curl(path, ...key, ...json, ...post({ queries: [query, 'it broke'] }));
    expect(batch.body.data).toEqual([one.body.data, expect.any(Object)]);
    const models = [MODEL, OTHER_MODEL];
    const medley = await curl('/medley/language', ...key, ...json, ...post({ query, models }));
    expect(medley.body.data).toEqual({ [MODEL]: one.body.data, [OTHER_MODEL]: expect.any(Object) });
  });

  it('creates a training job, reads, lists, cancels and deletes it', async () => {
    const curl = await aCurl();
    const created = await curl('/trainer/language/training-jobs', ...key, ...json, ...post(aRequest));
    expect(created).toEqual({ status: 200, body: { id: expect.any(String) } });
    const { id } = created.body;
    const job = await curl(`/trainer/language/training-jobs/${id}`, ...key);
    expect(job.body.data.model.id).toBe(id);
    const list = await curl('/trainer/language/models?modelType=binary-text-classification&limit=1', ...key);
    expect(list.body.data).toHaveLength(1);
    for (const path of ['training-jobs', 'models']) {
      const gone = await curl(`/trainer/language/${path}/${id}`, ...key, '--request', 'DELETE');
      expect(gone).toEqual({
        status: 200,
        body: { detail: [expect.objectContaining({ loc: ['path', 'model_id'] })] },
      });
    }
  });

  it.each<[string, number, readonly string[]]>([
    ['no key', 401, [...json, ...post({ query })]],
    ["curl's own content type", 415, [...key, ...post({ query })]],
    ['no JSON', 422, [...key, ...json, ...post('{')]],
    ['no query', 422, [...key, ...json, ...post({})]],
    ['GET', 405, [...key]],
    ['a body of 1.3 MB', 413, [...key, ...json, '--data', '@-']],
  ])('explains in the documented shape what is wrong with %s', async (_, status, args) => {
    const curl = await aCurl();
    const answer = await curl(`/predictor/language/pre-trained/${MODEL}`, ...args);
    expect(answer).toEqual({
      status,
      body: { detail: [{ loc: expect.any(Array), msg: expect.any(String), type: expect.any(String) }] },
    });
  });

  it('may send a body in pieces, over HTTP/1.0, and a head alone', async () => {
    const curl = await aCurl();
    const path = `/predictor/language/pre-trained/${MODEL}`;
    const chunked = ['--header', 'transfer-encoding: chunked'];
    expect((await curl(path, ...key, ...json, ...chunked, ...post({ query }))).status).toBe(200);
    expect((await curl(path, ...key, ...json, '--http1.0', ...post({ query }))).status).toBe(200);
    expect(await curl('/trainer/language/models', ...key, '--head', '--output', '/dev/null')).toEqual({
      status: 200,
      body: null,
    });
  });
});
