import type { Storage } from '../storage/index.js';

const counts = new WeakMap<Storage, number>();

/** How many job records this process has written to a storage. */
export function writesTo(storage: Storage): number {
  return counts.get(storage) ?? 0;
}

export function countWrite(storage: Storage): void {
  counts.set(storage, writesTo(storage) + 1);
}
