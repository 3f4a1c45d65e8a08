import { describe, expect, it } from 'vitest';
import { DatasetError, DownloadError, TrainingError } from '../../src/contract/errors.js';
import { trainingJobInformationSchema } from '../../src/contract/index.js';
import type { Trainer } from '../../src/jobs/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, errorOf, statusOf } from './builders.js';
import { type FakeRun, statsAfter } from './fake-host.js';
import { aRequest } from './request.js';

const ABSENT = '01a0b1c2-d3e4-7f56-8a9b-0c1d2e3f4a5b';

describe('a training job', () => {
  it('is QUEUED when it has been created', async () => {
    const { trainer, host } = aTrainer();
    await createJob(trainer);
    await host.nextRun();
    expect(await statusOf(trainer, await createJob(trainer))).toBe('QUEUED');
  });

  it('reads as the documented object, before any epoch with empty figures', async () => {
    const { trainer } = aTrainer();
    const id = await createJob(trainer);
    const { warnings, ...documented } = await resultOf(trainer.getTrainingJob(id));
    expect(trainingJobInformationSchema.safeParse(documented).error).toBeUndefined();
    expect(warnings).toEqual([]);
    expect(documented.model).toMatchObject({ id, app_id: 'local', name: 'reviews', modality: 'language' });
    expect(documented.created).toBe('2026-11-20T08:15:30.123+00:00');
    expect(documented.training_stats).toEqual({
      batch_size: 0,
      epoch: 0,
      metrics: { elapsed_time: [], training: { loss: [] }, validation: {} },
    });
  });

  it('tells the batch size that was asked for, and then the one that its training takes', async () => {
    const { trainer, host } = aTrainer();
    const batchSizeOf = async (id: string) => (await resultOf(trainer.getTrainingJob(id))).training_stats.batch_size;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const asked = await createJob(trainer, { ...aRequest, training_config: { batch_size: 4 } });
    expect(await batchSizeOf(asked)).toBe(4);
    expect(await batchSizeOf(id)).toBe(0);
    run.emit({ type: 'plan', batchSize: 16, epochs: 3 });
    run.fail(new TrainingError('training diverged'));
    const { training_stats } = await resultOf(trainer.waitForTrainingJob(id));
    expect(training_stats).toMatchObject({ batch_size: 16, epoch: 0 });
  });

  it('tells what encoder and expert reach together beside the figures of the encoder', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const figures = (value: number) => ({
      accuracy: value,
      f1: value,
      value,
      weights: { encoder: 1, expert: 1, bias: [] },
    });
    run.emit({ type: 'blend', parts: { encoder: figures(0.9), expert: figures(0.8), blend: figures(0.95) } });
    await run.finish(statsAfter(2));
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.blend).toEqual({ accuracy: 0.95, f1: 0.95 });
    expect(job.training_stats).toEqual(statsAfter(2));
  });

  it('tells what both reach by the figures of its task alone', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const topk = { 1: 0.5, 3: 0.6, 5: 0.7, 10: 0.8, 20: 0.9, 100: 1 };
    const figures = { topk, value: 0.5, weights: { encoder: 1, expert: 1, bias: [] } };
    run.emit({ type: 'blend', parts: { encoder: figures, expert: figures, blend: figures } });
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).blend).toEqual({ topk });
  });

  it('that goes on tells its warnings once', async () => {
    const storage = aMemoryStorage();
    const first = aTrainer({ storage });
    const id = await createJob(first.trainer);
    const warning = { kind: 'duplicate_row', count: 1, message: 'a', examples: [] } as const;
    (await first.host.nextRun()).emit({ type: 'warnings', warnings: [warning] });
    await first.trainer.close();
    const { trainer, host } = aTrainer({ storage });
    const run = await host.nextRun();
    run.emit({ type: 'warnings', warnings: [warning] });
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).warnings).toEqual([warning]);
  });

  it.each([
    ['file:///data/reviews.zip', 'file'],
    ['https://example.com/reviews.zip', 'web'],
  ])('whose dataset %s can not be had says where it should have come from', async (url, source) => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    (await host.nextRun()).fail(new DownloadError(url, 'file: is what this message begins with'));
    expect((await resultOf(trainer.waitForTrainingJob(id))).error).toMatchObject({
      code: 'download',
      source,
    });
  });

  it('hands the host the request, the seed and a directory of its own', async () => {
    const { trainer, host } = aTrainer({ seed: 7, threads: 2, allowFileUrls: false });
    const training_config = { num_epochs: 3 };
    const id = await createJob(trainer, { ...aRequest, training_config });
    const { spec } = await host.nextRun();
    const { dataset_url, model_config } = aRequest;
    const dataset = { url: dataset_url };
    expect(spec).toMatchObject({ id, dataset, model_config, training_config, seed: 7, threads: 2 });
    expect(spec.allowFileUrls).toBe(false);
    expect(spec.directory).not.toBe('');
  });

  it('is READY with its folder published and its figures kept once the run has finished', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    await (await host.nextRun()).finish(statsAfter(3));
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.status).toBe('READY');
    expect(job.training_stats).toEqual(statsAfter(3));
    expect(await storage.openFolder(id)).toBeDefined();
  });

  it('keeps the figures of each epoch that has ended', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    run.emit({ type: 'epoch', stats: statsAfter(1) });
    run.fail(new TrainingError('training diverged'));
    const job = await resultOf(trainer.waitForTrainingJob(id));
    expect(job.training_stats).toEqual(statsAfter(1));
  });

  it('is ERROR with what was wrong in the dataset, and leaves no folder', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    const problem = { file: 'train.tsv', line: 2, found: '7', expected: '0 or 1' };
    const run = await host.nextRun();
    await run.finish();
    const other = await createJob(trainer);
    (await host.nextRun()).fail(new DatasetError([problem]));
    const job = await resultOf(trainer.waitForTrainingJob(other));
    expect(job.status).toBe('ERROR');
    expect(job.error).toEqual({
      code: 'dataset',
      message: 'train.tsv line 2: 7; expected 0 or 1',
      problems: [problem],
    });
    expect(await storage.openFolder(other)).toBeUndefined();
    expect(await statusOf(trainer, id)).toBe('READY');
  });

  it('is ERROR where the host throws', async () => {
    const { trainer, host } = aTrainer();
    host.run = () => {
      throw new Error('no memory');
    };
    const job = await resultOf(trainer.waitForTrainingJob(await createJob(trainer)));
    expect(job.error).toMatchObject({ code: 'internal', message: expect.stringContaining('no memory') });
  });

  it('keeps the warnings about the dataset, of all notices together', async () => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const duplicates = { kind: 'duplicate_row', count: 1, message: 'a', examples: [] } as const;
    const cut = {
      kind: 'truncated_text',
      count: 2,
      message: 'b',
      examples: [{ file: 'f', line: 3 }],
    } as const;
    run.emit({ type: 'warnings', warnings: [duplicates] });
    run.emit({ type: 'warnings', warnings: [cut] });
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).warnings).toEqual([duplicates, cut]);
  });

  it('is not found under an unknown id, an id of another form, or by another account', async () => {
    const storage = aMemoryStorage();
    const id = await createJob(aTrainer({ storage }).trainer);
    const { trainer } = aTrainer({ storage, account: { app_id: 'other', tier: 'pro' } });
    for (const unknown of [ABSENT, '../jobs', '', 'x'.repeat(500), id]) {
      const jobCalls = [
        trainer.getTrainingJob(unknown),
        trainer.cancelTrainingJob(unknown),
        trainer.waitForTrainingJob(unknown),
      ];
      for (const call of jobCalls) {
        expect(await errorOf(call)).toMatchObject({
          code: 'not_found',
          resource: 'training job',
          id: unknown,
        });
      }
      for (const call of [trainer.getModel(unknown), trainer.deleteModel(unknown)]) {
        expect(await errorOf(call)).toMatchObject({ code: 'not_found', resource: 'model', id: unknown });
      }
      await expect(trainer.watch(unknown).next()).rejects.toMatchObject({ code: 'not_found' });
    }
  });
});

