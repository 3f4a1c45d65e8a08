import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { inferenceService, Predictor, type PredictorOptions, type StreamedAnswer } from '../../src/inference/index.js';
import { folderModels, type ModelLoader } from '../../src/models/index.js';
import { memoryStorage } from '../../src/storage/index.js';
import { errorOf, failureOf, resultOf } from '../support/outcomes.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { WatchedLoader } from '../support/watched-loader.js';

/** Pretrained models by their names, through the class that applications use. */

const MODEL = 'customer-review';
const OWN = 'acme/moods';
const queries = ['the lamp was awful', '', 'My order came on time and the driver was kind', '?'];

let folder: string;
let catalogue: string;
let models: ModelLoader;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-pretrained-'));
  catalogue = await tinyCatalogue(folder, {
    [MODEL]: ['negative', 'neutral', 'positive'],
    [OWN]: ['angry', 'calm', 'glad'],
  });
  models = folderModels(catalogue);
});
afterAll(() => rm(folder, { recursive: true }));

function aPredictor(options: Partial<PredictorOptions> = {}): Predictor {
  const predictor = new Predictor({
    storage: memoryStorage(),
    modelLoader: models,
    isolation: 'inline',
    ...options,
  });
  onTestFinished(() => predictor.close());
  return predictor;
}

/** What the model in a folder makes of the queries, one at a time. */
async function answersOf(directory: string) {
  const service = inferenceService({ isolation: 'inline' });
  onTestFinished(() => service.close());
  const answers = [];
  for (const query of queries) {
    answers.push(...(await service.predict(directory, [query])).results);
  }
  return answers;
}

describe('a query to a pretrained model', () => {
  it('is answered by the model of that name, with the time that it took', async () => {
    const [expected] = await answersOf(join(catalogue, MODEL));
    const { data, metadata } = await resultOf(aPredictor().predictPretrained(MODEL, queries[0] ?? ''));
    expect(data).toEqual(expected);
    expect([...data.labels].sort()).toEqual(['negative', 'neutral', 'positive']);
    expect(metadata.model_inference_time_ms).toBeGreaterThan(0);
  });

  it('may go to a model that is not documented, where the loader knows it', async () => {
    const { data } = await resultOf(aPredictor().predictPretrained(OWN, 'it'));
    expect([...data.labels].sort()).toEqual(['angry', 'calm', 'glad']);
  });

  it('is answered in the basic tier too', async () => {
    const predictor = aPredictor({ account: { app_id: 'small', tier: 'basic' } });
    expect((await predictor.predictPretrained(MODEL, 'it')).isOk()).toBe(true);
  });

  it('asks the loader for a model once', async () => {
    const loader = new WatchedLoader(models);
    const predictor = aPredictor({ modelLoader: loader });
    for (const model of [MODEL, OWN, MODEL]) await resultOf(predictor.predictPretrained(model, 'it'));
    expect(loader.asked).toEqual([MODEL, OWN]);
  });

  it('asks the loader again for a model that it did not have', async () => {
    let there = false;
    const loader = new WatchedLoader(models, async () => {
      if (!there) throw new Error('the disk is not mounted');
    });
    const predictor = aPredictor({ modelLoader: loader });
    const error = await errorOf(predictor.predictPretrained(MODEL, 'it'));
    expect(error.message).toBe(`loading model ${MODEL}: the disk is not mounted`);
    there = true;
    expect((await predictor.predictPretrained(MODEL, 'it')).isOk()).toBe(true);
  });
});

describe('a batch to a pretrained model', () => {
  it('is answered query by query, in their order', async () => {
    const expected = await answersOf(join(catalogue, MODEL));
    const { data } = await resultOf(aPredictor().predictPretrainedBatch(MODEL, queries));
    expect(data.map(({ labels }) => labels)).toEqual(expected.map(({ labels }) => labels));
    for (const [row, { scores }] of data.entries()) {
      for (const [at, score] of scores.entries()) expect(score).toBeCloseTo(expected[row]?.scores[at] ?? 0, 4);
    }
  });

  it.each([1, 20])('may have %i queries', async (count) => {
    const batch = Array.from({ length: count }, (_, at) => `query ${at}`);
    expect((await resultOf(aPredictor().predictPretrainedBatch(MODEL, batch))).data).toHaveLength(count);
  });

  it.each([0, 21])('is refused with %i queries', async (count) => {
    const error = await errorOf(aPredictor().predictPretrainedBatch(MODEL, Array(count).fill('query')));
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['queries'] }] });
  });

  it('is refused in the basic tier', async () => {
    const predictor = aPredictor({ account: { app_id: 'small', tier: 'basic' } });
    expect(await errorOf(predictor.predictPretrainedBatch(MODEL, queries))).toMatchObject({ code: 'tier' });
  });
});

