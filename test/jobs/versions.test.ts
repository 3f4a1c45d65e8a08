import { describe, expect, it, vi } from 'vitest';
import { copyStorage, eraseAccount, JobRepository, ModelVersions } from '../../src/jobs/index.js';
import { VersionNames } from '../../src/jobs/version-records.js';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { aMemoryStorage, aTrainer } from './builders.js';
import { ManualClock } from './manual-clock.js';
import { app_id, idOf } from './some-jobs.js';
import { bound } from './storages.js';
import { aReadyJob, versionCases } from './version-cases.js';

const NAME = 'support@production';
const account = { app_id, tier: 'pro' } as const;
const [A, B] = [idOf(1), idOf(2)];

describe('names that point to models, in files', () => {
  versionCases(async () => {
    const directory = temporaryDirectory();
    return () => fileStorage(directory);
  });
});

describe('names that point to models, in memory', () => {
  versionCases(async () => {
    const storage = aMemoryStorage();
    return () => bound(storage);
  });
});

/** A storage as this process and another one see it, and how often this one has read the names. */
async function twoProcesses() {
  const directory = temporaryDirectory();
  const [ours, theirs] = [fileStorage(directory), fileStorage(directory)];
  for (const id of [A, B]) await aReadyJob(theirs, id);
  const clock = new ManualClock();
  let reads = 0;
  const { read } = ours;
  ours.read = (collection, key) => {
    if (collection === 'versions') reads += 1;
    return read.call(ours, collection, key);
  };
  const promoteElsewhere = (id: string) => resultOf(new ModelVersions({ storage: theirs, account }).promote(NAME, id));
  await promoteElsewhere(A);
  return { ours, promoteElsewhere, clock, names: new VersionNames(ours, app_id, clock), reads: () => reads };
}

describe('what a name points to', () => {
  it('is read once in half a second', async () => {
    const { names, clock, reads } = await twoProcesses();
    expect(await names.find(NAME)).toEqual({ model: { id: A, type: 'binary-text-classification' } });
    clock.jump(499);
    expect(names.find(NAME)).not.toBeInstanceOf(Promise);
    expect(reads()).toBe(1);
  });

  it('is seen at once where this process changes it', async () => {
    const { names, ours } = await twoProcesses();
    await names.find(NAME);
    await resultOf(new ModelVersions({ storage: ours, account }).promote(NAME, B));
    expect((await names.find(NAME)).model.id).toBe(B);
  });

  it('is seen at once where this process tells of a change by another one', async () => {
    const { names, ours, promoteElsewhere } = await twoProcesses();
    const versions = new ModelVersions({ storage: ours, account });
    await names.find(NAME);
    await promoteElsewhere(B);
    await resultOf(versions.promote(NAME, B)); // nothing to do
    expect((await names.find(NAME)).model.id).toBe(B);
    await promoteElsewhere(A);
    await resultOf(versions.get(NAME));
    expect((await names.find(NAME)).model.id).toBe(A);
  });

  it('is seen after a second at the latest where another process changes it', async () => {
    const { names, promoteElsewhere, clock } = await twoProcesses();
    await names.find(NAME);
    await promoteElsewhere(B);
    clock.jump(1000);
    expect((await names.find(NAME)).model.id).toBe(B);
  });

  it('is read again without a query that waits, if it is asked all the time', async () => {
    const { names, promoteElsewhere, clock, reads } = await twoProcesses();
    await names.find(NAME);
    await promoteElsewhere(B);
    clock.jump(600);
    expect(names.find(NAME)).toMatchObject({ model: { id: A } });
    await vi.waitFor(() => expect(names.find(NAME)).toMatchObject({ model: { id: B } }));
    expect(reads()).toBe(2);
  });

  it('is gone at once when this process erases the account', async () => {
    const { names, ours } = await twoProcesses();
    await names.find(NAME);
    await resultOf(eraseAccount({ storage: ours, app_id }));
    await expect(async () => names.find(NAME)).rejects.toMatchObject({ code: 'not_found' });
  });
});

/** The storage, which does something else before its n-th call from now. */
function interruptedAt(storage: Storage, n: number, act: () => Promise<unknown>): Storage {
  let calls = 0;
  return new Proxy(bound(storage), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        calls += 1;
        if (calls === n) await act();
        return Reflect.apply(value, target, args);
      };
    },
  });
}

/** More than a promotion or a deletion has. */
const CALLS = 20;

describe.each([
  ['the first name of an account', false],
  ['a name that pointed to the model before', true],
])('a promotion to %s', (_, isKnown) => {
  it.each([
    ['that a deletion of the model interrupts', 'promotion'],
    ['that interrupts a deletion of the model', 'deletion'],
  ])('%s fails, or the deletion does', async (_, interrupted) => {
    const outcomes: string[] = [];
    for (let call = 1; call <= CALLS; call += 1) {
      const storage = aMemoryStorage();
      for (const id of [A, B]) await aReadyJob(storage, id);
      const before = new ModelVersions({ storage, account });
      if (isKnown) for (const id of [A, B]) await resultOf(before.promote(NAME, id));
      const promote = (through: Storage) => new ModelVersions({ storage: through, account }).promote(NAME, A);
      const remove = (through: Storage) =>
        aTrainer({ storage: through, account, runsJobs: false }).trainer.deleteModel(A);
      const [outer, inner] = interrupted === 'promotion' ? [promote, remove] : [remove, promote];
      let innerOk: boolean | undefined;
      const through = interruptedAt(storage, call, async () => {
        innerOk = (await inner(storage)).isOk();
      });
      const outerOk = (await outer(through)).isOk();
      if (innerOk === undefined) break; // it has fewer calls
      outcomes.push(`${outerOk} ${innerOk}`);
      const { status } = await new JobRepository(storage, app_id).get(A);
      const pointed = await before.get(NAME);
      if (pointed.isOk() && pointed.value.model_id === A) expect(status).toBe('READY');
      expect(outerOk && innerOk).toBe(false);
    }
    expect(outcomes).toContain('true false');
    expect(outcomes).toContain('false true');
  });
});

it('names what there is instead of an unknown name', async () => {
  const { ours } = await twoProcesses();
  expect((await errorOf(new ModelVersions({ storage: ours, account }).get('support@staging'))).message).toBe(
    'no version "support@staging": the account has support@production',
  );
});

it('says which record is damaged, and changes nothing', async () => {
  const { ours } = await twoProcesses();
  const { version } = (await ours.read('versions', app_id)) ?? {};
  await ours.write('versions', app_id, { names: 3 }, version);
  const versions = new ModelVersions({ storage: ours, account });
  for (const error of [
    await errorOf(versions.get(NAME)),
    await errorOf(versions.promote(NAME, B)),
    await errorOf(versions.list()),
  ]) {
    expect(error).toMatchObject({
      code: 'storage',
      message: expect.stringContaining(`versions/${app_id} is damaged`),
    });
  }
  expect((await ours.read('versions', app_id))?.value).toEqual({ names: 3 });
});

it('are copied with a storage', async () => {
  const { ours } = await twoProcesses();
  const to = memoryStorage();
  await resultOf(copyStorage({ from: ours, to }));
  expect(await resultOf(new ModelVersions({ storage: to, account }).list())).toEqual(
    await resultOf(new ModelVersions({ storage: ours, account }).list()),
  );
});