describe('creating a training job', () => {
  it('names each field that breaks a rule', async () => {
    const { trainer } = aTrainer();
    const model_config = { ...aRequest.model_config, name: 'Not Allowed', family: 'Dragonfruit' } as const;
    const error = await errorOf(trainer.createTrainingJob({ ...aRequest, dataset_url: '', model_config }));
    expect(error.code === 'validation' && error.problems.map(({ loc }) => loc)).toEqual([
      ['dataset_url'],
      ['model_config', 'name'],
      ['model_config', 'family'],
    ]);
  });

  it.each(['ftp://example.com/a.zip', 'reviews.zip', 'http://'])('refuses the dataset_url %s', async (dataset_url) => {
    const { trainer } = aTrainer();
    const error = await errorOf(trainer.createTrainingJob({ ...aRequest, dataset_url }));
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['dataset_url'] }] });
  });

  it('takes a file URL only where they are allowed', async () => {
    const request = { ...aRequest, dataset_url: 'file:///data/reviews.zip' };
    expect(await createJob(aTrainer().trainer, request)).toBeTypeOf('string');
    const { trainer } = aTrainer({ allowFileUrls: false });
    expect(await errorOf(trainer.createTrainingJob(request))).toMatchObject({
      code: 'validation',
      problems: [{ loc: ['dataset_url'] }],
    });
  });

  it('takes a file URL of the application’s own where it says so, and then runs it', async () => {
    const request = { ...aRequest, dataset_url: 'file:///data/reviews.zip' };
    const { trainer, host } = aTrainer({ allowFileUrls: false, allowPrivateAddresses: false });
    await resultOf(trainer.createTrainingJob(request, { allowFileUrl: true }));
    expect((await host.nextRun()).spec.allowFileUrls).toBe(true);
    const other = aTrainer({ allowFileUrls: true }).trainer;
    expect((await errorOf(other.createTrainingJob(request, { allowFileUrl: false }))).code).toBe('validation');
  });

  it('needs the pro tier for question answering', async () => {
    const model_config = {
      name: 'faq',
      type: 'question-answering',
      family: 'Dragonfruit',
      size: 'mini',
    } as const;
    const { trainer } = aTrainer({ account: { app_id: 'small', tier: 'basic' } });
    expect((await errorOf(trainer.createTrainingJob({ ...aRequest, model_config }))).code).toBe('tier');
    expect(await createJob(trainer)).toBeTypeOf('string');
    expect(await createJob(aTrainer().trainer, { ...aRequest, model_config })).toBeTypeOf('string');
  });

  it('creates nothing once its signal has fired', async () => {
    const { trainer } = aTrainer();
    const aborted = AbortSignal.abort();
    expect((await errorOf(trainer.createTrainingJob(aRequest, { signal: aborted }))).code).toBe('aborted');
    const controller = new AbortController();
    const creating = trainer.createTrainingJob(aRequest, { signal: controller.signal });
    controller.abort();
    expect((await errorOf(creating)).code).toBe('aborted');
    expect((await resultOf(trainer.listTrainingJobs())).data).toEqual([]);
  });

  it('leaves the job alone when its signal fires later', async () => {
    const { trainer, host } = aTrainer();
    const controller = new AbortController();
    const { signal } = controller;
    const { id } = await resultOf(trainer.createTrainingJob(aRequest, { signal }));
    const run = await host.nextRun();
    controller.abort();
    await run.finish();
    expect((await resultOf(trainer.waitForTrainingJob(id))).status).toBe('READY');
  });

  it('refuses one more than may wait, also of several created together', async () => {
    const { trainer, host } = aTrainer({ maxWaitingJobs: 2 });
    await createJob(trainer);
    await host.nextRun();
    const results = await Promise.all([1, 2, 3].map(() => trainer.createTrainingJob(aRequest)));
    expect(results.map((result) => result.isOk())).toEqual([true, true, false]);
    expect(results[2]?.isErr() && results[2].error).toMatchObject({ code: 'queue_full', waiting: 2 });
  });

  it('refuses it also where none of the jobs runs yet', async () => {
    const { trainer } = aTrainer({ maxWaitingJobs: 2, runsJobs: false });
    await createJob(trainer);
    await createJob(trainer);
    expect(await errorOf(trainer.createTrainingJob(aRequest))).toMatchObject({ code: 'queue_full', waiting: 2 });
  });
});

