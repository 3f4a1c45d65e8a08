import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  accountSchema,
  batchQueriesSchema,
  listFilterSchema,
  medleyBatchRequestSchema,
  medleyRequestSchema,
  trainingJobInformationSchema,
  trainingRequestSchema,
  validate,
} from '../../src/contract/index.js';
import { aRequest } from '../jobs/request.js';
import { failureOf } from '../support/outcomes.js';

/** Each documented limit (docs/service.md) from both sides. */

const times = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value);
const names = (count: number) => Array.from({ length: count }, (_, at) => `model-${at}`);
const withConfig = (training_config: object) => ({ ...aRequest, training_config });
const withModel = (model: object) => ({ ...aRequest, model_config: { ...aRequest.model_config, ...model } });
const withUrl = (dataset_url: string) => ({ ...aRequest, dataset_url });
const lower = (lowercase: boolean) => ({ preprocessing: { lowercase } });

describe('what is within its limits', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['batch_size 1', trainingRequestSchema, withConfig({ batch_size: 1 })],
    ['batch_size 1024', trainingRequestSchema, withConfig({ batch_size: 1024 })],
    ['learning_rate 1e-9', trainingRequestSchema, withConfig({ learning_rate: 1e-9 })],
    ['learning_rate 1', trainingRequestSchema, withConfig({ learning_rate: 1 })],
    ['num_epochs 1', trainingRequestSchema, withConfig({ num_epochs: 1 })],
    ['num_epochs 1000', trainingRequestSchema, withConfig({ num_epochs: 1000 })],
    ['a language of 1 character', trainingRequestSchema, withConfig({ language: 'x' })],
    ['a language of 40 characters', trainingRequestSchema, withConfig({ language: 'x'.repeat(40) })],
    ['a name of 1 character', trainingRequestSchema, withModel({ name: '-' })],
    ['a name of 24 characters', trainingRequestSchema, withModel({ name: 'a-0'.repeat(8) })],
    ['lowercase in model_config alone', trainingRequestSchema, withModel(lower(false))],
    ['lowercase in training_config alone', trainingRequestSchema, withConfig(lower(false))],
    ['the same lowercase twice', trainingRequestSchema, { ...withModel(lower(true)), training_config: lower(true) }],
    ['no lowercase in either', trainingRequestSchema, { ...withModel({ preprocessing: {} }), training_config: {} }],
    ['1 query', batchQueriesSchema, ['']],
    ['20 queries', batchQueriesSchema, times(20, 'a')],
    ['1 model', medleyRequestSchema, { query: '', models: names(1) }],
    ['11 models', medleyRequestSchema, { query: '', models: names(11) }],
    ['50 queries of a medley', medleyBatchRequestSchema, { queries: times(50, ''), models: names(1) }],
    ['an app_id of 1 character', accountSchema, { app_id: '~', tier: 'basic' }],
    ['an app_id of 50 characters', accountSchema, { app_id: ' '.repeat(50), tier: 'pro' }],
    ['a page of 1', listFilterSchema, { limit: 1 }],
    ['a page of 100', listFilterSchema, { limit: 100 }],
  ])('passes: %s', (_, schema, input) => {
    expect(validate(schema, input)).toEqual(input);
  });
});

