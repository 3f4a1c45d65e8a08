import { describe, expect, it } from 'vitest';
import {
  DatasetError,
  DownloadError,
  InternalError,
  ModelDownloadError,
  ModelFolderError,
  NotFoundError,
  type OrchardError,
  StorageError,
  TrainingError,
} from '../../src/contract/errors.js';
import type { DatasetWarningKind } from '../../src/datasets/index.js';
import { jobAnswer } from '../../src/http/jobs.js';
import type { JobError, JobInformation } from '../../src/jobs/index.js';
import { statsAfter } from '../jobs/fake-host.js';
import { aRequest } from '../jobs/request.js';
import { aService, useCatalogue } from './a-service.js';

/** What HTTP callers are told of a job that failed or was warned about, and what is left to who runs the service. */

const JOBS = '/trainer/language/training-jobs';
/** Where the service lies: nothing for callers. */
const FOLDER = '/srv/orchard';

const catalogue = useCatalogue();

/** A job that runs, and how it is read when the test has played its training. */
async function aRunningJob() {
  const { ask, host, services } = await aService(catalogue);
  const { id } = (await ask('POST', JOBS, { body: aRequest })).body;
  const run = await host.nextRun();
  async function ended() {
    await services.trainer({ app_id: 'acme', tier: 'pro' }).waitForTrainingJob(id);
    const { data } = (await ask('GET', `${JOBS}/${id}`)).body;
    const listed = (await ask('GET', JOBS)).body.data;
    expect(listed).toEqual([data]);
    return data;
  }
  return { run, ended };
}

async function toldOf(failure: OrchardError) {
  const { run, ended } = await aRunningJob();
  run.fail(failure);
  const { status, error } = await ended();
  expect(status).toBe('ERROR');
  return error;
}

const created = '2026-11-20T08:15:30.123+00:00';
const aJob: JobInformation = {
  model: {
    id: '0190a6f0-0000-7000-8000-000000000000',
    app_id: 'acme',
    name: 'reviews',
    training_status: 'ERROR',
    type: 'binary-text-classification',
    modality: 'language',
    created,
  },
  training_stats: statsAfter(0),
  status: 'ERROR',
  created,
  warnings: [],
};

describe('a failed job', () => {
  const problem = (line: number) => ({
    file: 'train.tsv',
    line,
    column: 'label',
    found: '7',
    expected: 'an id of label_id.json (0 to 5)',
  });

  it('names what is wrong in its dataset, up to 100 problems', async () => {
    const problems = Array.from({ length: 150 }, (_, at) => problem(at + 1));
    const failure = new DatasetError(problems);
    expect(await toldOf(failure)).toEqual({
      code: 'dataset',
      message: failure.message,
      problems: problems.slice(0, 100),
    });
  });

  it('names no option that a request does not have, in its problems either', async () => {
    const failure = new DatasetError([{ ...problem(1), expected: "tag names (`tagNames: ['O', 'B-PER']`)" }]);
    const told = await toldOf(failure);
    expect(told.message).toMatch(/expected tag names$/);
    expect(told.problems).toEqual([{ ...problem(1), expected: 'tag names' }]);
  });

  it('of the whole of a file names no line', async () => {
    const problems = [{ file: 'reviews.zip', found: 'no train.tsv', expected: 'one' }];
    expect((await toldOf(new DatasetError(problems))).problems).toEqual(problems);
  });

  it.each<[OrchardError]>([
    [new TrainingError('the loss is no number')],
    [new DownloadError('https://example.com/reviews.zip', 'the server refused the connection')],
  ])('tells its own failure as it is: %s', async (failure) => {
    expect(await toldOf(failure)).toEqual({ code: failure.code, message: failure.message });
  });

  it('names the fields of a request, and not what only the service can set', async () => {
    const message =
      'it needs 3 GiB, but the limit is 2 GiB (`memoryLimit`): use a smaller `batchSize`, or a smaller `size`';
    expect((await toldOf(new TrainingError(message))).message).toBe(
      'it needs 3 GiB, but the limit is 2 GiB: use a smaller `batch_size`, or a smaller `size`',
    );
  });

  it('whose upload is gone says so, and not where it lay', async () => {
    const failure = new DownloadError(`file://${FOLDER}/uploads/1.zip`, 'there is no such file or folder');
    expect(await toldOf(failure)).toEqual({
      code: 'download',
      message: expect.stringContaining('upload it again'),
    });
  });

  it('is one of an upload by where its dataset lay, whatever the message says', () => {
    const message = 'dataset_url file: is quoted here';
    const told = (error: JobError) => jobAnswer({ ...aJob, error }).error?.message;
    expect(told({ code: 'download', message })).toBe(message);
    expect(told({ code: 'download', message: FOLDER, source: 'file' })).toContain('upload it again');
  });

  it.each<[OrchardError]>([
    [new StorageError(`writing ${FOLDER}/jobs/1.json: the disk is full`)],
    [new InternalError(`reading ${FOLDER}`)],
    [new ModelFolderError('config.json', `it is not in ${FOLDER}`)],
    [new ModelDownloadError('bert', `https://hub.internal${FOLDER}`, 'refused')],
    [new NotFoundError('backbone', 'english-mini', `looked in ${FOLDER}; install orchard-nlp-models`)],
  ])('tells nothing of the inside of the service: %s', async (failure) => {
    const error = await toldOf(failure);
    expect(error).toEqual({ code: failure.code, message: expect.stringContaining('the service failed') });
    expect(JSON.stringify(error)).not.toMatch(/srv|install|hub/);
  });
});

describe('the warnings of a job', () => {
  async function toldOfWarning(kind: DatasetWarningKind, message: string) {
    const { run, ended } = await aRunningJob();
    run.emit({ type: 'warnings', warnings: [{ kind, count: 1, message, examples: [] }] });
    await run.finish();
    const [{ message: told, ...rest }, ...others] = (await ended()).warnings;
    expect(rest).toEqual({ kind, count: 1 });
    expect(others).toEqual([]);
    return told;
  }

  it('tell what was noticed in the dataset', async () => {
    expect(await toldOfWarning('duplicate_row', 'a row is there twice')).toBe('a row is there twice');
  });

  it('of a kind that a family from elsewhere brings are told as they are', async () => {
    expect(await toldOfWarning('constructor', 'a pair is untranslated')).toBe('a pair is untranslated');
  });

  it('have no advice for who runs the service', async () => {
    const advice = "install orchard-nlp-models, or name a backbone in the trainer's option `backbone`";
    const told = await toldOfWarning('no_backbone', `there is no backbone for Latin; ${advice}`);
    expect(told).toContain('started from random weights');
    expect(told).not.toMatch(/install|orchard-nlp-models|option/);
  });

  it('name fields of the request, not options of the library', async () => {
    const told = await toldOfWarning('unfamiliar_text', "… start from a multilingual backbone (base: 'a/b')");
    expect(told).toMatch(/set `language` to the language of the texts, or compare with `use_pretrained: false`$/);
  });
});
