import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Account } from '../../src/contract/index.js';
import { Predictor } from '../../src/inference/index.js';
import * as records from '../../src/jobs/account-records.js';
import { eraseAccount, Trainer } from '../../src/jobs/index.js';
import { withInternals } from '../../src/jobs/trainer-options.js';
import { fileStorage, type Storage } from '../../src/storage/index.js';
import { aMemoryStorage, aTrainer, createJob, errorOf, statusOf, type TrainerInTest } from '../jobs/builders.js';
import { FakeHost } from '../jobs/fake-host.js';
import { ManualClock } from '../jobs/manual-clock.js';
import { failingAt } from '../jobs/storages.js';
import { resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const acme = { app_id: 'Acme & sons/1', tier: 'pro' } as const;
const other = { app_id: 'Acme & sons/10', tier: 'pro' } as const;
/** With TRUST_ROUNDS set, a failure at every write is tried; else at every fourth. */
const STEP = process.env.TRUST_ROUNDS === undefined ? 4 : 1;
/** Every collection that there is, so that nothing is overlooked. */
const COLLECTIONS = [
  ...['jobs', 'job-index', 'damaged-jobs', 'job-leases', 'job-requests', 'model-uses', 'quota', 'uploads'],
  ...['labelling-sets', 'labelling-texts', 'labelling-choices', 'versions', 'shadow-counts'],
];
/** An id that no job has. */
const ID = '0190a6f0-0000-7000-8000-000000000000';
const UPLOAD = { state: 'waiting', bytes: 3, at: 0, job: null };

it('an account has records in the collections that are looked at here, and no others', () => {
  const named = Object.values(records).flatMap((each): readonly string[] => {
    if (typeof each === 'string') return [each];
    return typeof each === 'object' ? Object.values(each) : [];
  });
  expect([...new Set(named)].sort()).toEqual([...COLLECTIONS].sort());
});

/** The keys of all records, by collection. */
async function allKeys(storage: Storage): Promise<string[]> {
  const keys = COLLECTIONS.map(async (collection) =>
    (await storage.listKeys(collection, { limit: 10_000 })).map((key) => `${collection} ${key}`),
  );
  return (await Promise.all(keys)).flat();
}

async function keysOf(storage: Storage, { app_id }: { app_id: string }): Promise<string[]> {
  const account = encodeURIComponent(app_id);
  return (await allKeys(storage)).filter((line) => {
    const key = line.slice(line.indexOf(' ') + 1);
    return key === account || key.startsWith(`${account}/`);
  });
}

/** An account with a model, a deleted one, a failed one, one that runs and one that waits. */
async function aBusyAccount(storage: Storage, account: Account = acme, clock = new ManualClock()) {
  const made = aTrainer({ storage, account, clock });
  const { trainer, host } = made;
  const ready = await createJob(trainer);
  await (await host.nextRun()).finish();
  await trainer.waitForTrainingJob(ready);
  const deleted = await createJob(trainer);
  await (await host.nextRun()).finish();
  await trainer.waitForTrainingJob(deleted);
  await resultOf(trainer.deleteModel(deleted));
  const running = await createJob(trainer);
  const run = await host.nextRun();
  await writeFile(join(run.spec.directory, 'checkpoint.safetensors'), 'half a model');
  const waiting = await createJob(trainer);
  const key = encodeURIComponent(account.app_id);
  await storage.write('quota', key, { period: '2026-11', calls: 3 }, undefined);
  await storage.write('versions', key, { names: {}, deleting: [] }, undefined);
  await storage.write('uploads', `${key}/${ID}`, UPLOAD, undefined);
  const others = ['damaged-jobs', 'labelling-sets', 'labelling-texts', 'labelling-choices', 'shadow-counts'];
  for (const collection of others) await storage.write(collection, `${key}/${ID}`, 'anything', undefined);
  return { ...made, ids: { ready, deleted, running, waiting } };
}

/** What an account has, beside what its jobs are: also the contents of its folders. */
async function stateOf(storage: Storage, { trainer, ids }: { trainer: Trainer; ids: Record<string, string> }) {
  const jobs = Object.values(ids).map(async (id) => {
    const directory = await storage.openFolder(id);
    return [id, await statusOf(trainer, id), directory && (await readdir(directory))] as const;
  });
  return Promise.all(jobs);
}

describe.each([
  ['memoryStorage', async () => aMemoryStorage()],
  ['fileStorage', async () => aFileStorage(await temporaryDirectory())],
])('eraseAccount over %s', (_, create) => {
  it('leaves nothing of the account, tells what it was, and touches nothing of another', async () => {
    const storage = await create();
    const { trainer, ids } = await aBusyAccount(storage);
    const neighbour = await aBusyAccount(storage, other);
    const before = [await keysOf(storage, other), await stateOf(storage, neighbour)];

    const erased = await resultOf(trainer.eraseAccount(acme.app_id));

    expect(await keysOf(storage, acme)).toEqual([]);
    for (const id of Object.values(ids)) expect(await storage.openFolder(id)).toBeUndefined();
    expect(erased.job_ids).toEqual(Object.values(ids).sort());
    expect(erased).toMatchObject({
      app_id: acme.app_id,
      folders: 2,
      bytes: 'weights'.length + 'half a model'.length,
      uploads: 1,
    });
    expect(erased.records).toBeGreaterThan(10);
    expect([await keysOf(storage, other), await stateOf(storage, neighbour)]).toEqual(before);
  });

  it('can be repeated, and then removes nothing', async () => {
    const storage = await create();
    const { trainer } = await aBusyAccount(storage);
    await resultOf(trainer.eraseAccount(acme.app_id));
    expect(await resultOf(trainer.eraseAccount(acme.app_id))).toEqual({
      app_id: acme.app_id,
      job_ids: [],
      folders: 0,
      bytes: 0,
      records: 0,
      uploads: 0,
    });
  });
});

async function aFileStorage(directory: string): Promise<Storage> {
  const storage = fileStorage(directory);
  onTestFinished(() => storage.close());
  return storage;
}

describe('eraseAccount', () => {
  it('leaves no file with the name of the account or of a job', async () => {
    const directory = await temporaryDirectory();
    const storage = await aFileStorage(directory);
    const account = { app_id: 'marked-account', tier: 'pro' } as const;
    const { trainer, ids } = await aBusyAccount(storage, account);
    await resultOf(trainer.eraseAccount(account.app_id));
    await trainer.close();
    await storage.close();
    const marks = [account.app_id, 'example.com/reviews.zip', ...Object.values(ids)];
    for (const file of await readdir(directory, { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name);
      const text = file.isFile() ? await readFile(path, 'latin1') : '';
      for (const mark of marks) expect(`${path}\n${text}`).not.toContain(mark);
    }
  });

  it('ends the watch of a job, and makes its id unknown', async () => {
    const { trainer, ids } = await aBusyAccount(aMemoryStorage());
    const ended = trainer.waitForTrainingJob(ids.running);
    await resultOf(trainer.eraseAccount(acme.app_id));
    await ended;
    for (const id of Object.values(ids)) {
      expect(await errorOf(trainer.getTrainingJob(id))).toMatchObject({ code: 'not_found', id });
    }
    expect((await resultOf(trainer.listTrainingJobs())).data).toEqual([]);
  });

  it('answers no query with a model that is erased', async () => {
    const storage = aMemoryStorage();
    const { trainer, ids } = await aBusyAccount(storage);
    await using predictor = new Predictor({ storage, account: acme });
    await predictor.predictCustom(ids.ready, 'a query');
    await resultOf(trainer.eraseAccount(acme.app_id));
    expect(await errorOf(predictor.predictCustom(ids.ready, 'a query'))).toMatchObject({ code: 'not_found' });
  });

  it('lets the account begin anew', async () => {
    const storage = aMemoryStorage();
    const { trainer, host } = await aBusyAccount(storage);
    await resultOf(trainer.eraseAccount(acme.app_id));
    const id = await createJob(trainer);
    let run = await host.nextRun();
    while (run.spec.id !== id) run = await host.nextRun();
    await run.finish();
    expect(await resultOf(trainer.waitForTrainingJob(id))).toMatchObject({ status: 'READY' });
    expect((await resultOf(trainer.listModels())).data.map((model) => model.id)).toEqual([id]);
    // Another process builds the lists anew.
    const later = aTrainer({ storage, account: acme });
    expect((await resultOf(later.trainer.listModels())).data.map((model) => model.id)).toEqual([id]);
  });

  it('refuses another account, by name', async () => {
    const { trainer } = aTrainer({ account: acme });
    const error = await errorOf(trainer.eraseAccount('somebody else'));
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['app_id'], type: 'app_id' }] });
    expect(error.message).toContain(acme.app_id);
  });

  it('goes on where a failure at any write or removal stopped it', async () => {
    let failures = 0;
    // Some failures meet what the trainer does in the background, which makes up for them.
    for (let n = 0, successes = 0; successes < 5; n += STEP) {
      const storage = aMemoryStorage();
      const busy = await aBusyAccount(storage);
      const neighbour = await aBusyAccount(storage, other);
      await busy.trainer.close();
      const before = [await keysOf(storage, other), await stateOf(storage, neighbour)];
      const clock = new ManualClock(busy.clock.now() + 60_000);
      const failing = aTrainer({ storage: failingAt(storage, n), account: acme, clock });
      const first = await untilSettled(Promise.resolve(failing.trainer.eraseAccount(acme.app_id)), { clock });
      await failing.trainer.close();
      const again = aTrainer({ storage, account: acme, clock });
      await untilSettled(resultOf(again.trainer.eraseAccount(acme.app_id)), { clock });
      expect(await keysOf(storage, acme)).toEqual([]);
      for (const id of Object.values(busy.ids)) expect(await storage.openFolder(id)).toBeUndefined();
      expect([await keysOf(storage, other), await stateOf(storage, neighbour)]).toEqual(before);
      successes = first.isOk() ? successes + 1 : 0;
      failures += first.isOk() ? 0 : 1;
    }
    expect(failures).toBeGreaterThan(10 / STEP);
  });

  it('erases jobs that were created meanwhile, or leaves them whole', async () => {
    const storage = aMemoryStorage();
    const { trainer, host } = aTrainer({ storage, account: acme });
    host.obeys = true;
    const erasing = [];
    const creating = [];
    for (let n = 0; n < 20; n += 1) {
      creating.push(createJob(trainer));
      if (n % 5 === 0) erasing.push(resultOf(trainer.eraseAccount(acme.app_id)));
      await delay(1);
    }
    const ids = await Promise.all(creating);
    await Promise.all(erasing);
    const listed = (await resultOf(trainer.listTrainingJobs({ limit: 100 }))).data.map(({ model }) => model.id);
    for (const id of ids) {
      const job = await trainer.getTrainingJob(id);
      expect(listed.includes(id)).toBe(job.isOk());
    }
    await resultOf(trainer.eraseAccount(acme.app_id));
    expect(await keysOf(storage, acme)).toEqual([]);
  });

  it('removes what is no job and no lease any more', async () => {
    const storage = aMemoryStorage();
    const { trainer, clock } = aTrainer({ storage, account: acme });
    const account = encodeURIComponent(acme.app_id);
    const id = '0190a6f0-0000-7000-8000-000000000007';
    await storage.write('jobs', `${account}/${id}`, { nonsense: true }, undefined);
    await storage.write('model-uses', `${account}/${id}`, 'nonsense', undefined);
    await storage.write('job-leases', account, 'nonsense', undefined);
    await writeFile(join(await storage.stageFolder(id), 'passages.json'), 'text');
    await storage.publishFolder(id);
    const erasing = resultOf(trainer.eraseAccount(acme.app_id));
    expect(await untilSettled(erasing, { clock })).toMatchObject({
      job_ids: [id],
      folders: 1,
      bytes: 4,
    });
    expect(await keysOf(storage, acme)).toEqual([]);
    expect(await storage.openFolder(id)).toBeUndefined();
  });
});

