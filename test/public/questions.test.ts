import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { fileStorage, Predictor, type Storage, Trainer } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyText } from '../text/generated-texts.js';
import { itAnswersConsistently } from './consistent-answers.js';
import { temporaryFolder } from './sentiments.js';
import { questionRequest, questionRows } from './toy-jobs.js';

/** The built package answering questions: a job, its model, and queries of every kind. */

let folder: string;
let storage: Storage;
let id: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  storage = fileStorage(join(folder, 'storage'));
  await using trainer = new Trainer({ storage, threads: 2 });
  id = (await trainer.createTrainingJob(await questionRequest(folder)))._unsafeUnwrap().id;
  expect((await trainer.waitForTrainingJob(id))._unsafeUnwrap().error).toBeUndefined();
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

const passages = new Set(questionRows.map(({ context }) => context));
const queries = questionRows.slice(0, 20).map(({ question }) => question);

describe('a question-answering job', () => {
  it('keeps documented statistics: topk for each epoch, and no main metric', async () => {
    await using trainer = new Trainer({ storage });
    const { training_stats: stats, status } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
    expect(status).toBe('READY');
    expect(stats).not.toHaveProperty('main_eval_metric');
    expect(stats).not.toHaveProperty('best_eval_metric_value');
    const { elapsed_time, training, validation } = stats.metrics;
    for (const series of [elapsed_time, training.loss, validation.topk]) expect(series).toHaveLength(stats.epoch);
    for (const shares of validation.topk ?? []) {
      expect(Object.keys(shares)).toEqual(['1', '3', '5', '10', '20', '100']);
      const values = Object.values(shares);
      expect(values).toEqual([...values].sort((a, b) => a - b));
      expect(values.at(-1)).toBe(1);
    }
  });

  it('has a report that tells of ranks and counts questions, not passages', async () => {
    await using trainer = new Trainer({ storage });
    const page = (await trainer.report(id))._unsafeUnwrap();
    expect(page).toContain('dev MRR');
    expect(page).not.toContain('Each class');
    expect(page).not.toMatch(/NaN|undefined/);
    const rows = [...page.matchAll(/<dt>(training|dev) rows<\/dt><dd>(\d+)<\/dd>/g)].map(([, , count]) =>
      Number(count),
    );
    expect(rows).toHaveLength(2);
    expect(rows.reduce((sum, count) => sum + count, 0)).toBe(questionRows.length);
  });

  it('is kept to the pro tier', async () => {
    await using trainer = new Trainer({ storage, account: { app_id: 'small', tier: 'basic' } });
    const error = (await trainer.createTrainingJob(await questionRequest(folder)))._unsafeUnwrapErr();
    expect(error.code).toBe('tier');
    expect(error.message).toContain('question-answering');
    expect((await trainer.listTrainingJobs())._unsafeUnwrap().data).toEqual([]);
  });
});

describe('its model', () => {
  it('puts the passage that answers first', async () => {
    await using predictor = new Predictor({ storage });
    const answers = (await predictor.predictCustomBatch(id, queries))._unsafeUnwrap().data;
    const right = answers.filter(({ labels }, at) => labels[0] === questionRows[at]?.context);
    expect(right.length).toBeGreaterThan(0.8 * queries.length);
  });

  itAnswersConsistently(() => ({ id, folder, queries }), 4);

  it('gives ten different passages, the best first, whatever the query', async () => {
    await using predictor = new Predictor({ storage, isolation: 'inline' });
    const query = fc.oneof(anyText, fc.constantFrom('', ' ', 'lamp '.repeat(2000), ...queries));
    await fc.assert(
      fc.asyncProperty(fc.array(query, { minLength: 12, maxLength: 20 }), async (texts) => {
        const { data } = (await predictor.predictCustomBatch(id, texts))._unsafeUnwrap();
        expect(data).toHaveLength(texts.length);
        for (const { labels, scores, ...rest } of data) {
          expect(rest).toEqual({});
          expect(labels).toHaveLength(10);
          expect(new Set(labels).size).toBe(10);
          expect(labels.filter((label) => !passages.has(label))).toEqual([]);
          expect(scores).toHaveLength(10);
          expect(scores).toEqual([...scores].sort((a, b) => b - a));
          expect(scores[0]).toBeLessThanOrEqual(1);
          expect(scores[9]).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 10, endOnFailure: true },
    );
  });
});
