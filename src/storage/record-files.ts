import { createHash, randomUUID } from 'node:crypto';
import { dirname, join, sep } from 'node:path';
import * as z from 'zod';
import {
  deleteUnseen,
  ensureDirectory,
  FileLocks,
  failedWith,
  inDirectory,
  isPresent,
  type Lock,
  move,
  namesIn,
  ownedName,
  parseJson,
  readTextIfPresent,
  sweepTemporaryFiles,
  unlinkWithEmptyParents,
  writeFlushed,
} from '../files/index.js';
import { isListed, type KeyRange } from './arguments.js';
import { encodeFileName } from './file-name.js';
import { KeyedQueue } from './keyed-queue.js';
import { directoryOfPrefix, parseRecordName, pathOfKey } from './record-path.js';
import {
  type JsonValue,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from './storage.js';

/** How many files are read at once. */
const FILES_TOGETHER = 32;
/** How many directories are read at once, at most. */
const DIRECTORIES_TOGETHER = 16;
/** How much of a damaged file is handed on, in UTF-16 code units. */
const MAX_LEFT = 65_536;

/** The contents of a record's file, including the key, as a long one is not in the file's name. */
const recordSchema = z.object({
  key: z.string(),
  version: z.string(),
  value: z.custom<JsonValue>((value) => value !== undefined),
});

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
      await writeFlushed(draft, `${JSON.stringify({ key, version, value }, undefined, 2)}\n`);
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

  async list(collection: string, range: KeyRange, limit: number): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (let { after } = range; found.length < limit; ) {
      const missing = limit - found.length;
      const rest = { ...range, ...(after !== undefined && { after }) };
      const places = await findRecords(this.#directory(collection), rest, missing);
      for (let next = 0; next < places.length; next += FILES_TOGETHER) {
        const group = places.slice(next, next + FILES_TOGETHER);
        const records = await Promise.all(group.map(({ path, text }) => readRecord(path, text)));
        for (const record of records) if (record !== undefined) found.push(record);
      }
      if (places.length < missing) break;
      after = places.at(-1)?.text; // some of the records were removed meanwhile
    }
    return found;
  }

  async listKeys(collection: string, range: KeyRange, limit: number): Promise<readonly string[]> {
    const places = await findRecords(this.#directory(collection), range, limit);
    return places.map(({ text }) => text);
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

/**
 * The record in a file; undefined if there is no such file. Any other content is a damaged record.
 * @param key that the file is named by; undefined if only its contents say so.
 */
async function readRecord(path: string, key?: string): Promise<StoredRecord | undefined> {
  const text = await readTextIfPresent(path);
  if (text === undefined) return undefined;
  const record = parseJson(recordSchema, text);
  if (record !== undefined || key === undefined) return record;
  return {
    key,
    version: `damaged-${createHash('sha256').update(text).digest('hex')}`,
    value: text.slice(0, MAX_LEFT),
    damage: `${path} is not a record { key, version, value } in JSON`,
  };
}

/** A record's file with its key as `text`, or a directory with the common beginning of its keys. */
interface Entry {
  readonly path: string;
  readonly text: string;
  readonly isFile: boolean;
  /** False if the file has not been seen. */
  readonly isSure?: boolean;
}

/**
 * The first records of a range in a collection, in the order of the range. Reads only directories that may
 * have some of them: first one, then as many at once as probably have the missing ones, going by what the
 * earlier ones had.
 */
function findRecords(collection: string, range: KeyRange, limit: number): Promise<Entry[]> {
  const { prefix = '' } = range;
  const { path, beginning } = directoryOfPrefix(prefix);
  const start: Entry[] = [{ path: join(collection, path), text: beginning, isFile: false }];
  if (prefix !== '' && beginning === prefix) {
    start.push({ path: join(collection, pathOfKey(prefix)), text: prefix, isFile: true, isSure: false });
  }
  return firstFiles(start, range, limit);
}

async function firstFiles(entries: readonly Entry[], range: KeyRange, limit: number): Promise<Entry[]> {
  const asked = entries.filter(({ text, isFile }) =>
    isFile ? isListed(text, range) : mayBeginListed(text, range),
  );
  asked.sort(range.reverse ? (a, b) => inKeyOrder(b, a) : inKeyOrder);
  const found: Entry[] = [];
  for (let next = 0, together = 1; next < asked.length && found.length < limit; ) {
    const missing = limit - found.length;
    const group = asked.slice(next, next + together);
    const files = await Promise.all(
      group.map(async (entry) => {
        if (!entry.isFile) return firstFiles(await entriesIn(entry), range, missing);
        return entry.isSure === false && !(await isPresent(entry.path)) ? [] : [entry];
      }),
    );
    for (const file of files.flat()) if (found.length < limit) found.push(file);
    next += group.length;
    const likely = found.length === 0 ? 2 * together : ((limit - found.length) * next) / found.length;
    together = Math.min(Math.ceil(likely), DIRECTORIES_TOGETHER);
  }
  return found;
}

/** False if the listing asks for no key that begins like this. */
function mayBeginListed(beginning: string, { prefix = '', after, reverse }: KeyRange): boolean {
  const fitsPrefix = beginning.startsWith(prefix) || prefix.startsWith(beginning);
  if (after === undefined || after.startsWith(beginning)) return fitsPrefix;
  return fitsPrefix && (reverse ? beginning < after : beginning > after);
}

/** A key comes before the longer ones that begin with it. */
function inKeyOrder(a: Entry, b: Entry): number {
  if (a.text === b.text) return a.isFile ? -1 : 1;
  return a.text < b.text ? -1 : 1;
}

async function entriesIn({ path: directory, text: before }: Entry): Promise<Entry[]> {
  const names = await namesIn(directory).catch((thrown: unknown) => {
    if (failedWith(thrown, 'ENOTDIR')) return []; // a foreign file
    throw thrown;
  });
  const entries: Entry[] = [];
  for (const name of names) {
    const parsed = parseRecordName(name, before);
    if (parsed === undefined) continue;
    const path = directory + sep + name;
    const { isFile, piece } = parsed;
    const text = piece === undefined ? (await readRecord(path))?.key : before + piece;
    if (text !== undefined) entries.push({ path, text, isFile });
  }
  return entries;
}
