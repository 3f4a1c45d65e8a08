import { isOrchardError, StorageError } from '../errors.js';
import type { FileContent } from '../files/index.js';

/** Anything that JSON can hold. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** Identifies one write of one record; opaque. */
export type Version = string;

/** A record as it was read, with the version to pass back on a conditional write. */
export interface Versioned {
  readonly value: JsonValue;
  /** The version of the write that stored it. */
  readonly version: Version;
  /**
   * Present where the medium holds something else than a record under this key, such as a file that was cut short:
   * what is wrong with it. `value` is then what is left, as text. It can be replaced and removed like any record.
   */
  readonly damage?: string;
}

/** A record of a listing, with its key. */
export interface StoredRecord extends Versioned {
  readonly key: string;
}

/** What is known of a folder without its files. */
export interface FolderDescription {
  /** What its files take: those that are published, and those that were saved of what is staged. */
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

/** A record that isn't there yet. */
export interface NewRecord {
  readonly collection: string;
  readonly key: string;
  readonly value: JsonValue;
}

/** How a record is written. */
export interface WriteOptions {
  /**
   * Whether the write may use room that the storage keeps back for when the medium is full: one that records what
   * has become of something, rather than begins something new. Default false.
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

/** Thrown where a folder that was staged here has been staged by another process since, whose work counts now. */
export class StagingLost extends Error {
  override readonly name = 'StagingLost';
  readonly [STAGING_LOST] = true;
  constructor(readonly key: string) {
    super(
      `folder ${key} was staged elsewhere since it was staged here; what is prepared here counts no more`,
    );
  }
}

/** True for such an error and for one that it is the cause of, even of another copy of this package. */
export function isStagingLost(thrown: unknown): boolean {
  if (typeof thrown !== 'object' || thrown === null) return false;
  return STAGING_LOST in thrown || ('cause' in thrown && isStagingLost(thrown.cause));
}

/** Runs `work`. If the medium fails, the error says what was being done, and to which record or folder. */
export async function whileDoing<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (saysItAll(thrown)) throw thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StorageError(`${what}: ${reason}`, { cause: thrown });
  }
}

/** Whether callers know an error of a storage by its class, so that it passes through unchanged. */
export function saysItAll(thrown: unknown): boolean {
  return isVersionConflict(thrown) || isStagingLost(thrown) || isOrchardError(thrown);
}

/**
 * Where records (small JSON values) and folders (the files of one model) live. Implementations pass
 * `storageContract` from `orchard-nlp/testing`.
 *
 * A key is 1 to 200 characters (UTF-16 code units) of any kind, including "/"; collections are named in a–z
 * and '-'. A write is atomic: readers see the whole old or the whole new state, even after a crash at any
 * point. If the medium fails, every method rejects with an `Error` whose message names the collection and
 * key.
 */
export interface Storage {
  /** The version of this interface. */
  readonly specificationVersion: 1;

  /** Reads a record. @returns it with its version; undefined if there is none. */
  read(collection: string, key: string): Promise<Versioned | undefined>;

  /**
   * Reads several records at once: those that there are, in any order. Only storages have this that each call takes a
   * way to.
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
   * Creates several records in one go: all of them, or none if one is there already. Only storages have this that each call
   * takes a way to.
   * @returns their versions, in the same order.
   * @throws VersionConflict
   */
  createAll?(records: readonly NewRecord[]): Promise<readonly Version[]>;

  /** Removes a record; no error if there is none. */
  remove(collection: string, key: string): Promise<void>;

  /**
   * Lists records in key order. Records written meanwhile may or may not be among them; none is listed twice.
   * Only listed records cost anything: those before `after`, outside `prefix` or beyond `limit` are not read.
   */
  list(collection: string, options?: ListOptions): Promise<readonly StoredRecord[]>;

  /** The keys of those records alone, without reading them. */
  listKeys(collection: string, options?: ListOptions): Promise<readonly string[]>;

  /**
   * Calls back with the keys of records of a collection that other processes write or remove, soon after they do. A
   * storage may pass over some, and need not have this at all: it only spares others from looking often.
   * @returns what ends it.
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
   * Puts what is staged now where `stageFolder` finds it on every machine. Only storages have this whose directories
   * others can't see; what was staged and not saved is lost with the machine then.
   * @throws StagingLost, or an error that it is the cause of, if another process has staged the folder since.
   */
  saveStaged?(key: string): Promise<void>;

  /**
   * Makes the staged directory the folder of this key, whole or not at all; replaces an earlier one.
   * Rejects if nothing is staged, and leaves what is published as it was.
   * @throws StagingLost, or an error that it is the cause of, if another process has staged the folder since.
   */
  publishFolder(key: string): Promise<void>;

  /** Deletes what is staged under this key; no error if nothing is. */
  discardStaged(key: string): Promise<void>;

  /**
   * A local directory with the published folder's files, for reading only; undefined if none is published.
   * It stays readable until `removeFolder` or a later `publishFolder` of the same key.
   */
  openFolder(key: string): Promise<string | undefined>;

  /** What is known of a folder without its files; undefined if there is none. Only storages have this that fetch them. */
  describeFolder?(key: string): Promise<FolderDescription | undefined>;

  /**
   * What a folder holds, read anew from the medium: its files with their SHA-256; undefined if there is none. `staged` is
   * what was saved of it last. Only storages have this whose `openFolder` gives a copy.
   */
  readContent?(key: string, which: 'published' | 'staged'): Promise<readonly FileContent[] | undefined>;

  /** Deletes a published folder and what is staged under its key; no error if there is neither. */
  removeFolder(key: string): Promise<void>;

  /** Releases what the storage holds (timers, temporary files). Idempotent. */
  close(): Promise<void>;
}

/** The wrapper of each storage, so that one storage always has the same one. */
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
    throw new StorageError(thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
  }
}