describe('a stream of queries', () => {
  const codesOf = async (answers: AsyncIterable<StreamedAnswer>) => {
    const codes: string[] = [];
    for await (const answer of answers) codes.push(answer.isOk() ? 'ok' : answer.error.code);
    return codes;
  };

  it('is answered in the pro tier', async () => {
    const predictor = aPredictor({ account: { app_id: 'large', tier: 'pro' } });
    expect(await codesOf(predictor.predictPretrainedStream(MODEL, queries))).toEqual(queries.map(() => 'ok'));
  });

  it('ends with a TierError in the basic tier, for pretrained and for custom models', async () => {
    const predictor = aPredictor({ account: { app_id: 'small', tier: 'basic' } });
    expect(await codesOf(predictor.predictPretrainedStream(MODEL, queries))).toEqual(['tier']);
    expect(await codesOf(predictor.predictCustomStream('any', queries))).toEqual(['tier']);
  });
});

describe('a pretrained model that can not answer', () => {
  it('is not found where the loader has none of that name', async () => {
    const error = await errorOf(aPredictor().predictPretrained('mood-ring', 'it'));
    expect(error).toMatchObject({ code: 'not_found', resource: 'pretrained model', id: 'mood-ring' });
  });

  it('is refused where its name is none', async () => {
    const error = await errorOf(aPredictor().predictPretrained('', 'it'));
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['model_name'] }] });
    expect(await errorOf(aPredictor().predictPretrained('../moods', 'it'))).toMatchObject({
      code: 'validation',
    });
  });

  it('fails with the file named where its folder is spoiled', async () => {
    const spoiled = await tinyCatalogue(join(folder, 'spoiled'), { moods: ['angry', 'calm', 'glad'] });
    await writeFile(join(spoiled, 'moods', 'config.json'), '{}');
    const error = await errorOf(aPredictor({ modelLoader: folderModels(spoiled) }).predictPretrained('moods', 'it'));
    expect(error).toMatchObject({ code: 'model_folder', file: join(spoiled, 'moods', 'config.json') });
  });
});

describe('a call that is aborted', () => {
  it('asks nobody where the signal has fired', async () => {
    const loader = new WatchedLoader(models);
    const predictor = aPredictor({ modelLoader: loader });
    const error = await errorOf(predictor.predictPretrained(MODEL, 'it', { signal: AbortSignal.abort() }));
    expect(error.code).toBe('aborted');
    expect(loader.asked).toEqual([]);
  });

  it('ends at once while the model is being loaded, and aborts the loading', async () => {
    const controller = new AbortController();
    const loader = new WatchedLoader(models, async () => {
      controller.abort(new Error('the user left'));
      await new Promise(() => undefined);
    });
    const predictor = aPredictor({ modelLoader: loader });
    const error = await errorOf(predictor.predictPretrained(MODEL, 'it', { signal: controller.signal }));
    expect(error).toMatchObject({ code: 'aborted', cause: { message: 'the user left' } });
    expect(loader.signals[0]?.aborted).toBe(true);
  });
});

describe('a predictor', () => {
  it('counts every query that was answered, those of a batch one by one', async () => {
    const predictor = aPredictor();
    expect(predictor.usage()).toEqual({ inference_calls: 0 });
    await predictor.predictPretrained(MODEL, 'it');
    await predictor.predictPretrainedBatch(MODEL, queries);
    await predictor.predictPretrained('mood-ring', 'it');
    expect(predictor.usage()).toEqual({ inference_calls: 1 + queries.length });
  });

  it('answers no more once it is closed, and aborts what it was loading', async () => {
    const loader = new WatchedLoader(models, () => new Promise(() => undefined));
    const predictor = aPredictor({ modelLoader: loader });
    void predictor.predictPretrained(MODEL, 'it');
    await expect.poll(() => loader.signals).toHaveLength(1);
    await predictor.close();
    expect(loader.signals[0]?.aborted).toBe(true);
    expect(await errorOf(predictor.predictPretrained(MODEL, 'it'))).toMatchObject({ code: 'closed' });
    expect(await errorOf(predictor.predictPretrainedBatch(MODEL, queries))).toMatchObject({ code: 'closed' });
    await predictor.close();
  });

  it.each([
    { workers: 0 },
    { threads: 1.5 },
    { memoryLimit: 0 },
    { account: { app_id: '' } },
    { modelLoader: './models' },
    { inference: {} },
    { isolated: true },
  ])('can not be made with %o', async (options) => {
    const [option = ''] = Object.keys(options);
    const service = inferenceService({ isolation: 'inline' });
    const whole = { storage: memoryStorage(), inference: service, ...options };
    const { message } = await failureOf('validation', () => Reflect.construct(Predictor, [whole]));
    expect(message).toContain(option);
  });

  it.each([undefined, {}, { storage: './models' }, { storage: {} }])(
    'says what storage to pass where it is made with %o',
    async (options) => {
      const error = await failureOf('validation', () => Reflect.construct(Predictor, [options]));
      expect(error.problems).toMatchObject([{ loc: ['storage'] }]);
      expect(error.message).toMatch(/pass the storage.*fileStorage.*memoryStorage/);
    },
  );
});
