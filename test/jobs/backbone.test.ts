import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TrainingEvent } from '../../src/jobs/index.js';
import { folderModels, type LoadOptions, type ModelLoader } from '../../src/models/index.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aTrainer, createJob, entityModel, statusOf } from './builders.js';
import { aRequest } from './request.js';

/** A loader whose answer the test decides. */
function aLoader(load: ModelLoader['load']): ModelLoader {
  return { specificationVersion: 1, load };
}

describe('the backbone of a trainer', () => {
  it('is loaded for each job and given to its run, by where its files lie', async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'owner', 'tiny'), { recursive: true });
    const { trainer, host } = aTrainer({ backbone: 'owner/tiny', modelLoader: folderModels(root) });
    await createJob(trainer);
    const run = await host.nextRun();
    expect(run.spec.backbone).toEqual({ name: 'owner/tiny', directory: join(root, 'owner', 'tiny') });
  });

  it('is asked for by the files that training reads, and pinned by its revision', async () => {
    const asked: LoadOptions[] = [];
    const modelLoader = aLoader(async (_, options = {}) => {
      asked.push(options);
      return { directory: '/models/tiny', revision: 'abc', more: () => 'what no other thread can have' };
    });
    const { trainer, host } = aTrainer({ backbone: 'owner/tiny', modelLoader });
    await createJob(trainer);
    const { spec } = await host.nextRun();
    expect(spec.backbone).toEqual({ name: 'owner/tiny', directory: '/models/tiny', revision: 'abc' });
    expect(asked[0]?.files).toEqual(expect.arrayContaining(['config.json', 'model.safetensors', 'vocab.txt']));
  });

  it.each([
    [{}, 'english-mini'],
    [{ language: 'EN' }, 'english-mini'],
    [{ language: 'japanese' }, 'japanese-mini'],
  ])('that is not named is the one for the language and size: %o', async (training_config, name) => {
    const root = temporaryDirectory();
    mkdirSync(join(root, name));
    const { trainer, host } = aTrainer({ modelLoader: folderModels(root) });
    await createJob(trainer, { ...aRequest, training_config });
    expect((await host.nextRun()).spec.backbone).toEqual({ name, directory: join(root, name) });
  });

  it('that is not named is the one for finding entities where a job learns to and there is one', async () => {
    const root = temporaryDirectory();
    const model_config = { ...entityModel, type: 'named-entity-recognition', size: 'mini' } as const;
    const backboneOf = async (request: typeof aRequest) => {
      const { trainer, host } = aTrainer({ modelLoader: folderModels(root) });
      await createJob(trainer, request);
      return (await host.nextRun()).spec.backbone?.name;
    };
    mkdirSync(join(root, 'english-mini'));
    expect(await backboneOf({ ...aRequest, model_config })).toBe('english-mini');
    mkdirSync(join(root, 'english-mini-entities'));
    expect(await backboneOf({ ...aRequest, model_config })).toBe('english-mini-entities');
    expect(await backboneOf(aRequest)).toBe('english-mini');
  });

  it('that is not named and not to be had is none', async () => {
    const { trainer, host } = aTrainer({ modelLoader: folderModels(temporaryDirectory()) });
    await createJob(trainer);
    expect((await host.nextRun()).spec.backbone).toBeUndefined();
  });

  it('that is not named and fails to load ends the job', async () => {
    const modelLoader = aLoader(() => Promise.reject(new Error('the disk is on fire')));
    const { trainer, host } = aTrainer({ modelLoader });
    const id = await createJob(trainer);
    expect(await resultOf(trainer.waitForTrainingJob(id))).toMatchObject({ status: 'ERROR' });
    expect(host.runs).toEqual([]);
  });

  it('is left alone where use_pretrained is false', async () => {
    const modelLoader = aLoader(() => Promise.reject(new Error('asked')));
    const { trainer, host } = aTrainer({ backbone: 'owner/tiny', modelLoader });
    await createJob(trainer, { ...aRequest, training_config: { use_pretrained: false } });
    expect((await host.nextRun()).spec.backbone).toBeUndefined();
  });

  it('that does not exist ends the job in ERROR, with its name and what there is', async () => {
    const root = temporaryDirectory();
    const { trainer, host } = aTrainer({ backbone: 'owner/absent', modelLoader: folderModels(root) });
    const id = await createJob(trainer);
    const { status, error } = await resultOf(trainer.waitForTrainingJob(id));
    expect(status).toBe('ERROR');
    const message = `no backbone "owner/absent": ${root} has no subfolders`;
    expect(error).toMatchObject({ code: 'not_found', message });
    expect(host.runs).toEqual([]);
  });

  it('tells how far its download is', async () => {
    const modelLoader = aLoader(async (model, { onProgress } = {}) => {
      onProgress?.({ model, file: 'model.safetensors', receivedBytes: 5, totalBytes: 10 });
      return { directory: '/models/tiny' };
    });
    const { trainer, host } = aTrainer({ backbone: 'owner/tiny', modelLoader });
    const id = await createJob(trainer);
    const events = allEvents(trainer.watch(id));
    await (await host.nextRun()).finish();
    expect((await events).filter(({ type }) => type === 'backbone')).toEqual([
      {
        type: 'backbone',
        id,
        model: 'owner/tiny',
        file: 'model.safetensors',
        receivedBytes: 5,
        totalBytes: 10,
      },
    ]);
  });

  it('stops loading when the job is cancelled', async () => {
    let begun: () => void = () => undefined;
    const loading = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const modelLoader = aLoader((_, { signal } = {}) => {
      begun();
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    });
    const { trainer, host } = aTrainer({ backbone: 'owner/tiny', modelLoader });
    const id = await createJob(trainer);
    await loading;
    await resultOf(trainer.cancelTrainingJob(id));
    expect(await statusOf(trainer, id)).toBe('CANCELLED');
    expect(host.runs).toEqual([]);
  });

  it('is no empty name', () => {
    expect(() => aTrainer({ backbone: '' })).toThrow('backbone');
  });
});

async function allEvents(watch: AsyncIterable<TrainingEvent>): Promise<TrainingEvent[]> {
  const events: TrainingEvent[] = [];
  for await (const event of watch) events.push(event);
  return events;
}
