import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isOrchardError } from '../../src/contract/errors.js';
import type { Account } from '../../src/contract/index.js';
import {
  type InferenceService,
  type InferenceStats,
  Medley,
  type MedleyOptions,
  type Predictions,
  Predictor,
} from '../../src/inference/index.js';
import { folderModels, type ModelLoader } from '../../src/models/index.js';
import { memoryStorage } from '../../src/storage/index.js';
import { errorOf, failureOf, resultOf } from '../support/outcomes.js';
import { tinyCatalogue } from '../support/tiny-catalogue.js';
import { WatchedLoader } from '../support/watched-loader.js';

/** Several pretrained models on the same queries, through the class that applications use. */

const labels = {
  'sentiment-classification': ['negative', 'neutral', 'positive'],
  'emotion-detection': ['anger', 'calm', 'joy'],
  'toxicity-detection': ['rude', 'plain', 'kind'],
  spoiled: ['a', 'b', 'c'],
} as const;
const models = ['sentiment-classification', 'emotion-detection', 'toxicity-detection'];
const query = 'My order came on time and the driver was kind';
const queries = [query, 'the lamp was awful', ''];
const basic: Account = { app_id: 'small', tier: 'basic' };

let folder: string;
let directory: string;
let catalogue: ModelLoader;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-medley-'));
  directory = await tinyCatalogue(folder, labels);
  await writeFile(join(directory, 'spoiled', 'onnx', 'model.onnx'), 'nothing');
  catalogue = folderModels(directory);
});
afterAll(() => rm(folder, { recursive: true }));

function aMedley(options: MedleyOptions = {}): Medley {
  const isolation = options.inference === undefined ? ({ isolation: 'inline' } as const) : {};
  const medley = new Medley({ modelLoader: catalogue, ...isolation, ...options });
  onTestFinished(() => medley.close());
  return medley;
}

/** What each model answers when it is asked alone. */
async function answersOf(model: string) {
  const predictor = new Predictor({ storage: memoryStorage(), modelLoader: catalogue, isolation: 'inline' });
  onTestFinished(() => predictor.close());
  return (await resultOf(predictor.predictPretrainedBatch(model, queries))).data;
}

/** Counts the runs at work. Each waits for another beside it, so that how fast models load decides nothing. */
class BusyInference implements InferenceService {
  readonly asked: string[] = [];
  mostAtWork = 0;
  closed = false;
  #atWork = 0;
  readonly #waiting: (() => void)[] = [];