describe('cancelling and deleting', () => {
  it('cancels a waiting job, which then never runs', async () => {
    const { trainer, host } = aTrainer();
    await createJob(trainer);
    const running = await host.nextRun();
    const waiting = await createJob(trainer);
    const last = await createJob(trainer);
    await resultOf(trainer.cancelTrainingJob(waiting));
    expect(await statusOf(trainer, waiting)).toBe('CANCELLED');
    await running.finish();
    expect((await host.nextRun()).spec.id).toBe(last);
  });

  it('cancels a running job once its run has stopped, and leaves nothing staged', async () => {
    const { trainer, host, storage } = aTrainer();
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const cancelling = trainer.cancelTrainingJob(id);
    await new Promise((resolve) => run.options.signal.addEventListener('abort', resolve));
    expect(await statusOf(trainer, id)).toBe('RUNNING');
    run.obey();
    await resultOf(cancelling);
    expect(await statusOf(trainer, id)).toBe('CANCELLED');
    await expect(storage.publishFolder(id)).rejects.toThrow('nothing is staged');
  });

  it('counts as cancelled though the run finishes while it is being stopped', async () => {
    const { trainer, host, storage } = aTrainer();
    host.obeys = false;
    const id = await createJob(trainer);
    const run = await host.nextRun();
    const cancelling = trainer.cancelTrainingJob(id);
    await new Promise((resolve) => run.options.signal.addEventListener('abort', resolve));
    await run.finish();
    await resultOf(cancelling);
    expect(await statusOf(trainer, id)).toBe('CANCELLED');
    expect(await storage.openFolder(id)).toBeUndefined();
  });

  it.each<[string, (id: string, trainer: Trainer, run: FakeRun) => Promise<unknown>]>([
    ['it has already been trained', (_id, _trainer, run) => run.finish()],
    ['it has already failed', async (_id, _trainer, run) => run.fail(new TrainingError('it diverged'))],
    ['it has already been cancelled', (id, trainer) => resultOf(trainer.cancelTrainingJob(id))],
    ['its model has been deleted', (id, trainer) => resultOf(trainer.deleteModel(id))],
  ])('cannot cancel a job that has ended: %s', async (reason, end) => {
    const { trainer, host } = aTrainer();
    const id = await createJob(trainer);
    await end(id, trainer, await host.nextRun());
    await resultOf(trainer.waitForTrainingJob(id));
    const error = await errorOf(trainer.cancelTrainingJob(id));
    expect(error).toMatchObject({ code: 'transition', id, to: 'CANCELLED' });
    expect(error.message).toBe(`training job ${id} can't be cancelled: ${reason}`);
  });

  it('deletes a model: its folder goes, its record stays as DELETED', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    await (await host.nextRun()).finish();
    await resultOf(trainer.waitForTrainingJob(id));
    await resultOf(trainer.deleteModel(id));
    expect(await storage.openFolder(id)).toBeUndefined();
    expect((await resultOf(trainer.getModel(id))).training_status).toBe('DELETED');
    expect(await statusOf(trainer, id)).toBe('DELETED');
  });

  it('stops a running job before it deletes it', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    const run = await host.nextRun();
    await resultOf(trainer.deleteModel(id));
    expect(run.options.signal.aborted).toBe(true);
    expect(await statusOf(trainer, id)).toBe('DELETED');
    await expect(storage.publishFolder(id)).rejects.toThrow('nothing is staged');
  });

  it('deletes a waiting job, which then never runs', async () => {
    const { trainer, host } = aTrainer();
    await createJob(trainer);
    const running = await host.nextRun();
    const waiting = await createJob(trainer);
    const last = await createJob(trainer);
    await resultOf(trainer.deleteModel(waiting));
    await running.finish();
    expect((await host.nextRun()).spec.id).toBe(last);
    expect(await statusOf(trainer, waiting)).toBe('DELETED');
  });

  it('removes on a second deletion what the first one could not', async () => {
    const { trainer, host, storage } = aTrainer();
    const id = await createJob(trainer);
    await (await host.nextRun()).finish();
    await resultOf(trainer.waitForTrainingJob(id));
    const { removeFolder } = storage;
    storage.removeFolder = () => Promise.reject(new Error('busy'));
    expect(await errorOf(trainer.deleteModel(id))).toMatchObject({ code: 'storage', message: 'busy' });
    storage.removeFolder = removeFolder;
    await resultOf(trainer.deleteModel(id));
    expect(await storage.openFolder(id)).toBeUndefined();
  });
});
