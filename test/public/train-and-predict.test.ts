import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStorage, inferenceService, Predictor, type Storage, Trainer, type TrainingEvent } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../support/outcomes.js';
import { itAnswersConsistently } from './consistent-answers.js';
import { rows, sentimentRequest, temporaryFolder } from './sentiments.js';

/** The built package, as an application uses it: training and inference in threads of their own. */

let folder: string;
let storage: Storage;
let id: string;
const events: TrainingEvent[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  storage = fileStorage(join(folder, 'storage'));
  const trainer = new Trainer({ storage, threads: 2 });
  const created = await trainer.createTrainingJob(await sentimentRequest(folder));
  id = created._unsafeUnwrap().id;
  for await (const event of trainer.watch(id)) events.push(event);
  await trainer.close();
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

describe('a training job', () => {
  it('goes through the documented states to READY and tells its progress', () => {
    const states = events.flatMap((event) => (event.type === 'state' ? [event.status] : []));
    expect(states.at(-1)).toBe('READY');
    const fractions = events.flatMap((event) => (event.type === 'progress' ? [event.fraction] : []));
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    expect(events.filter(({ type }) => type === 'epoch')).not.toHaveLength(0);
  });

  it('keeps documented statistics with one entry an epoch', async () => {
    await using trainer = new Trainer({ storage });
    const { training_stats: stats, status, model } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
    expect(status).toBe('READY');
    expect(model).toMatchObject({ id, app_id: 'local', modality: 'language', training_status: 'READY' });
    expect(stats.main_eval_metric).toBe('accuracy');
    expect(stats.batch_size).toBe(8);
    for (const series of [stats.metrics.elapsed_time, stats.metrics.training.loss]) {
      expect(series).toHaveLength(stats.epoch);
    }
  });

  it('tells once how its training is planned, before the first epoch', () => {
    const plans = events.filter(({ type }) => type === 'plan');
    expect(plans).toEqual([{ type: 'plan', id, batchSize: 8, epochs: expect.any(Number) }]);
    const types = events.map(({ type }) => type);
    expect(types.indexOf('plan')).toBeLessThan(types.indexOf('epoch'));
  });

  it('has as its best value the highest of its validation figures, from the first epoch on', async () => {
    await using trainer = new Trainer({ storage });
    const { training_stats } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
    const told = events.flatMap((event) => (event.type === 'epoch' ? [event.stats] : []));
    for (const stats of [...told, training_stats]) {
      expect(stats.best_eval_metric_value).toBe(Math.max(...(stats.metrics.validation.accuracy ?? [])));
    }
  });

  it('tells what encoder and lexical expert reach alone and together', async () => {
    const parts = events.flatMap((event) => (event.type === 'blend' ? [event.parts] : []));
    expect(parts).toHaveLength(1);
    const [{ encoder, expert, blend } = expect.fail('no event tells of the blend')] = parts;
    await using trainer = new Trainer({ storage });
    const { training_stats: stats, ...job } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
    expect(encoder.accuracy).toBe(Math.max(...(stats.metrics.validation.accuracy ?? [])));
    expect(job.blend).toEqual({ accuracy: blend.accuracy, f1: blend.f1 });
    expect(encoder.weights.expert).toBe(0);
    expect(expert.weights.encoder).toBe(0);
    for (const part of [encoder, expert, blend]) {
      expect(part.calibration_error?.after).toBeLessThan(0.3);
      expect(part.calibration_error?.after).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('its model', () => {
  it('is refused with the file named where its lexical expert is missing or spoiled', async () => {
    const spoiled = fileStorage(join(folder, 'spoiled'));
    const staged = await spoiled.stageFolder(id);
    await cp((await storage.openFolder(id)) ?? '', staged, { recursive: true });
    await writeFile(join(staged, 'lexical.safetensors'), 'nothing');
    const service = inferenceService({ isolation: 'inline' });
    const refused = () => failureOf('model_folder', () => service.predict(staged, ['text']));
    expect((await refused()).message).toContain('lexical.safetensors');
    await rm(join(staged, 'lexical.safetensors'));
    expect((await refused()).message).toContain('lexical.safetensors');
    await service.close();
  });

  const queries = rows.slice(0, 20).map(({ text }, at) => `${text} `.repeat(1 + (at % 5)).trim());

  it('has learned what it was taught', async () => {
    await using predictor = new Predictor({ storage });
    const { data, metadata } = (await predictor.predictCustom(id, 'the lamp was awful'))._unsafeUnwrap();
    expect(data.labels[0]).toBe('negative');
    expect(data.scores[0]).toBeGreaterThan(0.7);
    expect((data.scores[0] ?? 0) + (data.scores[1] ?? 0)).toBeCloseTo(1, 6);
    expect(metadata.model_inference_time_ms).toBeGreaterThan(0);
  });

  itAnswersConsistently(() => ({ id, folder, queries }), 5);

  it('gives the same answers inline as in a worker', async () => {
    await using worker = new Predictor({ storage });
    await using inline = new Predictor({ storage, isolation: 'inline' });
    const expected = (await worker.predictCustomBatch(id, queries))._unsafeUnwrap().data;
    expect((await inline.predictCustomBatch(id, queries))._unsafeUnwrap().data).toEqual(expected);
  });

  it('shares a batch among its workers and still answers in query order', async () => {
    await using one = new Predictor({ storage });
    await using three = new Predictor({ storage, workers: 3 });
    const expected = (await one.predictCustomBatch(id, queries))._unsafeUnwrap().data;
    const { data, metadata } = (await three.predictCustomBatch(id, queries))._unsafeUnwrap();
    expect(data.map(({ labels }) => labels)).toEqual(expected.map(({ labels }) => labels));
    for (const [at, { scores }] of data.entries()) {
      expect(scores[0]).toBeCloseTo(expected[at]?.scores[0] ?? Number.NaN, 5);
    }
    expect(metadata.model_inference_time_ms).toBeGreaterThan(0);
  });

  it('answers many callers at once, each with its own result', async () => {
    await using predictor = new Predictor({ storage });
    const alone = (await predictor.predictCustomBatch(id, queries))._unsafeUnwrap().data;
    const together = await Promise.all(queries.map((query) => predictor.predictCustom(id, query)));
    for (const [at, response] of together.entries()) {
      const { labels, scores } = response._unsafeUnwrap().data;
      expect(labels).toEqual(alone[at]?.labels);
      expect(scores[0]).toBeCloseTo(alone[at]?.scores[0] ?? Number.NaN, 5);
    }
  });

  it('refuses a model that takes more than the memory limit, with both figures', async () => {
    const memoryLimit = 2 ** 20;
    await using predictor = new Predictor({ storage, memoryLimit, isolation: 'inline' });
    const error = (await predictor.predictCustom(id, 'it is great'))._unsafeUnwrapErr();
    expect(error).toMatchObject({ code: 'memory_limit', limit: memoryLimit });
    expect(error.message).toMatch(/about \d+ MiB of memory, but the limit is 1 MiB \(`memoryLimit`\)/);
    expect((await predictor.warmCustom([id]))._unsafeUnwrapErr().code).toBe('memory_limit');
  });
});

describe('an explanation of its answers', () => {
  const texts = rows.filter((_, at) => at % 4 === 0).map(({ text }) => text);

  it('names the word that moves them most: twice as much as the others on average', async () => {
    await using predictor = new Predictor({ storage, isolation: 'inline' });
    const fall = { named: 0, others: 0 };
    for (const text of texts) {
      const [explained] = (await predictor.explainCustom(id, text))._unsafeUnwrap().data.explained;
      const { answer = '', score = 0, words = [] } = explained ?? {};
      const falls = await Promise.all(
        words.map(async ({ start, word }) => {
          const without = text.slice(0, start) + text.slice(start + word.length);
          const { labels, scores } = (await predictor.predictCustom(id, without))._unsafeUnwrap().data;
          return score - (scores[labels.indexOf(answer)] ?? 0);
        }),
      );
      const heaviest = words.findIndex(({ weight }) => weight === Math.max(...words.map((each) => each.weight)));
      fall.named += falls[heaviest] ?? 0;
      const others = falls.filter((_, at) => at !== heaviest);
      fall.others += others.reduce((sum, each) => sum + each, 0) / others.length;
    }
    expect(fall.named).toBeGreaterThan(2 * fall.others);
    expect(fall.named / texts.length).toBeGreaterThan(0.02);
  });

  it('comes with the answer, and the label that was asked about', async () => {
    await using predictor = new Predictor({ storage });
    const { data, metadata } = (
      await predictor.explainCustom(id, 'the room is awful', { label: 'positive' })
    )._unsafeUnwrap();
    const { explained, ...answer } = data;
    expect(answer).toEqual((await predictor.predictCustom(id, 'the room is awful'))._unsafeUnwrap().data);
    expect(explained[0]).toMatchObject({ answer: 'positive', position: answer.labels.indexOf('positive') });
    expect(metadata.model_inference_time_ms).toBeGreaterThan(0);
    const unknown = await predictor.explainCustom(id, 'the room is awful', { label: 'weather' });
    expect(unknown._unsafeUnwrapErr().message).toContain('the model has no label weather');
  });

  it('tells that none of its labels fits, where that is asked for', async () => {
    await using predictor = new Predictor({ storage });
    const asked = { noneOfThese: true } as const;
    const queries = [rows[0]?.text ?? '', '漢字 qxq'];
    const { data } = (await predictor.predictCustomBatch(id, queries, asked))._unsafeUnwrap();
    expect(data.map(({ none_of_these }) => none_of_these)).toEqual([false, true]);
    // Eight dev rows bear no more than nine tenths.
    expect(data[0]?.scores[0]).toBeLessThanOrEqual(0.9);
  });
});

describe('queries that can not be answered', () => {
  it.each<[string, unknown, RegExp]>([
    ['21 queries', Array.from({ length: 21 }, () => 'x'), /queries: at most 20/],
    ['no queries', [], /queries: give at least one/],
    ['a query that is no string', ['fine', 7], /queries\.1: .*string/],
    ['no list at all', undefined, /queries: /],
  ])('refuses %s, naming the field', async (_, queries, message) => {
    await using predictor = new Predictor({ storage });
    const error = (await Reflect.apply(predictor.predictCustomBatch, predictor, [id, queries]))._unsafeUnwrapErr();
    expect(error.code).toBe('validation');
    expect(error.message).toMatch(message);
  });

  it('does not know an unknown id, nor that of another account', async () => {
    await using predictor = new Predictor({ storage });
    await using stranger = new Predictor({ storage, account: { app_id: 'other', tier: 'pro' } });
    const unknown = '0190a6f0-0000-7000-8000-000000000000';
    for (const [asked, who] of [
      [unknown, predictor],
      ['../../etc', predictor],
      [id, stranger],
    ] as const) {
      const error = (await who.predictCustom(asked, 'x'))._unsafeUnwrapErr();
      expect(error.code).toBe('not_found');
      expect(error.message).toContain(asked);
    }
  });

  it('keeps batches to the pro tier', async () => {
    await using basic = new Predictor({ storage, account: { app_id: 'local', tier: 'basic' } });
    expect((await basic.predictCustomBatch(id, ['x']))._unsafeUnwrapErr().code).toBe('tier');
    expect((await basic.predictCustom(id, 'it is great')).isOk()).toBe(true);
  });

  it('answers nothing once closed', async () => {
    const predictor = new Predictor({ storage });
    await predictor.predictCustom(id, 'x');
    await predictor.close();
    await predictor.close();
    expect((await predictor.predictCustom(id, 'x'))._unsafeUnwrapErr().code).toBe('closed');
  });
});
