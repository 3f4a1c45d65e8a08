import { describe, expect, it } from 'vitest';
import type { ListFilter, TrainingJobStatus } from '../../src/contract/index.js';
import type { Trainer } from '../../src/jobs/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage, aTrainer, createJob, entityModel, errorOf } from './builders.js';
import { aRequest } from './request.js';

describe('listing jobs and models', () => {
  it('gives the newest first, 20 a page', async () => {
    const { trainer } = aTrainer();
    const ids = await createJobs(trainer, 21);
    const { data, pagination } = await resultOf(trainer.listModels());
    expect(data.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 20));
    expect(pagination).toMatchObject({ limit: 20, has_more: true, next_cursor: expect.any(String) });
  });

  it('gives every job once over the pages, though jobs are added meanwhile', async () => {
    const { trainer } = aTrainer();
    const ids = await createJobs(trainer, 5);
    const seen: string[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await resultOf(trainer.listTrainingJobs({ limit: 2, ...(cursor && { cursor }) }));
      seen.push(...page.data.map(({ model }) => model.id));
      cursor = page.pagination.next_cursor;
      expect(page.pagination.has_more).toBe(cursor !== null);
      await createJob(trainer);
    }
    expect(seen).toEqual(ids.toReversed());
  });

  it('has no more where the jobs just fill the page', async () => {
    const { trainer } = aTrainer();
    await createJobs(trainer, 2);
    const { pagination } = await resultOf(trainer.listModels({ limit: 2 }));
    expect(pagination).toEqual({ limit: 2, has_more: false, next_cursor: null });
  });

  it('finds what a filter asks for beyond the records read at a time', async () => {
    const { trainer } = aTrainer({ maxWaitingJobs: 1000 });
    const oldest = await createEntityJob(trainer, 'sequence-labeling');
    await createJobs(trainer, 120);
    const { data } = await resultOf(trainer.listModels({ modelType: 'sequence-labeling', limit: 1 }));
    expect(data.map(({ id }) => id)).toEqual([oldest]);
  });

  it.each(['named-entity-recognition', 'sequence-labeling'] as const)(
    'finds entity jobs of either type by %s',
    async (modelType) => {
      const { trainer } = aTrainer();
      const labeling = await createEntityJob(trainer, 'sequence-labeling');
      const recognition = await createEntityJob(trainer, 'named-entity-recognition');
      await createJob(trainer);
      const { data } = await resultOf(trainer.listModels({ modelType }));
      expect(data.map(({ id }) => id)).toEqual([recognition, labeling]);
    },
  );

  it('leaves DELETED ones out unless they are asked for', async () => {
    const { trainer, host } = aTrainer();
    const running = await createJob(trainer);
    await host.nextRun();
    const deleted = await createJob(trainer);
    await resultOf(trainer.deleteModel(deleted));
    const listed = async (trainingStatus?: TrainingJobStatus) => {
      const page = await resultOf(trainer.listModels(trainingStatus ? { trainingStatus } : {}));
      return page.data.map(({ id }) => id);
    };
    expect(await listed()).toEqual([running]);
    expect(await listed('RUNNING')).toEqual([running]);
    expect(await listed('DELETED')).toEqual([deleted]);
    expect(await listed('READY')).toEqual([]);
  });

  it('shows an account its own alone, also where one name begins with the other', async () => {
    const storage = aMemoryStorage();
    const accounts = ['app', 'app/', 'app2'];
    const trainers = accounts.map((app_id) => aTrainer({ storage, account: { app_id, tier: 'pro' } }).trainer);
    const ids = await Promise.all(trainers.map((trainer) => createJob(trainer)));
    for (const [index, trainer] of trainers.entries()) {
      expect((await resultOf(trainer.listModels())).data.map(({ id }) => id)).toEqual([ids[index]]);
    }
  });

  it.each<[string, ListFilter]>([
    ['limit', { limit: 0 }],
    ['limit', { limit: 101 }],
    ['cursor', { cursor: 'made up' }],
    ['cursor', { cursor: Buffer.from('local/1').toString('base64url') }],
  ])('names the field %s where it breaks a rule', async (field, filter) => {
    const { trainer } = aTrainer();
    for (const call of [trainer.listModels(filter), trainer.listTrainingJobs(filter)]) {
      expect(await errorOf(call)).toMatchObject({ code: 'validation', problems: [{ loc: [field] }] });
    }
  });
});

async function createJobs(trainer: Trainer, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) ids.push(await createJob(trainer));
  return ids;
}

function createEntityJob(trainer: Trainer, type: 'sequence-labeling' | 'named-entity-recognition'): Promise<string> {
  return createJob(trainer, { ...aRequest, model_config: { ...entityModel, type } });
}
