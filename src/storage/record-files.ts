import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import {
  deleteUnseen,
  ensureDirectory,
  FileLocks,
  inDirectory,
  isPresent,
  type Lock,
  move,
  ownedName,
  sweepTemporaryFiles,
  unlinkWithEmptyParents,
  writeFlushed,
} from '../files/index.js';
import { encodeFileName } from './file-name.js';
import { KeyedQueue } from './keyed-queue.js';
import { DEFAULT_LIMIT } from './listing.js';
import { readRecord, readRecords, recordText } from './record-file.js';
import { pathOfKey } from './record-path.js';
import { findRecords } from './record-tree.js';
import {
  type JsonValue,
  type ListOptions,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from './storage.js';

/**
 * Records as files, in directories by the beginnings of their keys ({@link pathOfKey}). A new state is
 * written to `temporary/` and renamed over the old one, so a file is always whole. The version is compared
 * and the file renamed under a lock of that record, in `locks/`; readers take no lock. Removing a record also
 * removes the directories that are then empty, and a writer that finds one missing creates it again.
 */
export class RecordFiles {
  readonly #records: string;
  readonly #temporary: string;
  readonly #lockDirectory: string;
  readonly #locks: FileLocks;
  readonly #queue = new KeyedQueue();

  constructor(root: string) {
    this.#records = join(root, 'records');
    this.#temporary = join(root, 'temporary');
    this.#lockDirectory = join(root, 'locks');
    this.#locks = new FileLocks(this.#lockDirectory, this.#temporary);
  }

  async read(collection: string, key: string): Promise<Versioned | undefined> {
    const record = await readRecord(this.#path(collection, key), key);
    if (record === undefined) return undefined;
    const { key: _, ...versioned } = record;
    return versioned;
  }

  async write(
    collection: string,
    key: string,
    value: JsonValue,
    expected: Version | undefined,
  ): Promise<Version> {
    const path = this.#path(collection, key);
    const version = randomUUID();
    const draft = join(this.#temporary, ownedName());
    await this.#ensureDirectories();
    try {
      await writeFlushed(draft, recordText({ key, version, value }));
      await this.#alone(collection, key, async (lock) => {
        const present = await readRecord(path, key);
        if (present?.version !== expected) throw new VersionConflict(collection, key);
        await inDirectory(dirname(path), async () => {
          await lock.confirm();
          await move(draft, path);
        });
      });
      return version;
    } catch (thrown) {
      await deleteUnseen(draft);
      throw thrown;
    }
  }

  async remove(collection: string, key: string): Promise<void> {
    await this.#ensureDirectories();
    await this.#alone(collection, key, async (lock) => {
      await lock.confirm();
      await unlinkWithEmptyParents(this.#path(collection, key), this.#directory(collection));
    });
  }

  async list(collection: string, options: ListOptions): Promise<readonly StoredRecord[]> {
    const { limit = DEFAULT_LIMIT, ...range } = options;
    const found: StoredRecord[] = [];
    for (let { after } = range; found.length < limit; ) {
      const missing = limit - found.length;
      const rest = { ...range, ...(after !== undefined && { after }) };
      const places = await findRecords(this.#directory(collection), rest, missing);
      const records = await readRecords(places);
      for (const record of records) found.push(record);
      if (places.length < missing) break;
      after = places.at(-1)?.key; // some of the records were removed meanwhile
    }
    return found;
  }

  async listKeys(collection: string, options: ListOptions): Promise<readonly string[]> {
    const { limit = DEFAULT_LIMIT, ...range } = options;
    const places = await findRecords(this.#directory(collection), range, limit);
    return places.map(({ key }) => key);
  }

  /**
   * False until the first write, and after the storage's directory was deleted. The directory itself may
   * exist all the same, created again by a training that wrote its next checkpoint.
   */
  exist(): Promise<boolean> {
    return isPresent(this.#records);
  }

  /** Deletes the drafts and locks of processes that have died. */
  async sweep(): Promise<void> {
    await Promise.allSettled([sweepTemporaryFiles(this.#temporary), this.#locks.sweep()]);
  }

  /**
   * Waits in a queue of this process first and only then for the lock, so that our own callers needn't poll
   * for it.
   */
  #alone<T>(collection: string, key: string, work: (lock: Lock) => Promise<T>): Promise<T> {
    const name = encodeFileName(`${collection}/${key}`);
    return this.#queue.run(name, () => this.#locks.hold(name, work));
  }

  async #ensureDirectories(): Promise<void> {
    await Promise.all([ensureDirectory(this.#temporary), ensureDirectory(this.#lockDirectory)]);
  }

  #directory(collection: string): string {
    return join(this.#records, collection);
  }

  #path(collection: string, key: string): string {
    return join(this.#directory(collection), pathOfKey(key));
  }
}