describe('eraseAccount for an operator', () => {
  it('erases the account under a trainer that runs its jobs', async () => {
    const storage = aMemoryStorage();
    const busy = await aBusyAccount(storage);
    const erasing = eraseAccount(withInternals({ storage, app_id: acme.app_id }, { clock: busy.clock }));
    const erased = untilSettled(Promise.resolve(erasing), busy);
    expect((await erased)._unsafeUnwrap().job_ids).toEqual(Object.values(busy.ids).sort());
    expect(await keysOf(storage, acme)).toEqual([]);
  });

  it('erases what a dead process left running', async () => {
    const storage = aMemoryStorage();
    const clock = new ManualClock();
    const host = new FakeHost();
    const dead = new Trainer(withInternals({ storage, host, account: acme }, { clock: new ManualClock() }));
    const id = (await dead.createTrainingJob({ ...(await import('../jobs/request.js')).aRequest }))._unsafeUnwrap().id;
    await host.nextRun(); // and its clock stands still from here on
    const erasing = eraseAccount(withInternals({ storage, app_id: acme.app_id }, { clock }));
    const erased = await untilSettled(Promise.resolve(erasing), { clock });
    expect(erased._unsafeUnwrap().job_ids).toEqual([id]);
    expect(await keysOf(storage, acme)).toEqual([]);
  });

  it('names an app_id that is none', async () => {
    const error = await errorOf(eraseAccount({ storage: aMemoryStorage(), app_id: '' }));
    expect(error).toMatchObject({ code: 'validation', problems: [{ loc: ['app_id'] }] });
  });
});

/** Lets the clock run until the call has come to its end. */
async function untilSettled<T>(call: Promise<T>, { clock }: Pick<TrainerInTest, 'clock'>): Promise<T> {
  let isSettled = false;
  const settled = call.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    await clock.advance(5000);
    await delay(5);
  }
  return settled;
}
