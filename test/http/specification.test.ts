import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import { type ModelType, type TrainingStats, trainingJobStatuses } from '../../src/contract/index.js';
import { statsAfter } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { smallModel } from '../support/small-models.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { aService, MODEL, useCatalogue } from './a-service.js';

/** What the tables of docs/service.md name in addition to routes: fields, enumerations, limits and results of every kind. */

const JOBS = '/trainer/language/training-jobs';
const MODELS = '/trainer/language/models';

const catalogue = useCatalogue();

const modelConfig = (change: object) => ({ ...aRequest.model_config, ...change });

describe('model configuration', () => {
  it.each<[ModelType, string]>([
    ['binary-text-classification', 'Papaya'],
    ['multiclass-text-classification', 'Papaya'],
    ['multilabel-text-classification', 'Papaya'],
    ['sequence-labeling', 'Grapefruit'],
    ['named-entity-recognition', 'Grapefruit'],
    ['question-answering', 'Dragonfruit'],
  ])('takes type %s with family %s in sizes mini and base', async (type, family) => {
    const { ask } = await aService(catalogue);
    for (const size of ['mini', 'base']) {
      const body = { ...aRequest, model_config: modelConfig({ type, family, size }) };
      const { id } = (await ask('POST', JOBS, { body })).body;
      expect((await ask('GET', `${MODELS}/${id}`)).body.data).toMatchObject({ id, type });
    }
  });

  it.each(['name', 'type', 'family', 'size'])('requires %s', async (field) => {
    const { ask } = await aService(catalogue);
    const body = { ...aRequest, model_config: modelConfig({ [field]: undefined }) };
    const answer = await ask('POST', JOBS, { body });
    expect(answer.status).toBe(422);
    const loc = ['body', 'model_config', field];
    expect(answer.body.detail).toContainEqual(expect.objectContaining({ loc }));
  });

  it.each(['a', 'a'.repeat(24), 'my-reviews-2'])('takes the name %s', async (name) => {
    const { ask } = await aService(catalogue);
    const { status, body } = await ask('POST', JOBS, {
      body: { ...aRequest, model_config: modelConfig({ name }) },
    });
    expect(status).toBe(200);
    expect((await ask('GET', `${MODELS}/${body.id}`)).body.data.name).toBe(name);
  });

  it.each(['', 'a b', 'Übung', 'naïve', 'a!', '.', '../a'])('refuses the name %j', async (name) => {
    const { ask } = await aService(catalogue);
    const { status } = await ask('POST', JOBS, {
      body: { ...aRequest, model_config: modelConfig({ name }) },
    });
    expect(status).toBe(422);
  });
});

describe('training configuration', () => {
  it.each([
    ['model_config', { ...aRequest, model_config: modelConfig({ preprocessing: { lowercase: false } }) }],
    ['training_config', { ...aRequest, training_config: { preprocessing: { lowercase: false } } }],
  ])('takes preprocessing in %s alone', async (_, body) => {
    const { ask, host } = await aService(catalogue);
    expect((await ask('POST', JOBS, { body })).status).toBe(200);
    const { model_config, training_config } = (await host.nextRun()).spec;
    const preprocessing = [model_config.preprocessing, training_config?.preprocessing];
    expect(preprocessing).toContainEqual({ lowercase: false });
  });

  it('may be empty', async () => {
    const { ask } = await aService(catalogue);
    expect((await ask('POST', JOBS, { body: { ...aRequest, training_config: {} } })).status).toBe(200);
  });
});

describe('training statistics', () => {
  const topk = { 1: 0.5, 3: 0.6, 5: 0.7, 10: 0.8, 20: 0.9, 100: 1 };
  const { elapsed_time, training } = statsAfter(1).metrics;
  it.each<[string, TrainingStats]>([
    ['classification', statsAfter(3)],
    [
      'classification by f1',
      {
        ...statsAfter(1),
        main_eval_metric: 'f1',
        metrics: { elapsed_time, training, validation: { accuracy: [0.9], f1: [0.8] } },
      },
    ],
    [
      'sequence labelling',
      {
        ...statsAfter(1),
        main_eval_metric: 'f1',
        metrics: { elapsed_time, training, validation: { f1: [0.8] } },
      },
    ],
    [
      'question answering',
      { batch_size: 32, epoch: 1, metrics: { elapsed_time, training, validation: { topk: [topk] } } },
    ],
  ])('of %s are shown as they are', async (_, stats) => {
    const { ask, host, services } = await aService(catalogue);
    const { id } = (await ask('POST', JOBS, { body: aRequest })).body;
    await (await host.nextRun()).finish(stats);
    await services.trainer({ app_id: 'acme', tier: 'pro' }).waitForTrainingJob(id);
    expect((await ask('GET', `${JOBS}/${id}`)).body.data.training_stats).toEqual(stats);
  });
});

