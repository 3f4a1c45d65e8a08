import fc from 'fast-check';
import { expect } from 'vitest';
import type { ListOptions, Storage } from '../../src/storage/index.js';
import { anyKey } from './keys.js';

const keys = fc.uniqueArray(anyKey, { minLength: 1, maxLength: 25 });

/** Listings about keys that are there and keys that are not. */
const listings = (keys: readonly string[]) => {
  const key = fc.oneof(fc.constantFrom(...keys), anyKey);
  const beginning = fc.tuple(key, fc.nat(12)).map(([key, length]) => key.slice(0, length));
  const options = {
    prefix: fc.oneof(beginning, key),
    after: fc.oneof(key, beginning),
    limit: fc.oneof(fc.nat(6), fc.constant(Number.POSITIVE_INFINITY)),
    reverse: fc.boolean(),
  };
  return fc.array(fc.record(options, { requiredKeys: [] }), { minLength: 1, maxLength: 8 });
};

/** Lists of new storages with any keys are those of a sorted array. */
export async function expectListsAsSorted(create: () => Storage | Promise<Storage>, numRuns: number): Promise<void> {
  const cases = keys.chain((keys) =>
    fc.record({ keys: fc.constant(keys), removed: fc.subarray(keys), listings: listings(keys) }),
  );
  await fc.assert(
    fc.asyncProperty(cases, async ({ keys, removed, listings }) => {
      const storage = await create();
      await Promise.all(keys.map((key) => storage.write('jobs', key, key, undefined)));
      await Promise.all(removed.map((key) => storage.remove('jobs', key)));
      const left = keys.filter((key) => !removed.includes(key)).sort();
      for (const options of listings) {
        const listed = (await storage.list('jobs', options)).map(({ key }) => key);
        expect(listed).toEqual(expected(left, options));
        expect(await storage.listKeys('jobs', options)).toEqual(listed);
      }
      await storage.close();
    }),
    { numRuns },
  );
}

function expected(sorted: readonly string[], { prefix = '', after, limit = 100, reverse }: ListOptions): string[] {
  const ordered = reverse ? sorted.toReversed() : sorted;
  return ordered
    .filter((key) => key.startsWith(prefix))
    .filter((key) => after === undefined || (reverse ? key < after : key > after))
    .slice(0, limit);
}
