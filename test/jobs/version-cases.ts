import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ModelType } from '../../src/contract/index.js';
import {
  eraseAccount,
  JobRepository,
  ModelVersions,
  newJobRecord,
  noCounts,
  ShadowCountRecords,
} from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { aTrainer } from './builders.js';
import { aRequest } from './request.js';
import { app_id, idOf } from './some-jobs.js';

const NAME = 'support@production';
const account = { app_id, tier: 'pro' } as const;
const [A, B, C] = [idOf(1), idOf(2), idOf(3)];

/** A READY model as far as the storage knows. */
export async function aReadyJob(storage: Storage, id: string, type: ModelType = 'binary-text-classification') {
  const request = { ...aRequest, model_config: { ...aRequest.model_config, type } };
  const job = newJobRecord(request, { id, app_id, created: '2026-11-21T08:15:30.123+00:00', seed: 1 });
  await new JobRepository(storage, app_id).create({ ...job, status: 'READY' });
  await writeFile(join(await storage.stageFolder(id), 'file'), 'content');
  await storage.publishFolder(id);
}

const pointsTo = async (versions: ModelVersions, name = NAME) => (await resultOf(versions.get(name))).model_id;

/** What names that point to models promise, on any storage. @param open opens the storage of the running test, again and again */
export function versionCases(open: () => Promise<() => Storage>): void {
  async function threeModels() {
    const opened = await open();
    const storage = opened();
    for (const id of [A, B, C]) await aReadyJob(storage, id);
    return { storage, opened, versions: new ModelVersions({ storage, account }) };
  }

  describe('a name', () => {
    it('points to the model that was promoted last, and keeps the history', async () => {
      const { versions } = await threeModels();
      const first = await resultOf(versions.promote(NAME, A));
      expect(first).toMatchObject({ name: NAME, model_id: A, previous_model_id: null, shadow: null });
      const second = await resultOf(versions.promote(NAME, B));
      expect(second).toEqual({
        name: NAME,
        model_id: B,
        previous_model_id: A,
        history: [
          { action: 'promote', model_id: B, from: A, at: expect.stringMatching(/^20.*\+00:00$/) },
          { action: 'promote', model_id: A, from: null, at: first.history[0]?.at },
        ],
        shadow: null,
      });
      expect(await resultOf(versions.list())).toEqual([second]);
    });

    it('is unchanged when the same model is promoted again', async () => {
      const { versions } = await threeModels();
      const once = await resultOf(versions.promote(NAME, A));
      expect(await resultOf(versions.promote(NAME, A))).toEqual(once);
    });

    it('returns step by step to the models before', async () => {
      const { versions } = await threeModels();
      for (const id of [A, B, C]) await resultOf(versions.promote(NAME, id));
      expect(await resultOf(versions.rollBack(NAME))).toMatchObject({ model_id: B, previous_model_id: A });
      expect(await resultOf(versions.rollBack(NAME))).toMatchObject({ model_id: A, previous_model_id: null });
      expect(await errorOf(versions.rollBack(NAME))).toMatchObject({
        code: 'rollback',
        message: `${NAME} can't be rolled back: it has no earlier model to return to; promote one`,
      });
      expect((await resultOf(versions.get(NAME))).history.map(({ action }) => action)).toEqual([
        'rollback',
        'rollback',
        'promote',
        'promote',
        'promote',
      ]);
    });

    it('is rolled back once, however often a rollback from the same model is repeated', async () => {
      const { versions } = await threeModels();
      for (const id of [A, B, C]) await resultOf(versions.promote(NAME, id));
      const once = await resultOf(versions.rollBack(NAME, { from: C }));
      expect(await resultOf(versions.rollBack(NAME, { from: C }))).toEqual(once);
      expect(await errorOf(versions.rollBack(NAME, { from: A }))).toMatchObject({
        code: 'rollback',
        message: expect.stringContaining(`it points to ${B}, not to ${A}`),
      });
    });

    it('keeps 20 changes, and can be rolled back as far', async () => {
      const { versions } = await threeModels();
      for (let round = 0; round < 11; round += 1) {
        for (const id of [A, B]) await resultOf(versions.promote(NAME, id));
      }
      expect((await resultOf(versions.get(NAME))).history).toHaveLength(20);
      let steps = 0;
      while ((await versions.rollBack(NAME)).isOk()) steps += 1;
      expect(steps).toBe(19);
    });

    it('is gone after its deletion, and its models stay', async () => {
      const { versions, storage } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      await resultOf(versions.setShadow(NAME, B));
      await resultOf(versions.delete(NAME));
      expect(await errorOf(versions.get(NAME))).toMatchObject({ code: 'not_found', resource: 'version', id: NAME });
      expect(await errorOf(versions.delete(NAME))).toMatchObject({ code: 'not_found' });
      expect(await resultOf(versions.list())).toEqual([]);
      expect((await new JobRepository(storage, app_id).get(A)).status).toBe('READY');
    });

    it('belongs to its account', async () => {
      const { versions, storage } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      const others = new ModelVersions({ storage, account: { app_id: 'other', tier: 'pro' } });
      expect(await errorOf(others.get(NAME))).toMatchObject({ code: 'not_found' });
      expect(await errorOf(others.promote(NAME, A))).toMatchObject({ code: 'not_found', resource: 'model' });
    });

    it('loses no change of several processes at a time', async () => {
      const { opened } = await threeModels();
      const processes = Array.from({ length: 4 }, () => new ModelVersions({ storage: opened(), account }));
      const names = processes.map((_, at) => `name-${at}@production`);
      await Promise.all(
        processes.map(async (versions, at) => {
          for (const id of [A, B, C]) await resultOf(versions.promote(names[at] ?? '', id));
          await resultOf(versions.rollBack(names[at] ?? ''));
        }),
      );
      const found = await resultOf(new ModelVersions({ storage: opened(), account }).list());
      expect(found.map(({ name, model_id, history }) => [name, model_id, history.length])).toEqual(
        names.map((name) => [name, B, 4]),
      );
    });
  });

  describe('a promotion', () => {
    it('refuses a name that is none', async () => {
      const { versions } = await threeModels();
      for (const name of ['support', '@production', 'support@', 'Support@production', `${'x'.repeat(25)}@a`, 'a@b@c']) {
        expect(await errorOf(versions.promote(name, A))).toMatchObject({
          code: 'validation',
          problems: [{ loc: ['version'], msg: expect.stringContaining('support@production') }],
        });
      }
    });

    it('refuses a model that is unknown, not READY or of another family', async () => {
      const { versions, storage } = await threeModels();
      const queued = idOf(4);
      const job = newJobRecord(aRequest, { id: queued, app_id, created: '2026-11-21T08:15:30.123+00:00', seed: 1 });
      await new JobRepository(storage, app_id).create({ ...job, status: 'QUEUED' });
      await aReadyJob(storage, idOf(5), 'question-answering');
      expect(await errorOf(versions.promote(NAME, 'nothing'))).toMatchObject({ code: 'not_found', id: 'nothing' });
      expect(await errorOf(versions.promote(NAME, queued))).toMatchObject({
        code: 'model_not_ready',
        status: 'QUEUED',
      });
      await resultOf(versions.promote(NAME, A));
      expect(await errorOf(versions.promote(NAME, idOf(5)))).toMatchObject({
        problems: [{ loc: ['model_id'], type: 'model_family', msg: expect.stringContaining('Dragonfruit') }],
      });
      expect(await pointsTo(versions)).toBe(A);
    });

    it('refuses the 101st name', async () => {
      const { versions, storage } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      const { value, version } = (await storage.read('versions', app_id)) ?? {};
      const { names, deleting } = JSON.parse(JSON.stringify(value));
      for (let n = 1; n < 99; n += 1) names[`n-${n}@production`] = names[NAME];
      await storage.write('versions', app_id, { names, deleting }, version);
      await resultOf(versions.promote('last@production', A));
      expect(await errorOf(versions.promote('more@production', A))).toMatchObject({ problems: [{ type: 'too_many' }] });
      expect((await resultOf(versions.promote(NAME, B))).model_id).toBe(B);
    });
  });

  describe('a shadow', () => {
    it('is another model of the same family, and stays when a third one is promoted', async () => {
      const { versions } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      expect(await errorOf(versions.setShadow(NAME, A))).toMatchObject({ problems: [{ type: 'same_model' }] });
      const { shadow } = await resultOf(versions.setShadow(NAME, B));
      expect(shadow).toEqual({
        model_id: B,
        since: expect.stringMatching(/^20/),
        ...{ asked: 0, agreed: 0, disagreed: 0, errors: 0, dropped: 0, mean_score_difference: null },
        ...{ label_pairs: [], other_pairs: 0 },
      });
      expect((await resultOf(versions.promote(NAME, C))).shadow).toMatchObject({ model_id: B });
      expect((await resultOf(versions.promote(NAME, B))).shadow).toBeNull();
    });

    it('adds the counts of all processes, and begins anew with another comparison', async () => {
      const { versions, opened, storage } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      await resultOf(versions.setShadow(NAME, B));
      const record = async () => JSON.parse(JSON.stringify((await storage.read('versions', app_id))?.value));
      const { run } = (await record()).names[NAME].shadow;
      const counts = { ...noCounts(run), agreed: 2, disagreed: 1, scored: 3, scoreDifference: 0.3 };
      await Promise.all(
        Array.from({ length: 4 }, () =>
          new ShadowCountRecords(opened(), app_id).add(NAME, { ...counts, pairs: [['good', 'bad', 1]] }),
        ),
      );
      const { shadow } = await resultOf(versions.get(NAME));
      expect(shadow).toMatchObject({ asked: 12, agreed: 8, disagreed: 4 });
      expect(shadow?.mean_score_difference).toBeCloseTo(0.1);
      expect(shadow?.label_pairs).toEqual([{ answered: 'good', shadow: 'bad', queries: 4 }]);

      await resultOf(versions.promote(NAME, C));
      await new ShadowCountRecords(storage, app_id).add(NAME, counts);
      expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({ model_id: B, asked: 0 });
      await resultOf(versions.clearShadow(NAME));
      await resultOf(versions.clearShadow(NAME));
      await new ShadowCountRecords(storage, app_id).add(NAME, counts);
      expect((await resultOf(versions.get(NAME))).shadow).toBeNull();
      expect(await storage.listKeys('shadow-counts')).toEqual([]);
    });

    it('counts the queries of 200 pairs of labels, and of the others together', async () => {
      const { versions, storage } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      await resultOf(versions.setShadow(NAME, B));
      const { run } = JSON.parse(JSON.stringify((await storage.read('versions', app_id))?.value)).names[NAME].shadow;
      const records = new ShadowCountRecords(storage, app_id);
      for (let from = 0; from < 300; from += 100) {
        const pairs = Array.from({ length: 100 }, (_, at) => [`label ${from + at}`, 'other', 2] as const);
        await records.add(NAME, { ...noCounts(run), pairs: pairs.map(([a, b, n]) => [a, b, n]) });
      }
      const { shadow } = await resultOf(versions.get(NAME));
      expect(shadow?.label_pairs).toHaveLength(200);
      expect(shadow?.other_pairs).toBe(200);
    });
  });

  describe('the deletion of a model', () => {
    it('is refused while a name points to it or has it as its shadow', async () => {
      const { versions, storage } = await threeModels();
      const { trainer } = aTrainer({ storage, account });
      await resultOf(versions.promote(NAME, A));
      await resultOf(versions.promote('other@staging', A));
      await resultOf(versions.setShadow(NAME, B));
      expect(await errorOf(trainer.deleteModel(A))).toMatchObject({
        code: 'model_in_use',
        id: A,
        names: ['other@staging', NAME],
        message: expect.stringContaining('other@staging, support@production'),
      });
      expect(await errorOf(trainer.deleteModel(B))).toMatchObject({ code: 'model_in_use', names: [NAME] });
      expect(await storage.openFolder(A)).toBeDefined();

      await resultOf(versions.promote(NAME, C));
      await resultOf(versions.delete('other@staging'));
      await resultOf(versions.clearShadow(NAME));
      for (const id of [A, B]) await resultOf(trainer.deleteModel(id));
      for (const id of [A, B]) await resultOf(trainer.deleteModel(id));
      expect(await storage.openFolder(A)).toBeUndefined();
      expect(await errorOf(versions.promote(NAME, B))).toMatchObject({ code: 'not_found' });
      expect(await errorOf(versions.rollBack(NAME))).toMatchObject({
        code: 'rollback',
        message: expect.stringContaining(`the previous model, ${A}, was deleted`),
      });
      expect(await pointsTo(versions)).toBe(C);
      expect((await storage.read('versions', app_id))?.value).toMatchObject({ deleting: [] });
    });

    it('that was cut short before the model was DELETED can be repeated', async () => {
      const { versions, storage } = await threeModels();
      await resultOf(versions.promote(NAME, A));
      await resultOf(versions.promote(NAME, B));
      const { trainer } = aTrainer({ storage, account });
      const { write } = storage;
      storage.write = (collection, key, ...rest) =>
        collection === 'jobs' ? Promise.reject(new Error('killed')) : write.call(storage, collection, key, ...rest);
      expect((await trainer.deleteModel(A)).isErr()).toBe(true);
      storage.write = write;
      expect(await errorOf(versions.promote(NAME, A))).toMatchObject({ code: 'not_found', id: A });
      expect(await errorOf(versions.rollBack(NAME))).toMatchObject({ code: 'rollback' });
      await resultOf(trainer.deleteModel(A));
      expect((await storage.read('versions', app_id))?.value).toMatchObject({ deleting: [] });
    });

    it('of all unused ones leaves those that names need', async () => {
      const { versions, storage } = await threeModels();
      await aReadyJob(storage, idOf(4));
      await resultOf(versions.promote(NAME, A));
      await resultOf(versions.promote(NAME, B));
      await resultOf(versions.setShadow(NAME, C));
      const { trainer, clock } = aTrainer({ storage, account });
      clock.jump(400 * 24 * 60 * 60_000);
      await resultOf(trainer.listUnusedModels());
      clock.jump(400 * 24 * 60 * 60_000);
      const removed = await resultOf(trainer.removeUnusedModels());
      expect(removed.map(({ model }) => model.id)).toEqual([idOf(4)]);
    });
  });

  it('are erased with their account', async () => {
    const { versions, storage } = await threeModels();
    await resultOf(versions.promote(NAME, A));
    await resultOf(versions.setShadow(NAME, B));
    const { run } = JSON.parse(JSON.stringify((await storage.read('versions', app_id))?.value)).names[NAME].shadow;
    await new ShadowCountRecords(storage, app_id).add(NAME, { ...noCounts(run), agreed: 1 });
    expect((await resultOf(eraseAccount({ storage, app_id }))).job_ids).toEqual([A, B, C]);
    expect(await storage.listKeys('versions')).toEqual([]);
    expect(await storage.listKeys('shadow-counts')).toEqual([]);
    expect(await resultOf(versions.list())).toEqual([]);
  });
}
