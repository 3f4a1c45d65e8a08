import { LRUCache } from 'lru-cache';
import type { Storage } from '../storage/index.js';

/** Jobs of a storage whose writes are remembered. */
const MAX_JOBS = 10_000;

const writes = new WeakMap<Storage, LRUCache<string, object>>();

/** A token of the last write of a job's record by this process: another one after each write. */
export function lastWrite(storage: Storage, id: string): object | undefined {
  return writes.get(storage)?.get(id);
}

export function noteWrite(storage: Storage, id: string): void {
  const jobs = writes.get(storage) ?? new LRUCache<string, object>({ max: MAX_JOBS });
  writes.set(storage, jobs.set(id, {}));
}
