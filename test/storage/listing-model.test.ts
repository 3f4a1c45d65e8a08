import { describe, it } from 'vitest';
import { memoryStorage, type Storage } from '../../src/storage/index.js';
import { expectListsAsSorted } from './listing-model.js';
import { temporaryFileStorage } from './temporary-place.js';

describe.each<[string, () => Storage | Promise<Storage>, number]>([
  ['memoryStorage', memoryStorage, 500],
  ['fileStorage', temporaryFileStorage, 50],
])('%s', (_, create, numRuns) => {
  it('lists the same as a sorted array, for any keys, some of them removed', async () => {
    await expectListsAsSorted(create, numRuns);
  }, 120_000);
});