  async predict(model: string, texts: readonly string[]): Promise<Predictions> {
    this.asked.push(model);
    this.#atWork += 1;
    this.mostAtWork = Math.max(this.mostAtWork, this.#atWork);
    await this.#company();
    this.#atWork -= 1;
    return { results: texts.map(() => ({ labels: ['a'], scores: [1] })), elapsedMs: 3, truncated: [] };
  }

  /** Resolves once a second model is at work, or none is left to come, and a third has had time to show. */
  #company(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length < 2 && this.asked.length < models.length) return;
      const together = this.#waiting.splice(0);
      setTimeout(() => {
        for (const done of together) done();
      }, 50);
    });
  }

  async warm(): Promise<void> {}

  forget(): void {}

  stats(): InferenceStats {
    throw new Error('nobody asks for them here');
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** How each kind of call fails. */
async function failures(medley: Medley): Promise<string[]> {
  const errors = await Promise.all([
    errorOf(medley.predict({ query, models })),
    errorOf(medley.predictBatch({ queries, models })),
    errorOf(medley.predictPretrainedBatch('emotion-detection', queries)),
  ]);
  return errors.map(({ code }) => code);
}

describe('one query to several models', () => {
  it('is answered by each under its name, as it answers alone', async () => {
    const { data, metadata } = await resultOf(aMedley().predict({ query, models }));
    expect(Object.keys(data)).toEqual(models);
    for (const model of models) expect(data[model]?.labels).toEqual((await answersOf(model))[0]?.labels);
    expect(metadata.model_inference_time_ms).toBeGreaterThan(0);
  });

  it('is answered alike in whatever order the models are named', async () => {
    const forward = await resultOf(aMedley().predict({ query, models }));
    const backward = await resultOf(aMedley().predict({ query, models: models.toReversed() }));
    expect(backward.data).toEqual(forward.data);
    expect(Object.keys(backward.data)).toEqual(models.toReversed());
  });

  it('keeps two models at work and no more', async () => {
    const inference = new BusyInference();
    await resultOf(aMedley({ inference }).predict({ query, models }));
    expect(inference.mostAtWork).toBe(2);
    expect(inference.asked.toSorted()).toEqual(models.map((model) => join(directory, model)).toSorted());
  });
});

describe('a batch to several models', () => {
  it('is answered by each with one result a query, in their order', async () => {
    const { data } = await resultOf(aMedley().predictBatch({ queries, models }));
    expect(Object.keys(data)).toEqual(models);
    for (const model of models) expect(data[model]).toEqual(await answersOf(model));
  });

  it('may have 50 queries and no more', async () => {
    const medley = aMedley();
    const batch = Array.from({ length: 51 }, (_, at) => `query ${at}`);
    const [model = ''] = models;
    const { data } = await resultOf(medley.predictBatch({ queries: batch.slice(1), models: [model] }));
    expect(data[model]).toHaveLength(50);
    expect(await errorOf(medley.predictBatch({ queries: batch, models: [model] }))).toMatchObject({
      code: 'validation',
      problems: [{ loc: ['queries'] }],
    });
    expect((await errorOf(medley.predictBatch({ queries: [], models: [model] }))).code).toBe('validation');
  });
});

describe('a batch to one model', () => {
  it('is answered query by query', async () => {
    const [model = ''] = models;
    const { data } = await resultOf(aMedley().predictPretrainedBatch(model, queries));
    expect(data).toEqual(await answersOf(model));
  });

  it('may have 20 queries and no more', async () => {
    const [model = ''] = models;
    const batch = Array.from({ length: 21 }, (_, at) => `query ${at}`);
    expect((await aMedley().predictPretrainedBatch(model, batch.slice(1))).isOk()).toBe(true);
    expect((await errorOf(aMedley().predictPretrainedBatch(model, batch))).code).toBe('validation');
  });

  it('fails as the model does', async () => {
    expect((await errorOf(aMedley().predictPretrainedBatch('mood-ring', queries))).code).toBe('not_found');
    expect((await errorOf(aMedley().predictPretrainedBatch('', queries))).code).toBe('validation');
  });
});

describe('the models of a request', () => {
  it.each([
    ['none at all', [], ['models']],
    ['one without a name', ['emotion-detection', ''], ['models', 1]],
    ['one twice', ['emotion-detection', 'toxicity-detection', 'emotion-detection'], ['models', 2]],
  ])('are refused with %s', async (_, named, loc) => {
    expect(await errorOf(aMedley().predict({ query, models: named }))).toMatchObject({
      code: 'validation',
      problems: [{ loc }],
    });
    const batch = await errorOf(aMedley().predictBatch({ queries, models: named }));
    expect(batch).toMatchObject({ code: 'validation', problems: [{ loc }] });
  });
});

describe('a model that fails', () => {
  const named = ['mood-ring', 'emotion-detection', 'spoiled', 'sentiment-classification'];

  it('is named, and hides no answer of the others', async () => {
    const error = await errorOf(aMedley().predict({ query, models: named }));
    if (error.code !== 'medley') throw error;
    expect(isOrchardError(error)).toBe(true);
    expect(Object.keys(error.failures)).toEqual(['mood-ring', 'spoiled']);
    expect(error.failures['mood-ring']?.code).toBe('not_found');
    expect(error.failures.spoiled).toMatchObject({ code: 'model_folder' });
    expect(error.message).toContain('2 of 4 models answered; mood-ring: no pretrained model "mood-ring"');
    const { data } = await resultOf(
      aMedley().predict({ query, models: ['emotion-detection', 'sentiment-classification'] }),
    );
    expect(error.answers).toEqual(data);
  });

  it('leaves the answers of a batch, query by query', async () => {
    const error = await errorOf(aMedley().predictBatch({ queries, models: named }));
    if (error.code !== 'medley') throw error;
    const anger = error.answers['emotion-detection'];
    expect(anger).toEqual(await answersOf('emotion-detection'));
  });

  it('leaves no answers where all of them fail', async () => {
    const error = await errorOf(aMedley().predict({ query, models: ['mood-ring'] }));
    expect(error).toMatchObject({
      code: 'medley',
      answers: {},
      failures: { 'mood-ring': { code: 'not_found' } },
    });
  });
});

describe('a medley', () => {
  it('needs the pro tier for whatever it is asked', async () => {
    expect(await failures(aMedley({ account: basic }))).toEqual(['tier', 'tier', 'tier']);
  });

  it('ends at once when the signal fires, and asks no further model', async () => {
    const controller = new AbortController();
    const loader = new WatchedLoader(catalogue, async (name) => {
      if (name === models[1]) controller.abort(new Error('the user left'));
      await new Promise(setImmediate);
    });
    const error = await errorOf(
      aMedley({ modelLoader: loader }).predict({ query, models }, { signal: controller.signal }),
    );
    expect(error).toMatchObject({ code: 'aborted', cause: { message: 'the user left' } });
    await new Promise(setImmediate);
    expect(loader.asked).toEqual(models.slice(0, 2));
  });

  it('counts a request as one call, each query of a batch as one, and nothing that failed altogether', async () => {
    const medley = aMedley();
    await medley.predict({ query, models });
    expect(medley.usage()).toEqual({ inference_calls: 1 });
    await medley.predictBatch({ queries, models });
    expect(medley.usage()).toEqual({ inference_calls: 4 });
    await medley.predictPretrainedBatch('emotion-detection', queries);
    expect(medley.usage()).toEqual({ inference_calls: 7 });
    await medley.predict({ query, models: ['mood-ring', 'emotion-detection'] });
    expect(medley.usage()).toEqual({ inference_calls: 8 });
    await medley.predict({ query, models: ['mood-ring'] });
    expect(medley.usage()).toEqual({ inference_calls: 8 });
  });

  it('adds up the times of its models', async () => {
    const { metadata } = await resultOf(aMedley({ inference: new BusyInference() }).predict({ query, models }));
    expect(metadata).toEqual({ model_inference_time_ms: 9 });
  });

  it('refuses an option that it does not know', async () => {
    const { message } = await failureOf('validation', () => Reflect.construct(Medley, [{ worker: 3 }]));
    expect(message).toContain('worker');
  });

  it('leaves an inference service open that it was given, for others to go on with', async () => {
    const inference = new BusyInference();
    const medley = aMedley({ inference });
    await medley.close();
    expect(inference.closed).toBe(false);
    expect((await errorOf(medley.predict({ query, models }))).code).toBe('closed');
  });

  it('answers no more once it is closed', async () => {
    const medley = aMedley();
    await medley.close();
    await medley.close();
    expect(await failures(medley)).toEqual(['closed', 'closed', 'closed']);
  });
});
