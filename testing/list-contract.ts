import assert from 'node:assert/strict';
import type { ListOptions, Storage } from '../src/storage/index.js';
import { inKeyOrder, ODD_KEYS, range, type StorageChecks } from './storage-check.js';

/** Keys that begin alike, whose order and prefixes may be wrong in a storage that splits keys. */
const ALIKE_KEYS = ['', '-', '/', '0', 'a'].flatMap((end) =>
  ['a', 'abc', 'abc/', 'abcdef', 'abcdefghij', 'abcdefghij/abc', 'abc/abcdefghijk'].map((start) => start + end),
);
const ALL_KEYS = [...new Set([...ODD_KEYS, ...ALIKE_KEYS])];

/** What a storage promises about listings of records. */
export const listContract: StorageChecks = {
  'lists nothing in a collection without records': async (storage) => {
    await storage.write('jobs', 'a', 1, undefined);
    assert.deepEqual(await storage.list('models'), []);
  },

  'lists records whole: key, value and version': async (storage) => {
    const version = await storage.write('jobs', 'a', { n: 1 }, undefined);
    assert.deepEqual(await storage.list('jobs'), [{ key: 'a', value: { n: 1 }, version }]);
  },

  'lists in the order of UTF-16 code units, whatever the order of writing': async (storage) => {
    // By code point U+FF21 comes before U+1F34A; by UTF-16 code unit (d83c) after it.
    await writeAll(storage, ['b', '\uff21', 'a', '\u{1f34a}', 'B', 'é', 'a-', 'a/']);
    assert.deepEqual(await listKeys(storage), ['B', 'a', 'a-', 'a/', 'b', 'é', '\u{1f34a}', '\uff21']);
  },

  'lists keys of any characters': async (storage) => {
    await writeAll(storage, ODD_KEYS);
    assert.deepEqual(await listKeys(storage), inKeyOrder(ODD_KEYS));
  },

  'lists in descending order on request': async (storage) => {
    await writeAll(storage, ['b', 'a', 'c']);
    assert.deepEqual(await listKeys(storage, { reverse: true }), ['c', 'b', 'a']);
  },

  'lists only keys with the prefix, which is not a pattern': async (storage) => {
    await writeAll(storage, ['a', 'a/1', 'a/2', 'a%', 'b/1', 'A/1', 'ab']);
    assert.deepEqual(await listKeys(storage, { prefix: 'a/' }), ['a/1', 'a/2']);
    assert.deepEqual(await listKeys(storage, { prefix: 'a%' }), ['a%']);
    assert.deepEqual(await listKeys(storage, { prefix: 'a' }), ['a', 'a%', 'a/1', 'a/2', 'ab']);
    assert.deepEqual(await listKeys(storage, { prefix: 'none' }), []);
  },

  'lists only keys after the given one, in either order, whether or not it exists': async (storage) => {
    await writeAll(storage, ['a', 'b', 'c', 'd']);
    assert.deepEqual(await listKeys(storage, { after: 'b' }), ['c', 'd']);
    assert.deepEqual(await listKeys(storage, { after: 'bb' }), ['c', 'd']);
    assert.deepEqual(await listKeys(storage, { after: 'd' }), []);
    assert.deepEqual(await listKeys(storage, { after: 'c', reverse: true }), ['b', 'a']);
    assert.deepEqual(await listKeys(storage, { after: 'a', reverse: true }), []);
  },

  'lists keys of any characters after any other, in either order': async (storage) => {
    await writeAll(storage, ALL_KEYS);
    const sorted = inKeyOrder(ALL_KEYS);
    for (const [index, after] of sorted.entries()) {
      assert.deepEqual(await listKeys(storage, { after, limit: 3 }), sorted.slice(index + 1, index + 4));
      const before = sorted.slice(Math.max(0, index - 3), index).reverse();
      assert.deepEqual(await listKeys(storage, { after, limit: 3, reverse: true }), before);
    }
  },

  'lists keys of any characters by any prefix': async (storage) => {
    await writeAll(storage, ALL_KEYS);
    const prefixes = new Set(ALL_KEYS.flatMap((key) => [key, key.slice(0, 1), key.slice(0, -1)]));
    for (const prefix of prefixes) {
      const found = inKeyOrder(ALL_KEYS.filter((key) => key.startsWith(prefix)));
      assert.deepEqual(await listKeys(storage, { prefix, limit: 3 }), found.slice(0, 3));
      const last = found.slice(-3).reverse();
      assert.deepEqual(await listKeys(storage, { prefix, limit: 3, reverse: true }), last);
    }
  },

  'lists at most `limit` records, the first in the order asked for': async (storage) => {
    await writeAll(storage, ['c', 'a', 'b']);
    assert.deepEqual(await listKeys(storage, { limit: 2 }), ['a', 'b']);
    assert.deepEqual(await listKeys(storage, { limit: 2, reverse: true }), ['c', 'b']);
    assert.deepEqual(await listKeys(storage, { limit: 9 }), ['a', 'b', 'c']);
    assert.deepEqual(await listKeys(storage, { limit: 0 }), []);
  },

  'lists 100 records if no limit is given': async (storage) => {
    const keys = range(101).map((index) => String(index).padStart(3, '0'));
    await writeAll(storage, keys);
    assert.deepEqual(await listKeys(storage), keys.slice(0, 100));
  },

  'pages through every record once, by prefix, after, limit and reverse together': async (storage) => {
    const keys = range(7).map((index) => `mine/${index}`);
    await writeAll(storage, ['all/0', ...keys, 'zero/0']);
    const pages: (readonly string[])[] = [];
    for (let after: string | undefined; ; after = pages.at(-1)?.at(-1)) {
      const options = { prefix: 'mine/', limit: 3, reverse: true, ...(after !== undefined && { after }) };
      const page = await listKeys(storage, options);
      if (page.length === 0) break;
      pages.push(page);
    }
    assert.deepEqual(
      pages.map((page) => page.length),
      [3, 3, 1],
    );
    assert.deepEqual(pages.flat(), keys.toReversed());
  },

  'goes on after a record that was removed meanwhile': async (storage) => {
    await writeAll(storage, ['a/1', 'a/2', 'b']);
    const [first] = await listKeys(storage, { limit: 1 });
    assert.equal(first, 'a/1');
    await storage.remove('jobs', 'a/1');
    assert.deepEqual(await listKeys(storage, { after: first }), ['a/2', 'b']);
  },

  'lists no removed record, and the latest state of a rewritten one': async (storage) => {
    await writeAll(storage, ['a', 'b']);
    const read = await storage.read('jobs', 'b');
    const version = await storage.write('jobs', 'b', 'new', read?.version);
    await storage.remove('jobs', 'a');
    assert.deepEqual(await storage.list('jobs'), [{ key: 'b', value: 'new', version }]);
    assert.deepEqual(await storage.listKeys('jobs'), ['b']);
  },

  'lists no record twice, and every one that stays, while others are written and removed': async (storage) => {
    const staying = range(10).map((index) => `stay/${index}`);
    const going = range(10).map((index) => `go/${index}`);
    await writeAll(storage, [...staying, ...going]);
    const changes = Promise.all([
      ...going.map((key) => storage.remove('jobs', key)),
      ...range(10).map((index) => storage.write('jobs', `new/${index}`, index, undefined)),
    ]);
    const listings = range(5).flatMap(() => [
      storage.list('jobs').then((records) => records.map(({ key }) => key)),
      storage.listKeys('jobs'),
    ]);
    for (const keys of await Promise.all(listings)) {
      assert.deepEqual(keys, inKeyOrder([...new Set(keys)]));
      assert.deepEqual(
        keys.filter((key) => key.startsWith('stay/')),
        staying,
      );
    }
    await changes;
  },
};

async function writeAll(storage: Storage, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => storage.write('jobs', key, `of ${key}`, undefined)));
}

/** The keys of a listing, which has to be the same with the records and without. */
async function listKeys(storage: Storage, options?: ListOptions): Promise<readonly string[]> {
  const records = await storage.list('jobs', options);
  const keys = records.map(({ key }) => key);
  assert.deepEqual(await storage.listKeys('jobs', options), keys);
  return keys;
}
