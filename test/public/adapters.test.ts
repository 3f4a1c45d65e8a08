import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStorage, folderModels, Predictor, type Storage, Trainer, type Tuning } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeSafetensors, TRAINING_FILE, trainingRecordSchema } from '../../src/models/index.js';
import { bertTensors, writeCheckpoint } from '../support/checkpoint-builder.js';
import { sentimentRequest, temporaryFolder } from './sentiments.js';

/** Jobs with adapters or frozen layers, from the request to a model folder that is like any other. */

let folder: string;
let storage: Storage;
beforeAll(async () => {
  folder = await temporaryFolder();
  storage = fileStorage(join(folder, 'storage'));
  writeCheckpoint(join(folder, 'backbones', 'tiny'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Trains for two epochs. */
async function trained(tuning: Tuning, use_pretrained = true) {
  await using trainer = new Trainer({
    storage,
    threads: 1,
    tuning,
    backbone: 'tiny',
    modelLoader: folderModels(join(folder, 'backbones')),
  });
  const request = await sentimentRequest(folder, {
    num_epochs: 2,
    learning_rate: 0.01,
    use_pretrained,
    language: 'english',
  });
  const { id } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
  const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
  const directory = await storage.openFolder(id);
  const read = (name: string) => readFile(join(directory ?? '', name));
  return { id, job, read };
}

describe('a job with adapters', () => {
  it('makes a model of plain weights, which says that they were trained by adapters', async () => {
    const { id, job, read } = await trained({ adapters: { rank: 2, alpha: 4, targets: ['value'] } });
    expect(job).toMatchObject({ status: 'READY' });
    const { tensors } = decodeSafetensors(await read('model.safetensors'), 'model.safetensors');
    const changed = [...bertTensors].flatMap(([name, { values }]) => {
      const after = tensors.get(`bert.${name}`)?.values;
      // The pooler isn't there: a number in its place keeps transformers from making one up.
      if (after?.length !== values.length) return [];
      return values.every((value, at) => Object.is(value, after[at])) ? [] : [name];
    });
    expect(changed).toEqual([0, 1].map((layer) => `encoder.layer.${layer}.attention.self.value.weight`));
    expect([...tensors.keys()].filter((name) => name.includes('lora'))).toEqual([]);
    const record = trainingRecordSchema.parse(JSON.parse((await read(TRAINING_FILE)).toString()));
    expect(record.hyperparameters).toMatchObject({
      frozen: 'the backbone',
      adapterRank: 2,
      adapterAlpha: 4,
      adapterTargets: 'value',
    });
    expect((await read('README.md')).toString()).toMatch(/adapter rank \| 2 \|/);
    await using predictor = new Predictor({ storage });
    const answer = (await predictor.predictCustom(id, 'the lamp is great'))._unsafeUnwrap();
    expect(answer.data.labels).toHaveLength(2);
  });

  it('ends in ERROR without a backbone, and says what to do', async () => {
    const { job } = await trained({ adapters: {} }, false);
    expect(job.status).toBe('ERROR');
    expect(job.error).toMatchObject({
      code: 'training',
      message: expect.stringContaining('name a backbone'),
    });
  });
});

it('a job with frozen embeddings leaves them as they are', async () => {
  const { job, read } = await trained({ freeze: 'embeddings' });
  expect(job.status).toBe('READY');
  const { tensors } = decodeSafetensors(await read('model.safetensors'), 'model.safetensors');
  for (const [name, { values }] of bertTensors) {
    const isEmbedding = name.startsWith('embeddings.');
    if (isEmbedding) expect(tensors.get(`bert.${name}`)?.values).toEqual(values);
    else if (name.endsWith('query.weight')) expect(tensors.get(`bert.${name}`)?.values).not.toEqual(values);
  }
});
