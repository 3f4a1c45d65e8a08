import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { addRules } from '../../src/models/index.js';
import { aService, MODEL, OTHER_MODEL, type ServiceInTest, UNKNOWN_ID, useCatalogue } from './a-service.js';

/** The specification's predictor, batch predictor and medley, table by table, over HTTP. */

const catalogue = useCatalogue();

const query = 'the lamp was awful';
/** Texts that a model scores differently. */
const queriesOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `${at % 2 === 0 ? 'the driver was kind' : '?'} ${'awful '.repeat(at)}`);

const metadata = { model_inference_time_ms: expect.any(Number) };

/** Three labels with their probabilities, highest first. */
function expectClassification(result: { labels: string[]; scores: number[] }, labels: readonly string[]) {
  expect(Object.keys(result).sort()).toEqual(['labels', 'scores']);
  expect([...result.labels].sort()).toEqual([...labels].sort());
  expect(result.scores).toEqual([...result.scores].sort((a, b) => b - a));
  expect(result.scores.reduce((sum, score) => sum + score, 0)).toBeCloseTo(1, 5);
}

const sentiments = ['negative', 'neutral', 'positive'];
const emotions = ['angry', 'calm', 'glad'];

/** The path of the operation on a pretrained model and on a custom one, each of which exists. */
const kinds: [string, (service: ServiceInTest) => Promise<string>][] = [
  ['a pretrained model', async () => `pre-trained/${MODEL}`],
  ['a custom model', async ({ aReadyModel }) => `model/${await aReadyModel()}`],
];

