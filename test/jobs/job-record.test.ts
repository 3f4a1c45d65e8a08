import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatasetError, DownloadError, TrainingError } from '../../src/contract/errors.js';
import { type JobRecord, newJobRecord, tuningSchema } from '../../src/jobs/index.js';
import { createdMs, parseJob, toJobError, toJobInformation, toJson } from '../../src/jobs/job-record.js';
import { failureOf } from '../support/outcomes.js';
import { statsAfter } from './fake-host.js';
import { aRequest } from './request.js';
import { aJob, app_id, idOf } from './some-jobs.js';

const names = { app_id, id: idOf(1) };
const whole: JobRecord = {
  ...aJob(1, 'RUNNING'),
  stats: statsAfter(2),
  validation_rows: 40,
  positive_label: 'good',
  blend: { accuracy: 0.9, f1: 0.8 },
  warnings: [{ kind: 'duplicate_row', count: 2, message: 'two', examples: [{ file: 'train.tsv', line: 4 }] }],
  error: {
    code: 'dataset',
    message: 'wrong',
    problems: [
      { file: 'train.tsv', line: 4, column: 'label', found: '7', expected: 'an id' },
      { file: 'train.tsv', found: 'nothing', expected: 'rows' },
    ],
  },
  attempts: { count: 2, checkpoint: null },
  claim: 'token',
  has_files: true,
  cancel_requested: true,
  was_named: true,
};

const read = (value: unknown) => parseJob(names, { value: JSON.parse(JSON.stringify(value)), version: '1' });

describe('the record of a job', () => {
  it('reads as it was written', () => {
    expect(read(toJson(whole))).toEqual({ job: whole });
    expect(
      read(toJson({ ...whole, error: { code: 'download', message: 'gone', source: 'web' } })).damage,
    ).toBeUndefined();
    expect(read({ ...toJsonObject(whole), positive_label: undefined })).toEqual({
      job: without(whole, 'positive_label'),
    });
  });

  it.each<[string, unknown]>([
    ['id', 'one'],
    ['app_id', 1],
    ['status', 'SLEEPING'],
    ['created', 'today'],
    ['dataset_url', null],
    ['model_config', {}],
    ['seed', 0.5],
    ['allow_file_url', 'yes'],
    ['tuning', { effort: 'most' }],
    ['backbone', 1],
    ['warnings', [{ kind: 'x' }]],
    ['error', { code: 'dataset' }],
    ['error', { code: 'download', message: 'gone', source: 'disk' }],
    ['attempts', { count: 1 }],
    ['has_files', false],
    ['more', 1],
  ])('is damaged with a wrong %s, which it names', (field, value) => {
    const { job, damage } = read({ ...toJsonObject(whole), [field]: value });
    expect(job).toMatchObject({ ...names, status: 'ERROR', error: { code: 'storage', message: damage } });
    expect(damage).toMatch(new RegExp(`^record jobs/${app_id}/${idOf(1)} is damaged \\(.*\\); .*damaged-jobs/`));
    if (field !== 'more') expect(damage).toContain(`(${field}`);
  });

  it('that is damaged keeps what its model is called, and that it was deleted', () => {
    const { job } = read({ model_config: aRequest.model_config, status: 'READY' });
    expect(job).toMatchObject({ model_config: aRequest.model_config, status: 'ERROR', dataset_url: 'unknown:' });
    expect(read({ status: 'DELETED' }).job).toMatchObject({
      status: 'DELETED',
      model_config: { name: 'damaged-record' },
    });
    expect(read({ status: 'DELETED' }).job.error).toBeUndefined();
  });

  it('that is no record names no path of the machine', () => {
    const { job, damage } = parseJob(names, { value: '{', version: '1', damage: '/var/data/x.json is cut short' });
    expect(damage).toContain('it is not a record');
    expect(JSON.stringify(job)).not.toContain('/var');
  });

  it('is not written with a figure that no JSON holds', async () => {
    const stats = { ...statsAfter(1), best_eval_metric_value: Number.POSITIVE_INFINITY };
    const { message } = await failureOf('internal', () => toJson({ ...whole, stats }));
    expect(message).toContain(idOf(1));
    expect(message).toContain('stats.best_eval_metric_value');
  });

  it('has the time of its id', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (ms) => {
        const digits = ms.toString(16).padStart(12, '0');
        expect(createdMs(`${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000001`)).toBe(ms);
      }),
    );
  });
});

