import { LRUCache } from 'lru-cache';
import { type Storage, withStorageErrors } from '../storage/index.js';
import { JOBS } from './account-records.js';

const MAX_JOBS = 10_000;

/** Gets the id of each job whose record is written by this process or, if the storage reports that, by another. */
interface WriteListener {
  written(id: string, isElsewhere: boolean): void;
}

interface Writes {
  readonly tokens: LRUCache<string, object>;
  readonly listeners: Set<WeakRef<WriteListener>>;
  isWatched: boolean;
}

const writes = new WeakMap<Storage, Writes>();

/** A token of the last known write of a job's record, which changes with each write. */
export function lastWrite(storage: Storage, id: string): object | undefined {
  return writes.get(withStorageErrors(storage))?.tokens.get(id);
}

export function noteWrite(storage: Storage, id: string, isElsewhere = false): void {
  const { tokens, listeners } = writesOf(storage);
  tokens.set(id, {});
  for (const reference of listeners) {
    const listener = reference.deref();
    if (listener === undefined) listeners.delete(reference);
    else listener.written(id, isElsewhere);
  }
}

/** Calls a listener for each write as long as other code refers to it. @returns a function that ends this earlier */
export function onWrite(storage: Storage, listener: WriteListener): () => void {
  const known = writesOf(storage);
  if (!known.isWatched) {
    known.isWatched = true;
    // The storage ends this when it is closed.
    storage.watch?.(JOBS, (key) => noteWrite(storage, key.slice(key.lastIndexOf('/') + 1), true));
  }
  const { listeners } = known;
  const reference = new WeakRef(listener);
  listeners.add(reference);
  return () => listeners.delete(reference);
}

function writesOf(storage: Storage): Writes {
  const key = withStorageErrors(storage);
  const known = writes.get(key);
  if (known !== undefined) return known;
  const made: Writes = { tokens: new LRUCache({ max: MAX_JOBS }), listeners: new Set(), isWatched: false };
  writes.set(key, made);
  return made;
}
