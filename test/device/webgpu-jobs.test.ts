/** Jobs and queries on WebGPU, in software, through the public classes: in worker threads and child processes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createClassificationArchive,
  fileStorage,
  Predictor,
  Trainer,
  type TrainingEvent,
} from 'orchard-nlp';
import { expect, it, onTestFinished } from 'vitest';
import { resultOf } from '../support/outcomes.js';
import { describeWebGpu } from '../support/software-vulkan.js';

const rows = ['good', 'bad'].flatMap((label) =>
  ['it is', 'they are', 'all was', 'that was', 'the sea is'].map((text) => ({
    text: `${text} ${label}`,
    label,
  })),
);
const queries = ['the sea was good', 'all of it is bad', 'it'];

async function dataset(folder: string): Promise<string> {
  const path = join(folder, 'data.zip');
  const type = 'binary-text-classification';
  await resultOf(createClassificationArchive({ type, name: 'small', rows, devRows: rows }, path));
  return pathToFileURL(path).href;
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-webgpu-jobs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Trains a model on WebGPU. @returns its id and what its job told. */
async function train(folder: string, isolation: 'worker' | 'process') {
  const storage = fileStorage(join(folder, 'storage'));
  await using trainer = new Trainer({ storage, isolation, device: 'webgpu', threads: 1 });
  const { id } = await resultOf(
    trainer.createTrainingJob({
      dataset_url: await dataset(folder),
      model_config: { name: 'small', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
      training_config: { num_epochs: 2, batch_size: 5, use_pretrained: false },
    }),
  );
  const events: TrainingEvent[] = [];
  for await (const event of trainer.watch(id)) events.push(event);
  const job = await resultOf(trainer.getTrainingJob(id));
  return { id, job, events, storage };
}

describeWebGpu('on WebGPU', () => {
  it.each(['worker', 'process'] as const)('a job trains in a %s', async (isolation) => {
    const { job, events } = await train(await temporaryFolder(), isolation);
    expect(job.error).toBeUndefined();
    expect(job.status).toBe('READY');
    expect(job.warnings.map(({ kind }) => kind)).not.toContain('device');
    expect(events.flatMap((event) => (event.type === 'device' ? event.device : []))).toEqual(['webgpu']);
  });

  it('queries get the scores of the processor, also from several threads at once', async () => {
    const { id, storage } = await train(await temporaryFolder(), 'worker');
    await using onCpu = new Predictor({ storage });
    await using onDevice = new Predictor({ storage, device: 'webgpu', workers: 2 });
    const expected = (await resultOf(onCpu.predictCustomBatch(id, queries))).data;
    const asked = Array.from({ length: 12 }, () => resultOf(onDevice.predictCustomBatch(id, queries)));
    for (const { data } of await Promise.all(asked)) {
      expect(data.map(({ labels }) => labels)).toEqual(expected.map(({ labels }) => labels));
      data.forEach(({ scores }, at) => {
        for (const [rank, score] of scores.entries()) {
          // The processor may answer with 8-bit weights.
          expect(score).toBeCloseTo(expected[at]?.scores[rank] ?? Number.NaN, 1);
        }
      });
    }
    expect(onDevice.stats().models).toMatchObject([{ device: 'webgpu' }]);
    expect(onCpu.stats().models).toMatchObject([{ device: 'cpu' }]);
  });
});
