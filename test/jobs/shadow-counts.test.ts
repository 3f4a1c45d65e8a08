import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addCounts, ModelVersions, noCounts, ShadowCountRecords, type ShadowCounts } from '../../src/jobs/index.js';
import { VersionRecords } from '../../src/jobs/version-records.js';
import { failureOf, resultOf } from '../support/outcomes.js';
import { aMemoryStorage } from './builders.js';
import { app_id, idOf } from './some-jobs.js';
import { bound } from './storages.js';
import { aReadyJob } from './version-cases.js';

const NAME = 'support@production';
const MOST_PAIRS = 200;

/** As if each query were counted by hand. */
function sumOf(all: readonly ShadowCounts[]) {
  const pairs = new Map<string, number>();
  let otherPairs = 0;
  for (const { pairs: more, otherPairs: others } of all) {
    otherPairs += others;
    for (const [answered, shadow, queries] of more) {
      const pair = `${answered}\n${shadow}`;
      if (!pairs.has(pair) && pairs.size === MOST_PAIRS) otherPairs += queries;
      else pairs.set(pair, (pairs.get(pair) ?? 0) + queries);
    }
  }
  const total = (of: (counts: ShadowCounts) => number) => all.reduce((sum, counts) => sum + of(counts), 0);
  return {
    run: all.at(-1)?.run,
    agreed: total(({ agreed }) => agreed),
    disagreed: total(({ disagreed }) => disagreed),
    errors: total(({ errors }) => errors),
    dropped: total(({ dropped }) => dropped),
    scored: total(({ scored }) => scored),
    scoreDifference: total(({ scoreDifference }) => scoreDifference),
    pairs: [...pairs].map(([pair, queries]) => [...pair.split('\n'), queries]),
    otherPairs,
  };
}

const label = fc.integer({ min: 0, max: 15 }).map((n) => `label ${n}`);
const few = fc.nat(9);
const someCounts: fc.Arbitrary<ShadowCounts> = fc.record({
  run: fc.constantFrom('first', 'second'),
  agreed: few,
  disagreed: few,
  errors: few,
  dropped: few,
  scored: few,
  scoreDifference: fc.integer({ min: -8, max: 8 }).map((n) => n / 4), // sums of these are exact
  pairs: fc.uniqueArray(fc.tuple(label, label, fc.integer({ min: 1, max: 9 })), {
    selector: ([answered, shadow]) => `${answered}\n${shadow}`,
    maxLength: 150,
    size: 'max',
  }),
  otherPairs: few,
});

describe('the counts of a shadow', () => {
  it('add up, up to 200 pairs of labels and all others together', () => {
    fc.assert(
      fc.property(fc.array(someCounts, { minLength: 1, maxLength: 5 }), (all) => {
        expect(all.reduce(addCounts, noCounts('none'))).toEqual(sumOf(all));
      }),
    );
  });

  it('tell labels apart that read the same together', () => {
    const one = { ...noCounts('run'), pairs: [['a", "b', 'c', 1]] } satisfies ShadowCounts;
    const other = { ...noCounts('run'), pairs: [['a', 'b", "c', 1]] } satisfies ShadowCounts;
    expect(addCounts(one, other).pairs).toHaveLength(2);
  });
});

describe('the record of the counts', () => {
  async function aShadow() {
    const storage = aMemoryStorage();
    for (const n of [1, 2]) await aReadyJob(storage, idOf(n));
    const versions = new ModelVersions({ storage, account: { app_id, tier: 'pro' } });
    await resultOf(versions.promote(NAME, idOf(1)));
    await resultOf(versions.setShadow(NAME, idOf(2)));
    const { names } = await new VersionRecords(storage, app_id).read();
    const counts: ShadowCounts = { ...noCounts(names[NAME]?.shadow?.run ?? ''), agreed: 1, disagreed: 2, errors: 3 };
    return { storage, versions, counts };
  }

  it('is told with the pairs of most queries first, and how many queries were asked', async () => {
    const { storage, versions, counts } = await aShadow();
    const pairs = [
      ['a', 'b', 1],
      ['b', 'a', 3],
      ['a', 'c', 2],
    ] satisfies ShadowCounts['pairs'];
    await new ShadowCountRecords(storage, app_id).add(NAME, { ...counts, pairs, dropped: 4, otherPairs: 5 });
    expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({
      ...{ asked: 6, agreed: 1, disagreed: 2, errors: 3, dropped: 4, mean_score_difference: null, other_pairs: 5 },
      label_pairs: [
        { answered: 'b', shadow: 'a', queries: 3 },
        { answered: 'a', shadow: 'c', queries: 2 },
        { answered: 'a', shadow: 'b', queries: 1 },
      ],
    });
  });

  it('takes no late counts of an earlier shadow', async () => {
    const { storage, versions, counts } = await aShadow();
    const records = new ShadowCountRecords(storage, app_id);
    await resultOf(versions.clearShadow(NAME));
    await resultOf(versions.setShadow(NAME, idOf(2)));
    const { names } = await new VersionRecords(storage, app_id).read();
    await records.add(NAME, { ...noCounts(names[NAME]?.shadow?.run ?? ''), agreed: 7 });
    await records.add(NAME, counts);
    expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({ asked: 7, agreed: 7 });
  });

  it('begins anew where it is damaged', async () => {
    const { storage, versions, counts } = await aShadow();
    await storage.write('shadow-counts', `${app_id}/${NAME}`, { agreed: 'many' }, undefined);
    expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({ asked: 0 });
    await new ShadowCountRecords(storage, app_id).add(NAME, counts);
    expect((await resultOf(versions.get(NAME))).shadow).toMatchObject({ asked: 6 });
  });

  it('is not left behind by counts that come while the name is deleted', async () => {
    const { storage, versions, counts } = await aShadow();
    const through = bound(storage);
    through.write = async (...args) => {
      await resultOf(versions.delete(NAME));
      return storage.write(...args);
    };
    await new ShadowCountRecords(through, app_id).add(NAME, counts);
    expect(await storage.listKeys('shadow-counts')).toEqual([]);
  });

  it('says that it could not be written if its version keeps changing', async () => {
    const { storage, counts } = await aShadow();
    const through = bound(storage);
    let writes = 0;
    through.write = async (collection, key, value, _, options) => {
      writes += 1;
      const found = await storage.read(collection, key);
      await storage.write(collection, key, value, found?.version, options);
      return storage.write(collection, key, value, 'an old version');
    };
    const error = await failureOf('storage', () => new ShadowCountRecords(through, app_id).add(NAME, counts));
    expect(error.message).toContain(`shadow-counts/${app_id}/${NAME}`);
    expect(writes).toBe(100);
  });

  it('passes on why the storage failed', async () => {
    const { storage, counts } = await aShadow();
    const through = bound(storage);
    through.write = () => Promise.reject(new Error('no space'));
    const error = await failureOf('storage', () => new ShadowCountRecords(through, app_id).add(NAME, counts));
    expect(error.message).toContain('no space');
  });
});
