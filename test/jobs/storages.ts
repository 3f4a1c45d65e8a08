import { setImmediate } from 'node:timers/promises';
import { type Storage, VersionConflict } from '../../src/storage/index.js';

/** The storage, but for its n-th write or removal from now, which fails. */
export function failingAt(storage: Storage, n: number): Storage {
  let left = n;
  const fail = () => {
    left -= 1;
    if (left === -1) throw new Error('no space');
  };
  return {
    ...bound(storage),
    write: async (...args) => {
      fail();
      return storage.write(...args);
    },
    remove: async (...args) => {
      fail();
      return storage.remove(...args);
    },
  };
}

/** The storage with pauses in which others come to act. */
export function withPauses(storage: Storage): Storage {
  return {
    ...bound(storage),
    listKeys: async (...args) => {
      await setImmediate();
      return storage.listKeys(...args);
    },
    read: async (...args) => {
      await setImmediate();
      return storage.read(...args);
    },
    write: async (...args) => {
      await setImmediate();
      return storage.write(...args);
    },
    remove: async (...args) => {
      await setImmediate();
      return storage.remove(...args);
    },
    list: async (...args) => {
      await setImmediate();
      return storage.list(...args);
    },
  };
}

/** The same storage as an object whose methods a test can replace. */
export function bound(storage: Storage): Storage {
  return {
    specificationVersion: 1,
    read: (...args) => storage.read(...args),
    write: (...args) => storage.write(...args),
    remove: (...args) => storage.remove(...args),
    list: (...args) => storage.list(...args),
    listKeys: (...args) => storage.listKeys(...args),
    stageFolder: (key) => storage.stageFolder(key),
    publishFolder: (key) => storage.publishFolder(key),
    discardStaged: (key) => storage.discardStaged(key),
    openFolder: (key) => storage.openFolder(key),
    removeFolder: (key) => storage.removeFolder(key),
    close: () => storage.close(),
  };
}

/** Counts the jobs read and the keys listed from now on. */
export function countReads(storage: Storage): { jobs: number; listed: number } {
  const reads = { jobs: 0, listed: 0 };
  const { read, listKeys } = storage;
  storage.read = (collection, key) => {
    if (collection === 'jobs') reads.jobs += 1;
    return read.call(storage, collection, key);
  };
  storage.listKeys = async (...args) => {
    const keys = await listKeys.apply(storage, args);
    reads.listed += keys.length;
    return keys;
  };
  return reads;
}

/** The storage as one that reads and creates several records in one call, such as a database. */
export function withBatches(storage: Storage): Storage {
  return {
    ...bound(storage),
    async readAll(collection, keys) {
      const found = keys.map(async (key) => ({ key, record: await storage.read(collection, key) }));
      const records = await Promise.all(found);
      return records.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, ...record }])).reverse();
    },
    async createAll(records) {
      for (const { collection, key } of records) {
        if ((await storage.read(collection, key)) !== undefined) throw new VersionConflict(collection, key);
      }
      return Promise.all(records.map(({ collection, key, value }) => storage.write(collection, key, value, undefined)));
    },
  };
}
