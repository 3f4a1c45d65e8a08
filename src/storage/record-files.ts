import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { StorageError } from '../errors.js';
import {
  deleteUnseen,
  ensureDirectory,
  flushDirectory,
  isPresent,
  move,
  namesIn,
  readTextIfPresent,
  unlinkIfPresent,
  writeFlushed,
} from './durable-files.js';
import { FileLocks, type Lock } from './file-locks.js';
import { decodeFileName, encodeFileName, isHashedFileName } from './file-name.js';
import { KeyedQueue } from './keyed-queue.js';
import { DEFAULT_LIMIT, listedKeys } from './listing.js';
import { parseJson } from './parse-json.js';
import {
  type JsonValue,
  type ListOptions,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from './storage.js';
import { sweepTemporaryFiles } from './sweep-temporary-files.js';

const EXTENSION = '.json';
/** How many files a listing reads at once. */
const READ_TOGETHER = 32;

/** What the file of one record holds. The key is there too, as a long one is not in the file's name. */
const recordSchema = z.object({
  key: z.string(),
  version: z.string(),
  value: z.custom<JsonValue>((value) => value !== undefined),
});

/**
 * Records as `records/<collection>/<key>.json`. A new state is written beside, in `temporary/`, and renamed over
 * the old one, so a file is always whole; the version is compared and the file renamed under a lock of that
 * record, in `locks/`. Readers take no lock.
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
    const record = await readRecord(this.#path(collection, key));
    return record && { value: record.value, version: record.version };
  }

  async write(
    collection: string,
    key: string,
    value: JsonValue,
    expected: Version | undefined,
  ): Promise<Version> {
    const path = this.#path(collection, key);
    const version = randomUUID();
    const draft = join(this.#temporary, version);
    await this.#ensureDirectories(collection);
    try {
      await writeFlushed(draft, `${JSON.stringify({ key, version, value }, undefined, 2)}\n`);
      await this.#alone(collection, key, async (lock) => {
        const present = await readRecord(path);
        if (present?.version !== expected) throw new VersionConflict(collection, key);
        await lock.confirm();
        await move(draft, path);
      });
    } finally {
      await deleteUnseen(draft);
    }
    await flushDirectory(dirname(path));
    return version;
  }

  async remove(collection: string, key: string): Promise<void> {
    const path = this.#path(collection, key);
    await this.#ensureDirectories(collection);
    const removed = await this.#alone(collection, key, async (lock) => {
      await lock.confirm();
      return unlinkIfPresent(path);
    });
    if (removed) await flushDirectory(dirname(path));
  }

  async list(collection: string, options: ListOptions): Promise<readonly StoredRecord[]> {
    const { limit = DEFAULT_LIMIT } = options;
    const files = await this.#filesByKey(collection);
    const keys = listedKeys(files.keys(), options);
    const found: StoredRecord[] = [];
    for (let next = 0; next < keys.length && found.length < limit; ) {
      const together = keys.slice(next, next + Math.min(READ_TOGETHER, limit - found.length));
      const records = await readRecords(together.map((key) => files.get(key) ?? this.#path(collection, key)));
      found.push(...records);
      next += together.length;
    }
    return found;
  }

  /**
   * False until the first write, and after the whole place was deleted; its root may be there all the same, made anew
   * by a training that writes its next checkpoint.
   */
  exist(): Promise<boolean> {
    return isPresent(this.#records);
  }

  /** Deletes the drafts of writers that crashed. */
  sweep(): Promise<void> {
    return sweepTemporaryFiles(this.#temporary);
  }

  /** The file of every key, hashed names looked up inside. Files that no key has are not records. */
  async #filesByKey(collection: string): Promise<Map<string, string>> {
    const directory = this.#directory(collection);
    const files = new Map<string, string>();
    const hashed: string[] = [];
    for (const file of await namesIn(directory)) {
      if (!file.endsWith(EXTENSION)) continue;
      const name = file.slice(0, -EXTENSION.length);
      const key = decodeFileName(name);
      if (key !== undefined) files.set(key, join(directory, file));
      else if (isHashedFileName(name)) hashed.push(join(directory, file));
    }
    for (let next = 0; next < hashed.length; next += READ_TOGETHER) {
      const records = await readRecords(hashed.slice(next, next + READ_TOGETHER));
      for (const { key } of records) files.set(key, this.#path(collection, key));
    }
    return files;
  }

  /** First in line in this process, then against other processes, so that our own callers need not poll. */
  #alone<T>(collection: string, key: string, work: (lock: Lock) => Promise<T>): Promise<T> {
    const name = encodeFileName(`${collection}/${key}`);
    return this.#queue.run(name, () => this.#locks.hold(name, work));
  }

  async #ensureDirectories(collection: string): Promise<void> {
    await ensureDirectory(this.#directory(collection));
    await ensureDirectory(this.#temporary);
    await ensureDirectory(this.#lockDirectory);
  }

  #directory(collection: string): string {
    return join(this.#records, encodeFileName(collection));
  }

  #path(collection: string, key: string): string {
    return join(this.#directory(collection), encodeFileName(key) + EXTENSION);
  }
}

async function readRecords(paths: readonly string[]): Promise<StoredRecord[]> {
  const records = await Promise.all(paths.map(readRecord));
  return records.filter((record) => record !== undefined);
}

/** @throws StorageError for a file that Orchard did not write like this. */
async function readRecord(path: string): Promise<StoredRecord | undefined> {
  const text = await readTextIfPresent(path);
  if (text === undefined) return undefined;
  const record = parseJson(recordSchema, text);
  if (record === undefined) {
    throw new StorageError(
      `${path} is no record { key, version, value } in JSON; restore or delete the file`,
    );
  }
  return record;
}