describe('what is beyond a limit', () => {
  it.each<[z.ZodType, unknown, string]>([
    [trainingRequestSchema, withConfig({ batch_size: 0 }), 'training_config.batch_size: give a number of at least 1'],
    [
      trainingRequestSchema,
      withConfig({ batch_size: 1025 }),
      'training_config.batch_size: give a number of at most 1024',
    ],
    [trainingRequestSchema, withConfig({ learning_rate: 0 }), 'training_config.learning_rate: give a number above 0'],
    [
      trainingRequestSchema,
      withConfig({ learning_rate: 1.1 }),
      'training_config.learning_rate: give a number of at most 1',
    ],
    [trainingRequestSchema, withConfig({ num_epochs: 0 }), 'training_config.num_epochs: give a number of at least 1'],
    [
      trainingRequestSchema,
      withConfig({ num_epochs: 1001 }),
      'training_config.num_epochs: give a number of at most 1000',
    ],
    [trainingRequestSchema, withConfig({ language: '' }), 'training_config.language: give a string that is not empty'],
    [
      trainingRequestSchema,
      withConfig({ language: 'x'.repeat(41) }),
      'training_config.language: give at most 40 characters',
    ],
    [
      trainingRequestSchema,
      withModel({ name: 'a'.repeat(25) }),
      'model_config.name: the model name is longer than 24 characters; shorten it',
    ],
    [
      trainingRequestSchema,
      withModel({ name: 'A' }),
      'model_config.name: the model name may contain only a–z, 0–9 and "-"',
    ],
    [
      trainingRequestSchema,
      withModel({ family: 'Dragonfruit' }),
      'model_config.family: a binary-text-classification model is of family Papaya, not Dragonfruit',
    ],
    [
      trainingRequestSchema,
      { ...withModel(lower(true)), training_config: lower(false) },
      'training_config.preprocessing.lowercase: `preprocessing.lowercase` is false here and true in model_config; give it once',
    ],
    [trainingRequestSchema, withUrl(''), 'dataset_url: dataset_url is empty; give the URL of a dataset zip'],
    [batchQueriesSchema, [], 'give at least one query'],
    [batchQueriesSchema, times(21, 'a'), 'at most 20 queries per batch'],
    [medleyRequestSchema, { query: '', models: [] }, 'models: give at least one model'],
    [medleyRequestSchema, { query: '', models: [''] }, 'models.0: the name of the model is empty'],
    // The same name eleven times more would be eleven more problems.
    [medleyRequestSchema, { query: '', models: times(12, 'a') }, 'models: at most 11 models per medley'],
    [
      medleyRequestSchema,
      { query: '', models: ['a', 'b', 'b', 'a'] },
      'models.2: "b" is already at position 1; give each model once; models.3: "a" is already at position 0; give each model once',
    ],
    [medleyBatchRequestSchema, { queries: [], models: ['a'] }, 'queries: give at least one query'],
    [
      medleyBatchRequestSchema,
      { queries: times(51, ''), models: ['a'] },
      'queries: at most 50 queries per medley batch',
    ],
    [accountSchema, { app_id: '', tier: 'pro' }, 'app_id: an app_id has 1 to 50 printable ASCII characters'],
    [
      accountSchema,
      { app_id: 'a'.repeat(51), tier: 'pro' },
      'app_id: an app_id has 1 to 50 printable ASCII characters',
    ],
    [accountSchema, { app_id: 'é', tier: 'pro' }, 'app_id: an app_id has 1 to 50 printable ASCII characters'],
    [listFilterSchema, { limit: 0 }, 'limit: give a number of at least 1'],
    [listFilterSchema, { limit: 101 }, 'limit: give a number of at most 100'],
  ])('is refused: case %#', async (schema, input, message) => {
    expect((await failureOf('validation', () => validate(schema, input))).message).toBe(message);
  });

  it.each(['https://:sesame@example.com/x.zip', 'https://user@example.com/x.zip', '//a:b/c:d@e', 'a?b:c@d'])(
    'a dataset_url with a password or a user name, and no other: %s',
    (url) => {
      const isRefused = !trainingRequestSchema.safeParse(withUrl(url)).success;
      expect(isRefused).toBe(url !== 'a?b:c@d');
    },
  );
});

describe('a job in an answer', () => {
  const created = '2026-11-20T08:15:30.123+00:00';
  const job = {
    model: {
      id: '0190a6f0-0000-7000-8000-000000000000',
      app_id: 'local',
      name: 'reviews',
      training_status: 'READY',
      type: 'binary-text-classification',
      modality: 'language',
      created,
    },
    training_stats: {
      batch_size: 16,
      main_eval_metric: 'f1',
      best_eval_metric_value: 0.9,
      epoch: 1,
      metrics: {
        elapsed_time: [1.5],
        training: { loss: [0.5] },
        validation: { accuracy: [0.8], f1: [0.9], topk: [{ 1: 0, 3: 0, 5: 0, 10: 0.5, 20: 1, 100: 1 }] },
      },
    },
    status: 'READY',
    created,
  };

  it('has these fields and no others', () => {
    expect(validate(trainingJobInformationSchema, job)).toEqual(job);
    const { model, training_stats: stats } = job;
    const { metrics } = stats;
    const withMetrics = (changed: object) => ({ ...job, training_stats: { ...stats, metrics: changed } });
    for (const extended of [
      { ...job, more: 1 },
      { ...job, model: { ...model, more: 1 } },
      { ...job, training_stats: { ...stats, more: 1 } },
      withMetrics({ ...metrics, more: 1 }),
      withMetrics({ ...metrics, training: { ...metrics.training, more: 1 } }),
      withMetrics({ ...metrics, validation: { ...metrics.validation, more: [1] } }),
    ]) {
      expect(trainingJobInformationSchema.safeParse(extended).success).toBe(false);
    }
  });

  it.each(['2026-11-20', '2026-11-20T08:15:30', 'yesterday'])(
    'has no date without a time and an offset: %s',
    (wrong) => {
      expect(trainingJobInformationSchema.safeParse({ ...job, created: wrong }).success).toBe(false);
    },
  );
});

describe('the published schemas', () => {
  it('say what a list of models and a dataset_url are', () => {
    expect(z.toJSONSchema(medleyRequestSchema)).toMatchObject({
      properties: { models: { uniqueItems: true, minItems: 1, maxItems: 11 } },
    });
    expect(z.toJSONSchema(trainingRequestSchema, { io: 'input' })).toMatchObject({
      properties: { dataset_url: { format: 'uri', maxLength: 8192 } },
    });
  });
});
