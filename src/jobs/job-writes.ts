import { LRUCache } from 'lru-cache';
import type { Storage } from '../storage/index.js';

/** Jobs of a storage whose writes are remembered. */
const MAX_JOBS = 10_000;

/** Is told the id of each job whose record this process writes. */
export interface WriteListener {
  written(id: string): void;
}

interface Writes {
  readonly tokens: LRUCache<string, object>;
  readonly listeners: Set<WeakRef<WriteListener>>;
}

const writes = new WeakMap<Storage, Writes>();

/** A token of the last write of a job's record by this process: another one after each write. */
export function lastWrite(storage: Storage, id: string): object | undefined {
  return writes.get(storage)?.tokens.get(id);
}

export function noteWrite(storage: Storage, id: string): void {
  const { tokens, listeners } = writesOf(storage);
  tokens.set(id, {});
  for (const reference of listeners) {
    const listener = reference.deref();
    if (listener === undefined) listeners.delete(reference);
    else listener.written(id);
  }
}

/** Tells a listener of writes for as long as somebody else refers to it. @returns what ends that earlier */
export function onWrite(storage: Storage, listener: WriteListener): () => void {
  const { listeners } = writesOf(storage);
  const reference = new WeakRef(listener);
  listeners.add(reference);
  return () => listeners.delete(reference);
}

function writesOf(storage: Storage): Writes {
  const known = writes.get(storage);
  if (known !== undefined) return known;
  const made: Writes = { tokens: new LRUCache({ max: MAX_JOBS }), listeners: new Set() };
  writes.set(storage, made);
  return made;
}
