import assert from 'node:assert/strict';
import { isVersionConflict, type JsonValue, type Storage } from '../src/storage/index.js';
import { ODD_KEYS, observeDuring, outcomes, range, type StorageChecks, tamperWith } from './storage-check.js';

const CONTENDERS = 12;
/** A record of this many numbers is too large for one system call to write. */
const LARGE = 20_000;

/** What a storage promises about records, apart from listings. */
export const recordContract: StorageChecks = {
  'has specification version 1': async (storage) => {
    assert.equal(storage.specificationVersion, 1);
  },

  'reads undefined if there is no record': async (storage) => {
    assert.equal(await storage.read('jobs', 'absent'), undefined);
  },

  'reads what was written, of every JSON type, with the version of that write': async (storage) => {
    const values: JsonValue[] = [
      '',
      'żółć 🍊 \ud800',
      0,
      -1.5e-7,
      true,
      null,
      [],
      {},
      [1, [{ a: null }]],
      { b: { c: [''] } },
    ];
    for (const [index, value] of values.entries()) {
      const version = await storage.write('jobs', `${index}`, value, undefined);
      assert.deepEqual(await storage.read('jobs', `${index}`), { value, version });
    }
  },

  'reads several records at once as it reads each, where it can': async (storage) => {
    const keys = ['b', 'a', '\ud800', 'absent'];
    const written = await Promise.all(
      keys.slice(0, 3).map(async (key) => ({
        key,
        value: { key },
        version: await storage.write('jobs', key, { key }, undefined),
      })),
    );
    await storage.write('other', 'absent', 1, undefined);
    const found = await storage.readAll?.('jobs', keys);
    if (found === undefined) return;
    assert.deepEqual(new Set(found), new Set(written));
    assert.deepEqual(await storage.readAll?.('jobs', []), []);
  },

  'creates several records at once or none, where it can': async (storage) => {
    if (storage.createAll === undefined) return;
    assert.deepEqual(await storage.createAll([]), []);
    const created = ['b', 'a'].map((key) => ({ collection: 'jobs', key, value: { key } }));
    const [versionOfB, versionOfA] = await storage.createAll(created);
    assert.equal((await storage.read('jobs', 'b'))?.version, versionOfB);
    await storage.createAll([{ collection: 'other', key: 'a', value: null }]);
    assert.deepEqual((await storage.read('jobs', 'b'))?.value, { key: 'b' });
    const again = ['c', 'b'].map((key) => ({ collection: 'jobs', key, value: 'again' }));
    await assert.rejects(storage.createAll(again), isVersionConflict);
    assert.equal(await storage.read('jobs', 'c'), undefined);
    assert.deepEqual((await storage.read('jobs', 'b'))?.value, { key: 'b' });
    await storage.write('jobs', 'a', 'next', versionOfA);
  },

  'replaces the record when the expected version is the stored one': async (storage) => {
    const first = await storage.write('jobs', 'a', 1, undefined);
    const second = await storage.write('jobs', 'a', 2, first);
    assert.deepEqual(await storage.read('jobs', 'a'), { value: 2, version: second });
  },

  'gives every write a version of its own, even if the value is equal': async (storage) => {
    const first = await storage.write('jobs', 'a', 1, undefined);
    const second = await storage.write('jobs', 'a', 1, first);
    await storage.remove('jobs', 'a');
    const third = await storage.write('jobs', 'a', 1, undefined);
    assert.equal(new Set([first, second, third]).size, 3);
  },

  'refuses to create a record that exists, and leaves it as it was': async (storage) => {
    const version = await storage.write('jobs', 'a', 'kept', undefined);
    await assertConflict(storage, undefined);
    assert.deepEqual(await storage.read('jobs', 'a'), { value: 'kept', version });
  },

  'refuses a version that is no longer the stored one, and leaves the record as it was': async (storage) => {
    const stale = await storage.write('jobs', 'a', 'first', undefined);
    const version = await storage.write('jobs', 'a', 'kept', stale);
    await assertConflict(storage, stale);
    assert.deepEqual(await storage.read('jobs', 'a'), { value: 'kept', version });
  },

  'refuses any version if there is no record, and creates none': async (storage) => {
    const removed = await storage.write('jobs', 'a', 1, undefined);
    await storage.remove('jobs', 'a');
    await assertConflict(storage, removed);
    assert.equal(await storage.read('jobs', 'a'), undefined);
  },

  'lets exactly one of many concurrent creators win': async (storage) => {
    const attempts = range(CONTENDERS).map((writer) => storage.write('jobs', 'a', writer, undefined));
    const { results, failures } = outcomes(await Promise.allSettled(attempts), isVersionConflict);
    assert.equal(failures, CONTENDERS - 1);
    assert.equal((await storage.read('jobs', 'a'))?.version, results[0]);
  },

  'lets exactly one of many concurrent writers with the same expected version win': async (storage) => {
    const start = await storage.write('jobs', 'a', 'start', undefined);
    const attempts = range(CONTENDERS).map((writer) => storage.write('jobs', 'a', writer, start));
    const { results, failures } = outcomes(await Promise.allSettled(attempts), isVersionConflict);
    assert.equal(failures, CONTENDERS - 1);
    assert.equal((await storage.read('jobs', 'a'))?.version, results[0]);
  },

  'loses no update of many concurrent writers that try again after a conflict': async (storage) => {
    await Promise.all(range(CONTENDERS).map(() => increment(storage, 'a')));
    assert.equal((await storage.read('jobs', 'a'))?.value, CONTENDERS);
  },

  'shows readers only whole states while a record is rewritten': async (storage) => {
    let version = await storage.write('jobs', 'a', range(LARGE).fill(0), undefined);
    for (const round of range(8)) {
      const writing = storage.write('jobs', 'a', range(LARGE).fill(round), version);
      version = await observeDuring(writing, async () => {
        assertUniform((await storage.read('jobs', 'a'))?.value);
      });
    }
  },

  'removes a record; no error if it is absent': async (storage) => {
    await storage.write('jobs', 'a', 1, undefined);
    await storage.remove('jobs', 'a');
    assert.equal(await storage.read('jobs', 'a'), undefined);
    await storage.remove('jobs', 'a');
    await storage.write('jobs', 'a', 2, undefined);
    assert.equal((await storage.read('jobs', 'a'))?.value, 2);
  },

  'keeps collections apart': async (storage) => {
    await storage.write('jobs', 'a', 'job', undefined);
    await storage.write('jobs-old', 'a', 'old job', undefined);
    await storage.remove('jobs-old', 'a');
    assert.equal((await storage.read('jobs', 'a'))?.value, 'job');
    assert.equal(await storage.read('jobs-old', 'a'), undefined);
  },

  'keeps keys of any characters apart': async (storage) => {
    for (const key of ODD_KEYS) await storage.write('jobs', key, `of ${key}`, undefined);
    for (const key of ODD_KEYS) assert.equal((await storage.read('jobs', key))?.value, `of ${key}`);
    for (const key of ODD_KEYS) {
      await storage.remove('jobs', key);
      assert.equal(await storage.read('jobs', key), undefined);
    }
  },

  'shares no object with its callers': async (storage) => {
    const written = { tags: ['a'] };
    await storage.write('jobs', 'a', written, undefined);
    written.tags.push('b');
    const read = await storage.read('jobs', 'a');
    assert.deepEqual(read?.value, { tags: ['a'] });
    tamperWith(read?.value);
    const [listed] = await storage.list('jobs');
    assert.deepEqual(listed?.value, { tags: ['a'] });
    tamperWith(listed?.value);
    assert.deepEqual((await storage.read('jobs', 'a'))?.value, { tags: ['a'] });
  },

  'rejects keys and collection names outside the rules': async (storage) => {
    await assert.rejects(storage.read('jobs', ''), Error);
    await assert.rejects(storage.write('jobs', 'x'.repeat(201), 1, undefined), Error);
    await assert.rejects(storage.stageFolder(''), Error);
    for (const collection of ['', '..', 'a/b', 'Jobs']) await assert.rejects(storage.list(collection), Error);
  },

  'can be closed twice': async (storage) => {
    await storage.write('jobs', 'a', 1, undefined);
    await storage.close();
    await storage.close();
  },
};

async function assertConflict(storage: Storage, expected: string | undefined): Promise<void> {
  await assert.rejects(storage.write('jobs', 'a', 'refused', expected), (thrown) => {
    assert.ok(isVersionConflict(thrown), `failed with ${thrown}`);
    assert.deepEqual([thrown.collection, thrown.key], ['jobs', 'a']);
    return true;
  });
}

function assertUniform(value: JsonValue | undefined): void {
  assert.ok(Array.isArray(value));
  assert.equal(value.length, LARGE);
  assert.equal(new Set(value).size, 1);
}

/** Adds one to a counter by conditional writes, until one succeeds. */
async function increment(storage: Storage, key: string): Promise<void> {
  for (;;) {
    const read = await storage.read('jobs', key);
    try {
      await storage.write('jobs', key, Number(read?.value ?? 0) + 1, read?.version);
      return;
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown;
    }
  }
}
