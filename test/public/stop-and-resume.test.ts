import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStorage, Predictor, Trainer, type TrainingIsolation } from 'orchard-nlp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sentimentRequest, temporaryFolder } from './sentiments.js';

/** Stopping, deleting and resuming real trainings, in a worker thread and in a child process. */

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true }));

/** Starts a long training and waits until it has taken some steps. */
async function runningTrainer(isolation: TrainingIsolation) {
  const storage = fileStorage(join(folder, 'storage'));
  const trainer = new Trainer({ storage, isolation, threads: 1 });
  const request = await sentimentRequest(folder, { num_epochs: 500 });
  const { id } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
  for await (const event of trainer.watch(id)) if (event.type === 'progress' && event.step >= 2) break;
  return { storage, trainer, id };
}

describe.each(['worker', 'process'] as const)('a training in a %s', (isolation) => {
  it('is cancelled while it runs, and its model then answers with a clear error', async () => {
    const { storage, trainer, id } = await runningTrainer(isolation);
    expect((await trainer.cancelTrainingJob(id)).isOk()).toBe(true);
    const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
    expect(job.status).toBe('CANCELLED');
    await using predictor = new Predictor({ storage });
    const error = (await predictor.predictCustom(id, 'x'))._unsafeUnwrapErr();
    expect(error.code).toBe('model_not_ready');
    expect(error.message).toContain('CANCELLED');
    await trainer.close();
  });

  it('is stopped and deleted, files and all', async () => {
    const { storage, trainer, id } = await runningTrainer(isolation);
    expect((await trainer.deleteModel(id)).isOk()).toBe(true);
    expect(await storage.openFolder(id)).toBeUndefined();
    await using predictor = new Predictor({ storage });
    expect((await predictor.predictCustom(id, 'x'))._unsafeUnwrapErr().code).toBe('not_found');
    await trainer.close();
  });
});

describe('an archive that can not be trained on', () => {
  it('ends the job in ERROR with the problem kept, and the next job runs', async () => {
    const storage = fileStorage(join(folder, 'storage'));
    await using trainer = new Trainer({ storage, threads: 1 });
    const request = await sentimentRequest(folder, { num_epochs: 1 });
    const missing = { ...request, dataset_url: `${request.dataset_url}.gone` };
    const { id } = (await trainer.createTrainingJob(missing))._unsafeUnwrap();
    const { id: next } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
    const job = (await trainer.waitForTrainingJob(id))._unsafeUnwrap();
    expect(job.status).toBe('ERROR');
    expect(job.error?.message).toContain('sentiments.zip.gone');
    expect((await trainer.waitForTrainingJob(next))._unsafeUnwrap().status).toBe('READY');
  });
});
