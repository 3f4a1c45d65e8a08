import { mkdtempSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ModelType, ShadowComparison } from '../../src/contract/index.js';
import { inferenceService, Predictor } from '../../src/inference/index.js';
import { JobRepository, ModelVersions } from '../../src/jobs/index.js';
import { folderModels } from '../../src/models/index.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type TinyModels, tinyModels } from '../trust/tiny-models.js';

const NAME = 'support@production';
const account = { app_id: 'acme', tier: 'pro' } as const;
const [A, B] = ['0190a6f0-0000-7000-8000-00000000000a', '0190a6f0-0000-7000-8000-00000000000b'];

const texts = [
  'the lamp is great',
  'the room is awful',
  'the lamp works and is great',
  'the room broke',
  'a lamp',
  '?',
];

const folder = mkdtempSync(join(tmpdir(), 'orchard-versions-'));
let models: TinyModels = {};
beforeAll(async () => {
  models = await tinyModels(folder);
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

const kinds = {
  classifier: 'multiclass-text-classification',
  'binary classifier': 'binary-text-classification',
  tagger: 'sequence-labeling',
  retriever: 'question-answering',
} as const satisfies Record<string, ModelType>;

interface Setting {
  readonly storage?: Storage;
  readonly first?: keyof typeof kinds;
  readonly second?: keyof typeof kinds;
  /** What the jobs of both say, in place of their own type. */
  readonly type?: ModelType;
}

/** A predictor and two models, the first one promoted. */
async function aPredictor({ storage = memoryStorage(), ...setting }: Setting = {}) {
  const { first = 'classifier', second = 'binary classifier' } = setting;
  for (const [id, kind] of [
    [A, first],
    [B, second],
  ] as const) {
    await aReadyModelIn(storage, account.app_id, { id, type: setting.type ?? kinds[kind], folder: models[kind] ?? '' });
  }
  const versions = new ModelVersions({ storage, account });
  await resultOf(versions.promote(NAME, A));
  const inference = inferenceService({ isolation: 'inline' });
  const modelLoader = folderModels(temporaryDirectory());
  const predictor = new Predictor({ storage, account, modelLoader, inference });
  onTestFinished(async () => {
    await predictor.close();
    await inference.close();
    await storage.close();
  });
  return { storage, versions, predictor, inference, modelLoader };
}

describe('a predictor that is asked by a name', () => {
  it('answers as the model does, and says which one it was', async () => {
    const { predictor } = await aPredictor();
    const byId = await resultOf(predictor.predictCustom(A, 'the lamp'));
    const byName = await resultOf(predictor.predictCustom(NAME, 'the lamp'));
    expect(byName.data).toEqual(byId.data);
    expect(byName.metadata).toEqual({ model_inference_time_ms: expect.any(Number), model_id: A });
    expect(byId.metadata).not.toHaveProperty('model_id');
  });

  it('takes it in batches, streams, explanations and when it loads models ahead', async () => {
    const { predictor } = await aPredictor();
    await resultOf(predictor.warmCustom([NAME]));
    const batch = await resultOf(predictor.predictCustomBatch(NAME, texts));
    expect(batch.metadata.model_id).toBe(A);
    const streamed = [];
    for await (const answer of predictor.predictCustomStream(NAME, texts)) streamed.push(answer._unsafeUnwrap());
    expect(streamed.map(({ data }) => data)).toEqual(batch.data);
    expect(streamed.map(({ metadata }) => metadata.model_id)).toEqual(texts.map(() => A));
    const explained = await resultOf(predictor.explainCustom(NAME, 'the lamp'));
    expect(explained.metadata.model_id).toBe(A);
  });

  it('follows a promotion and a rollback at once, each batch from one model', async () => {
    const { predictor, versions } = await aPredictor();
    const labelsOf = { [A]: 'bad good mixed', [B]: 'bad good' };
    const asked = [];
    for (let round = 0; round < 6; round += 1) {
      const id = round % 2 === 0 ? B : A;
      asked.push(predictor.predictCustomBatch(NAME, texts));
      await resultOf(round % 2 === 0 ? versions.promote(NAME, B) : versions.rollBack(NAME));
      expect((await resultOf(predictor.predictCustom(NAME, 'now'))).metadata.model_id).toBe(id);
    }
    for (const { data, metadata } of await Promise.all(asked.map(resultOf))) {
      for (const { labels } of data) expect(labels.toSorted().join(' ')).toBe(labelsOf[metadata.model_id ?? '']);
    }
  });

  it('answers from the new model if another process has promoted it and deleted the old one', async () => {
    const directory = temporaryDirectory();
    const { predictor, inference } = await aPredictor({ storage: fileStorage(directory) });
    await resultOf(predictor.predictCustom(NAME, 'before'));
    const theirs = fileStorage(directory);
    await resultOf(new ModelVersions({ storage: theirs, account }).promote(NAME, B));
    await new JobRepository(theirs, account.app_id).update(A, (job) => ({ ...job, status: 'DELETED' }));
    await theirs.removeFolder(A);
    for (const { directory } of inference.stats().models) inference.forget(directory);
    expect((await resultOf(predictor.predictCustom(NAME, 'after'))).metadata.model_id).toBe(B);
  });

  it('knows no name that was not promoted, or that is none', async () => {
    const { predictor } = await aPredictor();
    for (const name of ['support@staging', '@', 'support@', '__proto__@x']) {
      expect(await errorOf(predictor.predictCustom(name, 'x'))).toMatchObject({
        code: 'not_found',
        resource: 'version',
        id: name,
      });
    }
  });
});

async function comparisonOf(versions: ModelVersions, isDone: (shadow: ShadowComparison) => boolean) {
  let found: ShadowComparison | null = null;
  const read = async () => {
    found = (await resultOf(versions.get(NAME))).shadow;
    return found !== null && isDone(found);
  };
  await expect.poll(read, { timeout: 60_000, interval: 50 }).toBe(true);
  if (found === null) throw new Error('there is no shadow');
  return found as ShadowComparison;
}

describe('a shadow', () => {
  it('is asked what was asked, and its answers are compared, not returned', async () => {
    const { predictor, versions } = await aPredictor();
    const [ours, theirs] = await Promise.all(
      [A, B].map(async (id) => (await resultOf(predictor.predictCustomBatch(id, texts))).data),
    );
    await resultOf(versions.setShadow(NAME, B));
    const batch = await resultOf(predictor.predictCustomBatch(NAME, texts));
    const one = await resultOf(predictor.predictCustom(NAME, texts[0] ?? ''));
    expect(batch.data).toEqual(ours);
    expect([batch.metadata.model_id, one.metadata.model_id]).toEqual([A, A]);

    const shadow = await comparisonOf(versions, ({ asked, dropped }) => asked + dropped === texts.length + 1);
    const pairs = [...texts.keys(), 0].map((at) => [ours?.[at]?.labels[0], theirs?.[at]?.labels[0]] as const);
    const agreed = pairs.filter(([a, b]) => a === b).length;
    expect(new Set(pairs.map(String)).size).toBeGreaterThan(1);
    expect(shadow).toMatchObject({ model_id: B, asked: texts.length + 1, agreed, errors: 0, dropped: 0 });
    expect(shadow.disagreed).toBe(texts.length + 1 - agreed);
    const differences = [...texts.keys(), 0].map(
      (at) => (theirs?.[at]?.scores[0] ?? Number.NaN) - (ours?.[at]?.scores[0] ?? Number.NaN),
    );
    expect(shadow.mean_score_difference).toBeCloseTo(differences.reduce((a, b) => a + b) / differences.length, 6);
    for (const { answered, shadow: label, queries } of shadow.label_pairs) {
      expect(pairs.filter(([a, b]) => a === answered && b === label)).toHaveLength(queries);
    }
    expect(shadow.label_pairs.reduce((sum, { queries }) => sum + queries, 0)).toBe(texts.length + 1);
  });

  it('agrees in multilabel if the labels above 0.5 are the same', async () => {
    const type = 'multilabel-text-classification';
    const { predictor, versions } = await aPredictor({ type });
    const applied = async (id: string) =>
      (await resultOf(predictor.predictCustomBatch(id, texts))).data.map(({ labels, scores }) =>
        labels
          .filter((_, at) => (scores[at] ?? 0) > 0.5)
          .sort()
          .join(),
      );
    const [ours, theirs] = [await applied(A), await applied(B)];
    await resultOf(versions.setShadow(NAME, B));
    await resultOf(predictor.predictCustomBatch(NAME, texts));
    const shadow = await comparisonOf(versions, ({ asked, dropped }) => asked + dropped === texts.length);
    expect(shadow.agreed).toBe(ours.filter((labels, at) => labels === theirs[at]).length);
  });

  it.each([
    ['the same entities', 'tagger'],
    ['the same first passage, which is not stored,', 'retriever'],
  ] as const)('agrees with a model that gives %s', async (_, kind) => {
    const { predictor, versions, storage } = await aPredictor({ first: kind, second: kind });
    await resultOf(versions.setShadow(NAME, B));
    const { data } = await resultOf(predictor.predictCustomBatch(NAME, texts));
    const shadow = await comparisonOf(versions, ({ asked, dropped }) => asked + dropped === texts.length);
    expect(shadow).toMatchObject({ agreed: texts.length, label_pairs: [], other_pairs: 0 });
    const stored = JSON.stringify(await storage.list('shadow-counts'));
    for (const { labels } of data) for (const label of labels) expect(stored).not.toContain(label);
  });

  it('that fails is counted, and no answer fails with it', async () => {
    const { predictor, versions, storage } = await aPredictor();
    await resultOf(versions.setShadow(NAME, B));
    await storage.removeFolder(B);
    expect((await resultOf(predictor.predictCustomBatch(NAME, texts))).data).toHaveLength(texts.length);
    expect(await comparisonOf(versions, ({ errors }) => errors > 0)).toMatchObject({
      asked: texts.length,
      errors: texts.length,
      agreed: 0,
    });
  });

  it('that hangs delays no answer; what is more than 100 queries behind is dropped', async () => {
    const { predictor, versions, storage } = await aPredictor();
    await resultOf(versions.setShadow(NAME, B));
    const { openFolder } = storage;
    let goOn = () => {};
    const hanging = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    storage.openFolder = async (key) => {
      if (key === B) await hanging;
      return openFolder.call(storage, key);
    };
    const batches = 30;
    for (let batch = 0; batch < batches; batch += 1) {
      expect((await resultOf(predictor.predictCustomBatch(NAME, texts))).data).toHaveLength(texts.length);
    }
    goOn();
    const kept = 1 + Math.floor(100 / texts.length); // the one that hangs, and those that wait
    const [asked, dropped] = [kept * texts.length, (batches - kept) * texts.length];
    expect(await comparisonOf(versions, (shadow) => shadow.asked === asked)).toMatchObject({ dropped, errors: 0 });
  });

  it('is not asked what was asked by an id or could not be answered', async () => {
    const { predictor, versions } = await aPredictor({ first: 'tagger', second: 'tagger' });
    await resultOf(versions.setShadow(NAME, B));
    await resultOf(predictor.predictCustom(A, 'by id'));
    // A tagger has no threshold for it.
    expect((await predictor.predictCustom(NAME, 'refused', { noneOfThese: true })).isErr()).toBe(true);
    await resultOf(predictor.predictCustom(NAME, 'by name'));
    expect(await comparisonOf(versions, ({ asked }) => asked > 0)).toMatchObject({ asked: 1 });
  });

  it('is still asked what was answered when the predictor is closed', async () => {
    const { predictor, versions } = await aPredictor();
    await resultOf(versions.setShadow(NAME, B));
    await resultOf(predictor.predictCustomBatch(NAME, texts));
    await predictor.close();
    expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({ asked: texts.length, dropped: 0 });
  });

  it('is still asked by another predictor of the service when the first is closed twice', async () => {
    const { predictor, versions, ...shared } = await aPredictor();
    const other = new Predictor({ ...shared, account });
    await resultOf(versions.setShadow(NAME, B));
    await resultOf(predictor.predictCustom(NAME, 'first'));
    await resultOf(other.predictCustom(NAME, 'second'));
    await predictor.close();
    await predictor.close();
    await resultOf(other.predictCustom(NAME, 'third'));
    await other.close();
    expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({ asked: 3, errors: 0, dropped: 0 });
  });

  it('leaves no text in the storage', async () => {
    const directory = temporaryDirectory();
    const { predictor, versions } = await aPredictor({ storage: fileStorage(directory) });
    await resultOf(versions.setShadow(NAME, B));
    await resultOf(predictor.predictCustomBatch(NAME, ['a secret zebra', 'another secret zebra']));
    await predictor.close();
    expect((await resultOf(versions.get(NAME))).shadow?.asked).toBe(2);
    const entries = await readdir(join(directory, 'records'), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      expect(await readFile(join(entry.parentPath, entry.name), 'utf8')).not.toContain('zebra');
    }
  });
});
