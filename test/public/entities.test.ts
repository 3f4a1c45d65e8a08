import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { fileStorage, type InferenceResult, Predictor, type Storage, Trainer } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArchiveBuilder } from '../support/archive-builder.js';
import { anyText } from '../text/generated-texts.js';
import { itAnswersConsistently } from './consistent-answers.js';
import { temporaryFolder } from './sentiments.js';
import { entityRequest, entityRows } from './toy-jobs.js';

/** The built package finding entities: a job, its model, and queries of every kind. */

let folder: string;
let storage: Storage;
let id: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  storage = fileStorage(join(folder, 'storage'));
  await using trainer = new Trainer({ storage, threads: 2 });
  id = (await trainer.createTrainingJob(await entityRequest(folder)))._unsafeUnwrap().id;
  expect((await trainer.waitForTrainingJob(id))._unsafeUnwrap().error).toBeUndefined();
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

const queries = entityRows.slice(0, 20).map(({ words }, at) => `${words.join(' ')} `.repeat(1 + (at % 3)));

describe('a sequence-labeling job', () => {
  it('keeps the statistics of its type: f1 alone, one value per epoch', async () => {
    await using trainer = new Trainer({ storage });
    const { training_stats: stats, status } = (await trainer.getTrainingJob(id))._unsafeUnwrap();
    expect(status).toBe('READY');
    expect(stats.main_eval_metric).toBe('f1');
    expect(stats.best_eval_metric_value).toBeGreaterThan(0.9);
    const { elapsed_time, training, validation } = stats.metrics;
    for (const series of [elapsed_time, training.loss, validation.f1]) {
      expect(series).toHaveLength(stats.epoch);
    }
    expect(Object.keys(validation)).toEqual(['f1']);
  });

  it('has a report that tells of entity types, not of tags', async () => {
    await using trainer = new Trainer({ storage });
    const page = (await trainer.report(id))._unsafeUnwrap();
    expect(page).toContain('entity types');
    expect(page).toContain('Each class');
    expect(page).toContain('>LOC<');
    expect(page).not.toContain('B-LOC');
    expect(page).not.toMatch(/NaN|undefined/);
  });

  it('is the same under the name of named-entity-recognition', async () => {
    await using trainer = new Trainer({ storage, threads: 2 });
    const usual = await entityRequest(folder, 'named-entity-recognition');
    const request = { ...usual, training_config: { ...usual.training_config, num_epochs: 2 } };
    const alias = (await trainer.createTrainingJob(request))._unsafeUnwrap();
    const job = (await trainer.waitForTrainingJob(alias.id))._unsafeUnwrap();
    expect(job.error).toBeUndefined();
    expect(job.status).toBe('READY');
    await using predictor = new Predictor({ storage, isolation: 'inline' });
    const { data } = (await predictor.predictCustom(alias.id, 'Ada left Paris'))._unsafeUnwrap();
    expect(data).toMatchObject({
      labels: ['PER', 'LOC'],
      tokens: ['Ada', 'Paris'],
      token_start_positions: [0, 9],
    });
  });

  it('ends in ERROR where tags are missing, with file, line and both counts of every such line', async () => {
    const archive = new ArchiveBuilder({ desc: 'x', DATASET_NAME: 'x', DATA_DIR: 'x' }, new Map())
      .withLabels(['O', 'B-PER', 'I-PER'])
      .withFile('train/sentences.txt', 'Ada came home\n'.repeat(120))
      .withFile('train/tags.txt', `B-PER O O\n${'B-PER O\n'.repeat(119)}`)
      .withFile('val/sentences.txt', 'Bob left\n')
      .withFile('val/tags.txt', 'B-PER O\n');
    const path = join(folder, 'unequal.zip');
    await writeFile(path, await archive.zipped());
    await using trainer = new Trainer({ storage, threads: 1 });
    const request = { ...(await entityRequest(folder)), dataset_url: pathToFileURL(path).href };
    const unequal = (await trainer.createTrainingJob(request))._unsafeUnwrap();
    const { status, error } = (await trainer.waitForTrainingJob(unequal.id))._unsafeUnwrap();
    expect(status).toBe('ERROR');
    expect(error?.message).toMatch(/train\/tags\.txt line 2: found 2 tags.*3 tags.*118 more/);
    expect(error?.problems?.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, at) => at + 2));
  });
});

describe('its model', () => {
  it('finds what it was taught, in sentences that it has not seen, punctuation or none', async () => {
    await using predictor = new Predictor({ storage });
    const query = 'Grace Hopper met friends in New York.';
    const { data } = (await predictor.predictCustom(id, query))._unsafeUnwrap();
    expect(data.labels).toEqual(['PER', 'LOC']);
    expect(data.tokens).toEqual(['Grace Hopper', 'New York']);
    expect(data.token_start_positions).toEqual([0, 28]);
    for (const score of data.scores) expect(score).toBeGreaterThan(0.5);
  });

  itAnswersConsistently(() => ({ id, folder, queries }), 4);

  it('finds entities to the end of a text of many windows', async () => {
    await using predictor = new Predictor({ storage, isolation: 'inline' });
    const sentence = 'Ada met friends in Paris . ';
    const { data } = (await predictor.predictCustom(id, sentence.repeat(400)))._unsafeUnwrap();
    expect(data.labels).toHaveLength(800);
    const places = data.token_start_positions?.map((start) => start % sentence.length);
    expect(new Set(places)).toEqual(new Set([0, sentence.indexOf('Paris')]));
  });
});

describe('whatever the query, Unicode and all', () => {
  /** Names that it knows among texts that nobody knows; some longer than the encoder reads at once. */
  const part = fc.oneof(
    { weight: 3, arbitrary: anyText },
    {
      weight: 2,
      arbitrary: fc.constantFrom('Ada', 'Grace Hopper left', 'in New York', 'Paris!', '(Oslo)', 'Bob\u200dSmith'),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('ا', '漢', '🇯🇵', 'e\u0301', '-').map((unit) => unit.repeat(400)),
    },
  );
  const separator = fc.constantFrom(' ', '', '\n', '\u00a0', '\u200f', '\u3000', '\u202e', '\t\t');
  const query = fc
    .array(fc.tuple(part, separator), { maxLength: 8 })
    .map((parts) => parts.map(([text, space]) => text + space).join(''));

  function expectExact(
    text: string,
    { labels, scores, tokens = [], token_start_positions: starts = [] }: InferenceResult,
  ) {
    expect([labels.length, scores.length, tokens.length]).toEqual([starts.length, starts.length, starts.length]);
    let end = 0;
    for (const [at, start] of starts.entries()) {
      const token = tokens[at] ?? '';
      expect(token).not.toBe('');
      expect(text.slice(start, start + token.length)).toBe(token);
      expect(start).toBeGreaterThanOrEqual(end);
      end = start + token.length;
    }
    for (const score of scores) {
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(1);
    }
    for (const label of labels) expect(['PER', 'LOC']).toContain(label);
  }

  it('every entity is the very text at its position, in order and without overlap', async () => {
    await using predictor = new Predictor({ storage, isolation: 'inline' });
    let found = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(query, { minLength: 12, maxLength: 20 }), async (texts) => {
        const { data } = (await predictor.predictCustomBatch(id, texts))._unsafeUnwrap();
        expect(data).toHaveLength(texts.length);
        for (const [at, result] of data.entries()) {
          expectExact(texts[at] ?? '', result);
          found += result.labels.length;
        }
      }),
      { numRuns: 12, endOnFailure: true },
    );
    expect(found).toBeGreaterThan(100);
  });
});