describe('the status of a training job', () => {
  it('is found by every value that it can have and keep', async () => {
    const { ask, host, services, aReadyModel } = await aService(catalogue);
    const trainer = services.trainer({ app_id: 'acme', tier: 'pro' });
    const create = async () => (await ask('POST', JOBS, { body: aRequest })).body.id;
    const READY = await aReadyModel();
    const ERROR = await create();
    (await host.nextRun()).fail(new TrainingError('the loss is no number'));
    await trainer.waitForTrainingJob(ERROR);
    const CANCELLED = await create();
    await host.nextRun();
    await ask('DELETE', `${JOBS}/${CANCELLED}`);
    const DELETED = await create();
    await host.nextRun();
    await ask('DELETE', `${MODELS}/${DELETED}`);
    const RUNNING = await create();
    await host.nextRun();
    const QUEUED = await create();
    const ids: Readonly<Record<string, string>> = { READY, ERROR, CANCELLED, DELETED, RUNNING, QUEUED };
    for (const status of trainingJobStatuses) {
      const { data } = (await ask('GET', `${MODELS}?trainingStatus=${status}`)).body;
      const found = data.map(({ id }: { id: string }) => id);
      expect(found).toEqual(status === 'CREATED' ? [] : [ids[status]]);
    }
  });

  it('is RUNNING for one job of each account', async () => {
    const { ask, host } = await aService(catalogue);
    for (const as of ['pro', 'stranger'] as const) {
      for (const expected of ['RUNNING', 'QUEUED']) {
        const { id } = (await ask('POST', JOBS, { body: aRequest, as })).body;
        if (expected === 'RUNNING') await host.nextRun();
        expect((await ask('GET', `${JOBS}/${id}`, { as })).body.data.status).toBe(expected);
      }
    }
  });
});

describe('the medley', () => {
  const labels = ['a', 'b', 'c'] as const;
  const names = Array.from({ length: 12 }, (_, at) => `model-${at}`);
  const many = useCatalogue((folder) => tinyCatalogue(folder, Object.fromEntries(names.map((name) => [name, labels]))));

  it.each([
    ['/medley/language', { query: 'a' }],
    ['/medley/language/batch', { queries: ['a', 'b'] }],
  ])('%s asks 11 models, and refuses more', async (path, queries) => {
    const { ask } = await aService(many);
    const eleven = await ask('POST', path, { body: { ...queries, models: names.slice(0, 11) } });
    expect(eleven.status).toBe(200);
    expect(Object.keys(eleven.body.data)).toEqual(names.slice(0, 11));
    const twelve = await ask('POST', path, { body: { ...queries, models: names } });
    expect(twelve.status).toBe(422);
    expect(twelve.body.detail).toEqual([
      { loc: ['body', 'models'], msg: 'at most 11 models per medley', type: 'too_big' },
    ]);
  });
});

describe('an inference result', () => {
  const models = useCatalogue(async (folder) => {
    const directory = join(folder, 'catalogue');
    await mkdir(directory);
    for (const [model, name] of [
      ['entity tagger', 'named-entity-recognition'],
      ['retriever', 'research-papers-search'],
    ] as const) {
      await rename(await smallModel(model, folder), join(directory, name));
    }
    return directory;
  });

  it('of entities has a label, a score, a token and its start for each', async () => {
    const { ask } = await aService(models);
    const query = 'Zoë Müller likes the phone';
    const path = '/predictor/language/pre-trained/named-entity-recognition';
    const { data } = (await ask('POST', path, { body: { query } })).body;
    expect(Object.keys(data).sort()).toEqual(['labels', 'scores', 'token_start_positions', 'tokens']);
    expect(data.labels).toContain('PER');
    for (const column of [data.scores, data.tokens, data.token_start_positions]) {
      expect(column).toHaveLength(data.labels.length);
    }
    for (const [at, start] of data.token_start_positions.entries()) {
      expect(query.slice(start).startsWith(data.tokens[at])).toBe(true);
    }
  });

  it('of entities may be empty', async () => {
    const { ask } = await aService(models);
    const path = '/predictor/language/pre-trained/named-entity-recognition';
    const { data } = (await ask('POST', path, { body: { query: '' } })).body;
    expect(data).toEqual({ labels: [], scores: [], tokens: [], token_start_positions: [] });
  });

  it('of questions has passages, best first, under the keys labels and scores', async () => {
    const { ask } = await aService(models);
    const path = '/predictor/language/pre-trained/research-papers-search';
    const { data } = (await ask('POST', path, { body: { query: 'What about Zoë, number 4?' } })).body;
    expect(Object.keys(data).sort()).toEqual(['labels', 'scores']);
    expect(data.labels[0]).toMatch(/^Number 4: Zoë was bought/);
    expect(data.labels.length).toBeLessThanOrEqual(10);
    expect(data.scores).toEqual([...data.scores].sort((a, b) => b - a));
    expect(data.scores).toHaveLength(data.labels.length);
  });
});

it('a pretrained model may be asked by an account of any tier, once a request', async () => {
  const { ask } = await aService(catalogue);
  const body = { query: 'a' };
  const path = `/predictor/language/pre-trained/${MODEL}`;
  for (const as of ['basic', 'pro'] as const) expect((await ask('POST', path, { body, as })).status).toBe(200);
});
