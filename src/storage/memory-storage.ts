import { randomUUID } from 'node:crypto';
import { TemporaryDirectory } from '../system/index.js';
import { FolderStore } from './folder-store.js';
import {
  checkCollection,
  checkKey,
  checkLimit,
  DEFAULT_LIMIT,
  isListed,
  type JsonValue,
  type ListOptions,
  type Storage,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
  whileDoing,
} from './storage.js';

/**
 * Storage for tests, and for applications that need not keep anything. Records are in memory; folders are in a
 * temporary folder, which is removed by {@link Storage.close} and when the process ends.
 */
export function memoryStorage(): Storage {
  return new MemoryStorage();
}

interface MemoryCollection {
  /** As JSON text, so that no caller ever shares an object with the storage. */
  readonly records: Map<string, { readonly text: string; readonly version: Version }>;
  /** In the order of their UTF-16 code units; undefined after a change. */
  sortedKeys: readonly string[] | undefined;
}

class MemoryStorage implements Storage {
  readonly specificationVersion = 1;
  readonly #collections = new Map<string, MemoryCollection>();
  readonly #directory = new TemporaryDirectory();

  async read(collection: string, key: string): Promise<Versioned | undefined> {
    checkKey(key);
    const record = this.#collection(collection).records.get(key);
    return record && unpack(record);
  }

  async write(collection: string, key: string, value: JsonValue, expected: Version | undefined): Promise<Version> {
    checkKey(key);
    const stored = this.#collection(collection);
    if (stored.records.get(key)?.version !== expected) throw new VersionConflict(collection, key);
    const version = randomUUID();
    if (expected === undefined) stored.sortedKeys = undefined;
    stored.records.set(key, { text: JSON.stringify(value), version });
    return version;
  }

  async remove(collection: string, key: string): Promise<void> {
    checkKey(key);
    const stored = this.#collection(collection);
    if (stored.records.delete(key)) stored.sortedKeys = undefined;
  }

  async list(collection: string, options: ListOptions = {}): Promise<readonly StoredRecord[]> {
    const { records } = this.#collection(collection);
    return this.#keys(collection, options).flatMap((key) => {
      const record = records.get(key);
      return record === undefined ? [] : { key, ...unpack(record) };
    });
  }

  async listKeys(collection: string, options: ListOptions = {}): Promise<readonly string[]> {
    return this.#keys(collection, options);
  }

  stageFolder(key: string): Promise<string> {
    return this.#withFolders(key, 'staged', (folders) => folders.stage(key));
  }

  publishFolder(key: string): Promise<void> {
    return this.#withFolders(key, 'published', (folders) => folders.publish(key));
  }

  discardStaged(key: string): Promise<void> {
    return this.#withFolders(key, 'discarded', (folders) => folders.discard(key));
  }

  openFolder(key: string): Promise<string | undefined> {
    return this.#withFolders(key, 'opened', (folders) => folders.open(key));
  }

  removeFolder(key: string): Promise<void> {
    return this.#withFolders(key, 'removed', (folders) => folders.remove(key));
  }

  close(): Promise<void> {
    return this.#directory.remove();
  }

  #keys(collection: string, { limit = DEFAULT_LIMIT, ...range }: ListOptions): string[] {
    checkLimit(limit);
    const stored = this.#collection(collection);
    stored.sortedKeys ??= [...stored.records.keys()].sort();
    const found = stored.sortedKeys.filter((key) => isListed(key, range));
    return (range.reverse ? found.reverse() : found).slice(0, limit);
  }

  #collection(name: string): MemoryCollection {
    checkCollection(name);
    const collection = this.#collections.get(name) ?? { records: new Map(), sortedKeys: undefined };
    this.#collections.set(name, collection);
    return collection;
  }

  async #withFolders<T>(key: string, done: string, work: (folders: FolderStore) => Promise<T>): Promise<T> {
    checkKey(key);
    return whileDoing(`folder ${key} can't be ${done}`, async () =>
      work(new FolderStore(await this.#directory.path())),
    );
  }
}

function unpack({ text, version }: { readonly text: string; readonly version: Version }): Versioned {
  return { value: JSON.parse(text), version };
}