describe.each([
  ['the handler', false],
  ['a server', true],
])('through %s', (_, overSocket) => {
  const start = () => aService(catalogue, { overSocket });

  describe.each(kinds)('%s', (_name, modelPath) => {
    it('answers a query with labels and scores, and the time that it took', async () => {
      const service = await start();
      const path = `/predictor/language/${await modelPath(service)}`;
      for (const as of ['pro', 'basic'] as const) {
        if (as === 'basic' && path.includes('/model/')) continue;
        const { status, body } = await service.ask('POST', path, { body: { query }, as });
        expect(status).toBe(200);
        expect(body).toEqual({ data: expect.any(Object), metadata });
        expectClassification(body.data, sentiments);
      }
    });

    it('answers 1 to 20 queries in their order, as it answers each alone', async () => {
      const service = await start();
      const model = await modelPath(service);
      for (const queries of [queriesOf(1), queriesOf(20)]) {
        const { status, body } = await service.ask('POST', `/batch-predictor/language/${model}`, {
          body: { queries },
        });
        expect(status).toBe(200);
        expect(body).toEqual({ data: expect.any(Array), metadata });
        expect(body.data).toHaveLength(queries.length);
        for (const [at, query] of queries.entries()) {
          const { data } = (await service.ask('POST', `/predictor/language/${model}`, { body: { query } })).body;
          expect(body.data[at].labels).toEqual(data.labels);
          for (const [rank, score] of data.scores.entries()) {
            expect(body.data[at].scores[rank]).toBeCloseTo(score, 5);
          }
        }
        expect(new Set(body.data.map(({ scores }: { scores: number[] }) => scores[0])).size).toBe(queries.length);
      }
    });

    it.each<[string, string, unknown, (string | number)[]]>([
      ['predictor', 'no query', {}, ['body', 'query']],
      ['predictor', 'a query that is a number', { query: 7 }, ['body', 'query']],
      ['predictor', 'a query that is null', { query: null }, ['body', 'query']],
      ['predictor', 'queries', { queries: [query] }, ['body', 'query']],
      ['predictor', 'an unknown field', { query, top_k: 3 }, ['body']],
      ['predictor', 'a body that is a list', [query], ['body']],
      ['batch-predictor', 'no queries', {}, ['body', 'queries']],
      ['batch-predictor', 'an empty list', { queries: [] }, ['body', 'queries']],
      ['batch-predictor', '21 queries', { queries: queriesOf(21) }, ['body', 'queries']],
      ['batch-predictor', 'queries that are one text', { queries: query }, ['body', 'queries']],
      ['batch-predictor', 'a query that is a number', { queries: [query, 7] }, ['body', 'queries', 1]],
    ])('of the %s refuses %s', async (area, _what, body, loc) => {
      const service = await start();
      const path = `/${area}/language/${await modelPath(service)}`;
      const answer = await service.ask('POST', path, { body });
      expect(answer.status).toBe(422);
      expect(answer.body).toEqual({ detail: expect.any(Array) });
      expect(answer.body.detail).toContainEqual({ loc, msg: expect.any(String), type: expect.any(String) });
    });
  });

  it.each([
    ['/predictor/language/pre-trained', 'no-such-model', 'model_name', { query }],
    ['/predictor/language/pre-trained', '..%2F..%2Fetc', 'model_name', { query }],
    ['/predictor/language/model', UNKNOWN_ID, 'model_id', { query }],
    ['/predictor/language/model', MODEL, 'model_id', { query }],
    ['/batch-predictor/language/pre-trained', 'no-such-model', 'model_name', { queries: [query] }],
    ['/batch-predictor/language/model', UNKNOWN_ID, 'model_id', { queries: [query] }],
    ['/medley/language/batch/pre-trained', 'no-such-model', 'model_name', { queries: [query] }],
  ])('%s/%s names no model', async (area, name, parameter, body) => {
    const { ask } = await start();
    const answer = await ask('POST', `${area}/${name}`, { body });
    expect(answer.status).toBe(404);
    expect(answer.body.detail).toEqual([{ loc: ['path', parameter], msg: expect.any(String), type: 'not_found' }]);
    expect(answer.body.detail[0].msg).not.toContain(catalogue.directory);
  });

  it("does not answer with another account's model, nor with a deleted one", async () => {
    const { ask, aReadyModel } = await start();
    const id = await aReadyModel();
    for (const [area, body] of [
      ['predictor', { query }],
      ['batch-predictor', { queries: [query] }],
    ] as const) {
      const path = `/${area}/language/model/${id}`;
      expect((await ask('POST', path, { body, as: 'stranger' })).status).toBe(404);
      expect((await ask('POST', path, { body })).status).toBe(200);
    }
    await ask('DELETE', `/trainer/language/models/${id}`);
    expect((await ask('POST', `/predictor/language/model/${id}`, { body: { query } })).status).toBe(404);
  });

  it('answers 409 with a model that is not READY', async () => {
    const { ask, host } = await start();
    const { id } = (
      await ask('POST', '/trainer/language/training-jobs', {
        body: {
          dataset_url: 'https://example.com/reviews.zip',
          model_config: { name: 'a', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
        },
      })
    ).body;
    await host.nextRun();
    const { status, body } = await ask('POST', `/predictor/language/model/${id}`, { body: { query } });
    expect(status).toBe(409);
    expect(body.detail).toEqual([
      { loc: ['path', 'model_id'], msg: expect.stringContaining('RUNNING'), type: 'model_not_ready' },
    ]);
  });

  describe('the medley', () => {
    it('maps each model to its result', async () => {
      const { ask } = await start();
      const body = { query, models: [OTHER_MODEL, MODEL] };
      const answer = await ask('POST', '/medley/language', { body });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ data: expect.any(Object), metadata });
      expect(Object.keys(answer.body.data)).toEqual([OTHER_MODEL, MODEL]);
      expectClassification(answer.body.data[MODEL], sentiments);
      expectClassification(answer.body.data[OTHER_MODEL], emotions);
    });

    it('maps each model to a list of results for 50 queries', async () => {
      const { ask } = await start();
      const body = { queries: queriesOf(50), models: [MODEL, OTHER_MODEL] };
      const answer = await ask('POST', '/medley/language/batch', { body });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ data: expect.any(Object), metadata });
      expect(answer.body.data[MODEL]).toHaveLength(50);
      expectClassification(answer.body.data[MODEL][49], sentiments);
      expectClassification(answer.body.data[OTHER_MODEL][0], emotions);
    });

    it('takes a batch for one pretrained model', async () => {
      const { ask } = await start();
      const path = `/medley/language/batch/pre-trained/${MODEL}`;
      const answer = await ask('POST', path, { body: { queries: queriesOf(20) } });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ data: expect.any(Array), metadata });
      expect(answer.body.data).toHaveLength(20);
    });

    it('names the model that fails, and keeps what the others answered', async () => {
      const { ask } = await start();
      const body = { query, models: [MODEL, 'no-such-model'] };
      const answer = await ask('POST', '/medley/language', { body });
      expect(answer.status).toBe(404);
      expect(answer.body.detail).toEqual([
        { loc: ['body', 'models', 'no-such-model'], msg: expect.any(String), type: 'not_found' },
      ]);
      expectClassification(answer.body.data[MODEL], sentiments);
    });

    it.each<[string, string, unknown, (string | number)[]]>([
      ['', 'no models', { query }, ['body', 'models']],
      ['', 'an empty list of models', { query, models: [] }, ['body', 'models']],
      ['', 'a model twice', { query, models: [MODEL, MODEL] }, ['body', 'models', 1]],
      ['', 'no query', { models: [MODEL] }, ['body', 'query']],
      ['/batch', '51 queries', { queries: queriesOf(51), models: [MODEL] }, ['body', 'queries']],
      ['/batch', 'no queries', { queries: [], models: [MODEL] }, ['body', 'queries']],
      ['/batch', 'a query that is null', { queries: [null], models: [MODEL] }, ['body', 'queries', 0]],
      [`/batch/pre-trained/${MODEL}`, '21 queries', { queries: queriesOf(21) }, ['body', 'queries']],
    ])('%s refuses %s', async (path, _what, body, loc) => {
      const { ask } = await start();
      const answer = await ask('POST', `/medley/language${path}`, { body });
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toContainEqual({ loc, msg: expect.any(String), type: expect.any(String) });
    });
  });

  it.each([
    [`/batch-predictor/language/pre-trained/${MODEL}`],
    [`/batch-predictor/language/model/${UNKNOWN_ID}`],
    ['/medley/language'],
    ['/medley/language/batch'],
    [`/medley/language/batch/pre-trained/${MODEL}`],
  ])('%s needs the pro tier, whatever the body', async (path) => {
    const { ask } = await start();
    for (const body of [{ queries: [query] }, { query, models: [MODEL] }, 'no JSON']) {
      const answer = await ask('POST', path, { body, as: 'basic' });
      expect(answer.status).toBe(403);
      expect(answer.body).toEqual({
        detail: [{ loc: expect.any(Array), msg: expect.stringContaining('pro tier'), type: 'tier' }],
      });
    }
  });
});

