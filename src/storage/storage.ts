import { isOrchardError, messageOf, StorageError } from '../contract/index.js';
import type { FileContent } from '../system/index.js';

/** Anything that JSON can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Identifies one write of one record; opaque. */
export type Version = string;

/** A record as it was read, with the version to pass back on a conditional write. */
export interface Versioned {
  readonly value: JsonValue;
  /** The version of the write that stored it. */
  readonly version: Version;
  /**
   * Present if the medium holds something other than a record under this key, such as a file that was cut short: a
   * description of the problem. `value` is then the content, as text. It can be replaced and removed like any record.
   */
  readonly damage?: string;
}

/** A record of a listing, with its key. */
export interface StoredRecord extends Versioned {
  readonly key: string;
}

/** A description of a folder, without its files. */
export interface FolderDescription {
  /** Size of its published files and its saved staged files. */
  readonly bytes: number;
  /** When it was published, in milliseconds since 1970; absent if it is not. */
  readonly publishedMs?: number;
}

/** Which records of a collection to list. */
export interface ListOptions {
  /** Only keys that start with this. Default: every key. */
  readonly prefix?: string;
  /** Only keys after this one, in the order asked for. */
  readonly after?: string;
  /** At most this many. Default 100. */
  readonly limit?: number;
  /** Descending instead of ascending key order (by UTF-16 code units). Default false. */
  readonly reverse?: boolean;
}

/** A record to create. */
export interface NewRecord {
  readonly collection: string;
  readonly key: string;
  readonly value: JsonValue;
}

/** How a record is written. */
export interface WriteOptions {
  /**
   * Whether the write may use room that the storage reserves for a full medium. For writes that record a result rather
   * than begin something new. Default false.
   */
  readonly isUrgent?: boolean;
}

/** Marks our conflicts across duplicate copies of the package, where `instanceof` would miss them. */
const CONFLICT = Symbol.for('orchard-nlp.version-conflict');

/** Thrown by a conditional write if the stored version is not the expected one. */
export class VersionConflict extends Error {
  override readonly name = 'VersionConflict';
  readonly [CONFLICT] = true;
  constructor(
    readonly collection: string,
    readonly key: string,
  ) {
    super(`${collection}/${key} was written by someone else since it was read`);
  }
}

/** True for a conflict, even for one that another copy of this package threw. */
export function isVersionConflict(thrown: unknown): thrown is VersionConflict {
  return typeof thrown === 'object' && thrown !== null && CONFLICT in thrown;
}

/** Marks our errors across duplicate copies of the package, where `instanceof` would miss them. */
const STAGING_LOST = Symbol.for('orchard-nlp.staging-lost');

/** Thrown if another process has since staged a folder that was staged here; only its work counts now. */
export class StagingLost extends Error {
  override readonly name = 'StagingLost';
  readonly [STAGING_LOST] = true;
  constructor(readonly key: string) {
    super(`folder ${key} was staged elsewhere since it was staged here; the files staged here no longer count`);
  }
}

/** True for such an error and for an error with it as the cause, even of another copy of this package. */
export function isStagingLost(thrown: unknown): boolean {
  if (typeof thrown !== 'object' || thrown === null) return false;
  return STAGING_LOST in thrown || ('cause' in thrown && isStagingLost(thrown.cause));
}

/** Runs `work`. If the medium fails, the error says what was being done, and to which record or folder. */
export async function whileDoing<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (isTypedError(thrown)) throw thrown;
    const reason = messageOf(thrown);
    throw new StorageError(`${what}: ${reason}`, { cause: thrown });
  }
}

/** Whether callers know an error of a storage by its class, so that it passes through unchanged. */
export function isTypedError(thrown: unknown): boolean {
  return isVersionConflict(thrown) || isStagingLost(thrown) || isOrchardError(thrown);
}

/**
 * Where records (small JSON values) and folders (the files of one model) are stored. Implementations pass
 * `storageContract` from `orchard-nlp/testing`.
 *
 * A key is 1 to 200 characters (UTF-16 code units) of any kind, including "/"; collections are named in a–z and '-'. A
 * write is atomic: readers see the whole old or the whole new state, even after a crash at any point. If the medium
 * fails, every method rejects with an `Error` whose message names the collection and key.
 */
export interface Storage {
  /** The version of this interface. */
  readonly specificationVersion: 1;

  /** Reads a record. @returns it with its version; undefined if there is none. */
  read(collection: string, key: string): Promise<Versioned | undefined>;

  /**
   * Reads several records at once; missing ones are left out. The records may be in any order. Only for storages with a cost per
   * call, such as a database.
   */
  readAll?(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]>;

  /**
   * Writes only if the stored version is `expected` (undefined: only if the record is absent).
   * @returns the new version.
   * @throws VersionConflict otherwise, leaving the record as it was.
   */
  write(
    collection: string,
    key: string,
    value: JsonValue,
    expected: Version | undefined,
    options?: WriteOptions,
  ): Promise<Version>;

