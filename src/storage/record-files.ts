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
} from '../system/index.js';
import { encodeFileName, escapeName, hashedName, unescapeName } from './file-name.js';
import { KeyedQueue } from './keyed-queue.js';
import {
  isListed,
  type JsonValue,
  type KeyRange,
  type StoredRecord,
  type Version,
  VersionConflict,
  type Versioned,
} from './storage.js';

/** The extension of a record's file. No directory's name has it, since a `.` in a key is escaped. */
export const EXTENSION = '.json';

/**
 * A key is split after every "/", and between two of them after 3, 5, 7 and 10 UTF-16 code units, then after
 * every 30. So UUIDs that begin with their time lie in nested directories for 2 years, 3 days, 17 minutes and
 * 4 seconds, of which one has at most 256 of the next smaller ones.
 */
const CUTS = [3, 5, 7, 10];
const LATER_WIDTH = 30;
/**
 * The longest path within a collection. macOS allows 1,024 bytes for a whole path; every ASCII key stays below this.
 */
const MAX_PATH_LENGTH = 800;
const HASHED = /^~[0-9a-f]{64}$/;

/** A name in a directory of records: a record's file, or the directory of all longer keys that begin with it. */
interface RecordName {
  readonly isFile: boolean;
  /** The piece of the key that it is named after; undefined for a file whose key is only in its contents. */
  readonly piece: string | undefined;
}

/**
 * The path of a record's file within its collection: `local/0190a6f0-…` is `loc/al/%2f/019/0a/6f/0-0/….json`. Whether a
 * key is split at a point depends only on what comes before. So the names in a directory, ordered by their pieces, are
 * in the order of the keys beneath them. If a path gets too long, the rest of it is a hash.
 */
export function pathOfKey(key: string): string {
  const { names, rest } = cutKey(key);
  return join(...names, rest) + EXTENSION;
}

/**
 * The deepest directory with all keys that begin with `prefix`, except that key itself; and what all keys
 * there begin with.
 */
export function directoryOfPrefix(prefix: string): { readonly path: string; readonly beginning: string } {
  const { names, before } = cutKey(prefix);
  const last = prefix.slice(before.length);
  const name = escapeName(last);
  if (last === '' || !isWhole(last, before) || !fits([...names, name])) {
    return { path: join(...names), beginning: before };
  }
  return { path: join(...names, name), beginning: prefix };
}

/** Parses a name in the directory of the keys that begin with `before`; undefined if it isn't the name of any key. */
export function parseRecordName(name: string, before: string): RecordName | undefined {
  const isFile = name.endsWith(EXTENSION);
  const stem = isFile ? name.slice(0, -EXTENSION.length) : name;
  if (isFile && HASHED.test(stem)) return { isFile, piece: undefined };
  const piece = unescapeName(stem);
  if (!piece || pieceLength(before + piece, before.length) !== piece.length) return undefined;
  return isFile || isWhole(piece, before) ? { isFile, piece } : undefined;
}

/** The directories to a key's file, the part of the key that they contain, and the name of the rest. */
function cutKey(key: string): { names: string[]; before: string; rest: string } {
  const names: string[] = [];
  for (let at = 0; ; ) {
    const piece = key.slice(at, at + pieceLength(key, at));
    const name = escapeName(piece);
    const before = key.slice(0, at);
    if (!fits([...names, name])) return { names, before, rest: hashedName(key) };
    at += piece.length;
    if (at >= key.length) return { names, before, rest: name };
    names.push(name);
  }
}

function fits(names: readonly string[]): boolean {
  return names.reduce((length, name) => length + name.length + 1, 0) <= MAX_PATH_LENGTH;
}

/** The length in code units of the piece of a key that begins at `at`, where the piece before it ended. */
function pieceLength(key: string, at: number): number {
  const slash = key.indexOf('/', at);
  const upToSlash = slash === -1 ? Number.POSITIVE_INFINITY : slash + 1 - at;
  return Math.min(widthAfter(key.slice(0, at)), upToSlash, key.length - at);
}

function widthAfter(before: string): number {
  const inSegment = before.length - (before.lastIndexOf('/') + 1);
  const cut = CUTS.find((cut) => cut > inSegment);
  return cut === undefined ? LATER_WIDTH : cut - inSegment;
}

/** Whether a key may go on after this piece, rather than end with it. */
function isWhole(piece: string, before: string): boolean {
  return piece.endsWith('/') || piece.length === widthAfter(before);
}

const FILES_TOGETHER = 32;
const DIRECTORIES_TOGETHER = 16;
const MAX_LEFT = 65_536;

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

  async write(collection: string, key: string, value: JsonValue, expected: Version | undefined): Promise<Version> {
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
   * exist all the same, created again by a training run that wrote its next checkpoint.
   */
  exist(): Promise<boolean> {
    return isPresent(this.#records);
  }

  async sweep(): Promise<void> {
    await Promise.allSettled([sweepTemporaryFiles(this.#temporary), this.#locks.sweep()]);
  }

  /** Waits in a queue of this process first and only then for the lock, so that our own callers needn't poll for it. */
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
 * The first records of a range in a collection, in the order of the range. Reads only directories that may have some of
 * them: first one, then as many at once as probably have the missing ones, going by what the earlier ones had.
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
  const asked = entries.filter(({ text, isFile }) => (isFile ? isListed(text, range) : mayBeginListed(text, range)));
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
