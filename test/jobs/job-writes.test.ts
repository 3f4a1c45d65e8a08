import { describe, expect, it } from 'vitest';
import { lastWrite, noteWrite, onWrite } from '../../src/jobs/job-writes.js';
import type { Storage } from '../../src/storage/index.js';
import { aMemoryStorage } from './builders.js';
import { bound } from './storages.js';

/** A storage that tells of the writes of other processes, and how often it was asked to. */
function aWatchedStorage() {
  const watches: { collection: string; changed: (key: string) => void }[] = [];
  const storage: Storage = {
    ...bound(aMemoryStorage()),
    watch(collection, changed) {
      watches.push({ collection, changed });
      return () => undefined;
    },
  };
  return { storage, watches };
}

function aListener() {
  const heard: [string, boolean][] = [];
  return { heard, written: (id: string, isElsewhere: boolean) => void heard.push([id, isElsewhere]) };
}

describe('the writes of jobs', () => {
  it('are told to each listener until it ends, with whether another process wrote', () => {
    const { storage, watches } = aWatchedStorage();
    const [first, second] = [aListener(), aListener()];
    const end = onWrite(storage, first);
    onWrite(storage, second);
    expect(watches.map(({ collection }) => collection)).toEqual(['jobs']);
    noteWrite(storage, 'a');
    end();
    watches[0]?.changed('an%2Faccount/b');
    expect(first.heard).toEqual([['a', false]]);
    expect(second.heard).toEqual([
      ['a', false],
      ['b', true],
    ]);
  });

  it('are not those of another storage', () => {
    const [one, other] = [aMemoryStorage(), aMemoryStorage()];
    const listener = aListener();
    onWrite(one, listener);
    noteWrite(other, 'a');
    expect(listener.heard).toEqual([]);
    expect(lastWrite(one, 'a')).toBeUndefined();
  });

  it('each have a token of their own', () => {
    const storage = aMemoryStorage();
    expect(lastWrite(storage, 'a')).toBeUndefined();
    noteWrite(storage, 'a');
    const first = lastWrite(storage, 'a');
    expect(first).toBeDefined();
    noteWrite(storage, 'b');
    expect(lastWrite(storage, 'a')).toBe(first);
    noteWrite(storage, 'a');
    expect(lastWrite(storage, 'a')).not.toBe(first);
  });
});