describe('a model with rules', () => {
  const ruled = useCatalogue();
  beforeAll(() => addRules(join(ruled.directory, MODEL), [{ label: 'neutral', terms: ['lamp'] }]));

  it('answers with them, in the shape of any other model', async () => {
    const { ask } = await aService(ruled);
    const one = await ask('POST', `/predictor/language/pre-trained/${MODEL}`, { body: { query } });
    expectClassification(one.body.data, sentiments);
    expect(one.body.data).toMatchObject({ scores: [1, 0, 0] });
    expect(one.body.data.labels[0]).toBe('neutral');
    const batch = { body: { queries: [query] } };
    const { body: many } = await ask('POST', `/batch-predictor/language/pre-trained/${MODEL}`, batch);
    expect(many.data).toEqual([one.body.data]);
    const medley = await ask('POST', '/medley/language', { body: { query, models: [MODEL, OTHER_MODEL] } });
    expect(medley.body.data[MODEL]).toEqual(one.body.data);
    const { body: lists } = await ask('POST', `/medley/language/batch/pre-trained/${MODEL}`, batch);
    expect(lists.data).toEqual([one.body.data]);
  });
});

describe('a model whose files are spoiled', () => {
  const spoiled = useCatalogue();
  beforeAll(() => rm(join(spoiled.directory, MODEL, 'config.json')));

  /** A service whose first model has no configuration, and what it logs as errors. */
  async function aSpoiledService() {
    const errors: unknown[] = [];
    return { ...(await aService(spoiled, { handler: { log: ({ error }) => errors.push(error) } })), errors };
  }

  it('is a 500 that tells nothing of the inside of the service; the log does', async () => {
    const { ask, errors } = await aSpoiledService();
    const answer = await ask('POST', `/predictor/language/pre-trained/${MODEL}`, { body: { query } });
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ detail: [{ loc: [], msg: expect.any(String), type: 'server_error' }] });
    expect(JSON.stringify(answer.body)).not.toContain('config.json');
    expect(errors).toEqual([expect.stringContaining('config.json')]);
  });

  it('is named by the medley, with the answers of the others', async () => {
    const { ask, errors } = await aSpoiledService();
    const body = { query, models: [OTHER_MODEL, MODEL] };
    const answer = await ask('POST', '/medley/language', { body });
    expect(answer.status).toBe(500);
    expect(answer.body.detail).toEqual([
      { loc: ['body', 'models', MODEL], msg: expect.any(String), type: 'server_error' },
    ]);
    expectClassification(answer.body.data[OTHER_MODEL], emotions);
    expect(errors).toEqual([expect.stringContaining('config.json')]);
  });
});