  /**
   * Creates several records at once: all of them, or none if one exists. Only for storages with a cost per call, such as a
   * database.
   * @returns their versions, in the same order.
   * @throws VersionConflict
   */
  createAll?(records: readonly NewRecord[]): Promise<readonly Version[]>;

  /** Removes a record. Does nothing if there is none. */
  remove(collection: string, key: string): Promise<void>;

  /**
   * Lists records in key order. Records written meanwhile may or may not be among them; none is listed twice.
   * Only listed records cost anything: those before `after`, outside `prefix` or beyond `limit` are not read.
   */
  list(collection: string, options?: ListOptions): Promise<readonly StoredRecord[]>;

  /** Lists only the keys of those records, without reading them. */
  listKeys(collection: string, options?: ListOptions): Promise<readonly string[]>;

  /**
   * Calls back with the keys of records of a collection that other processes write or remove, soon after they do. Some
   * may be missed, and the method is optional: it only saves polling.
   * @returns a function that ends it.
   */
  watch?(collection: string, changed: (key: string) => void): () => void;

  /**
   * An empty private directory on the local disk to prepare a folder in, which `publishFolder` takes over.
   * The same key gives the same directory, with its files, until it is published or discarded. So a
   * checkpoint written there survives a restart if the medium does. Of several machines, the one that staged a folder
   * last may save and publish it.
   */
  stageFolder(key: string): Promise<string>;

  /**
   * Saves the staged files, so that `stageFolder` finds them on every machine. Only for storages whose directories other
   * machines can't see; there, staged files that are not saved are lost with the machine.
   * @throws StagingLost, or an error with it as the cause, if another process has staged the folder since.
   */
  saveStaged?(key: string): Promise<void>;

  /**
   * Makes the staged directory the folder of this key, whole or not at all; replaces an earlier one.
   * Rejects if nothing is staged, and leaves what is published as it was.
   * @throws StagingLost, or an error with it as the cause, if another process has staged the folder since.
   */
  publishFolder(key: string): Promise<void>;

  /** Deletes what is staged under this key. Does nothing if nothing is staged. */
  discardStaged(key: string): Promise<void>;

  /**
   * A local directory with the published folder's files, for reading only; undefined if none is published.
   * It stays readable until `removeFolder` or a later `publishFolder` of the same key.
   */
  openFolder(key: string): Promise<string | undefined>;

  /** Describes a folder without its files; undefined if there is none. Only for storages that fetch the files. */
  describeFolder?(key: string): Promise<FolderDescription | undefined>;

  /**
   * The files of a folder with their SHA-256, read from the medium; undefined if there is none. `staged` means the files
   * that were saved last. Only for storages whose `openFolder` gives a copy.
   */
  readContent?(key: string, which: 'published' | 'staged'): Promise<readonly FileContent[] | undefined>;

  /** Deletes a published folder and what is staged under its key. Does nothing if there is neither. */
  removeFolder(key: string): Promise<void>;

  /** Releases what the storage holds (timers, temporary files). Idempotent. */
  close(): Promise<void>;
}

const wrappers = new WeakMap<Storage, Storage>();

/** The same storage, which rejects with a StorageError instead of errors that callers can't know by their class. */
export function withStorageErrors(storage: Storage): Storage {
  const known = wrappers.get(storage);
  if (known !== undefined) return known;
  const wrapper = new Proxy(storage, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name === 'watch') return value.bind(target);
      return (...args: unknown[]) => asStorageError(async () => Reflect.apply(value, target, args));
    },
  });
  wrappers.set(storage, wrapper);
  wrappers.set(wrapper, wrapper);
  return wrapper;
}

/** Runs `work`. An error that callers can't know by its class becomes a StorageError. */
export async function asStorageError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (isVersionConflict(thrown) || isOrchardError(thrown)) throw thrown;
    throw new StorageError(messageOf(thrown), { cause: thrown });
  }
}

const MAX_KEY_LENGTH = 200;
export const DEFAULT_LIMIT = 100;

export type KeyRange = Omit<ListOptions, 'limit'>;

/** @throws RangeError for a key outside 1 to 200 characters: a defect of the caller. */
export function checkKey(key: string): void {
  if (key.length < 1 || key.length > MAX_KEY_LENGTH) {
    throw new RangeError(`a storage key has 1 to ${MAX_KEY_LENGTH} characters; this one has ${key.length}: ${key}`);
  }
}

/** @throws RangeError for a collection not named in a–z and '-': a defect of the caller. */
export function checkCollection(collection: string): void {
  if (!/^[a-z-]+$/.test(collection)) {
    throw new RangeError(`${JSON.stringify(collection)} is not a valid collection name; use only a–z and '-'`);
  }
}

/** @throws RangeError for a limit that isn't a count: a defect of the caller. */
export function checkLimit(limit: number): void {
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 0)) {
    throw new RangeError(`the limit of a listing must be a whole number of at least 0, not ${limit}`);
  }
}

export function isListed(key: string, { prefix = '', after, reverse = false }: KeyRange): boolean {
  return key.startsWith(prefix) && (after === undefined || (reverse ? key < after : key > after));
}