describe('a new job', () => {
  it('is CREATED, may read files and private addresses, and has what its request says', () => {
    const training_config = { batch_size: 8, num_epochs: 2 };
    const job = newJobRecord({ ...aRequest, training_config }, { ...names, created: 'now', seed: 3 });
    expect(job).toEqual({
      ...{ ...names, created: 'now', seed: 3, status: 'CREATED', training_config, tuning: {}, backbone: null },
      ...{ dataset_url: aRequest.dataset_url, model_config: aRequest.model_config, warnings: [] },
      ...{ allow_file_url: true, allow_private_addresses: true },
      stats: { batch_size: 8, epoch: 0, metrics: { elapsed_time: [], training: { loss: [] }, validation: {} } },
    });
  });
});

describe('the information about a job', () => {
  it('has what is known, and no field without a value', () => {
    const { error, validation_rows, positive_label, blend, warnings, stats, created } = whole;
    const model = {
      ...{ id: idOf(1), app_id, name: aRequest.model_config.name, training_status: 'RUNNING', created },
      ...{ type: aRequest.model_config.type, modality: 'language' },
    };
    const known = { model, training_stats: stats, status: 'RUNNING', created, warnings };
    expect(toJobInformation(whole)).toStrictEqual({ ...known, error, validation_rows, positive_label, blend });
    const bare = { ...aJob(1, 'RUNNING'), stats, warnings };
    expect(toJobInformation(bare)).toStrictEqual(known);
  });
});

describe('the error of a job', () => {
  it.each([
    ['file:///data/x.zip', 'file'],
    ['FILE:///data/x.zip', 'file'],
    ['https://example.com/file:x.zip', 'web'],
  ])('says where a dataset was that could not be fetched: %s', (url, source) => {
    const error = new DownloadError(url, 'it is gone');
    expect(toJobError(error)).toEqual({ code: 'download', message: error.message, source });
  });

  it('lists the problems of a dataset, and else is a code and a message', () => {
    const problems = [{ file: 'train.tsv', line: 4, found: '7', expected: 'an id' }];
    const error = new DatasetError(problems);
    expect(toJobError(error)).toEqual({ code: 'dataset', message: error.message, problems });
    expect(toJobError(new TrainingError('diverged'))).toEqual({ code: 'training', message: 'diverged' });
  });
});

describe('the choices beyond training_config', () => {
  it.each([
    {},
    { tokenDropout: 0, labelSmoothing: 0.99, freeze: 1 },
    { freeze: 'embeddings', classWeights: 'balanced', quantize: false },
    { adapters: {} },
    { adapters: { rank: 1, alpha: 0.1, dropout: 0, targets: ['query', 'inner'] } },
    { adapters: { rank: 1024 } },
  ])('may be %j', (tuning) => {
    expect(tuningSchema.safeParse(tuning).data).toEqual(tuning);
  });

  it.each([
    { tokenDropout: 1 },
    { tokenDropout: -0.1 },
    { labelSmoothing: 1 },
    { classWeights: 'some' },
    { quantize: 1 },
    { freeze: 0 },
    { freeze: 1.5 },
    { freeze: 'all' },
    { adapters: { rank: 0 } },
    { adapters: { rank: 1025 } },
    { adapters: { rank: 1.5 } },
    { adapters: { alpha: 0 } },
    { adapters: { targets: [] } },
    { adapters: { targets: ['head'] } },
    { adapters: { dropout: 1 } },
    { adapters: { more: 1 } },
    { more: 1 },
  ])('may not be %j', (tuning) => {
    expect(tuningSchema.safeParse(tuning).success).toBe(false);
  });
});

function toJsonObject(job: JobRecord): Record<string, unknown> {
  return JSON.parse(JSON.stringify(toJson(job)));
}

function without(job: JobRecord, field: 'positive_label'): JobRecord {
  const { [field]: _, ...rest } = job;
  return rest;
}
