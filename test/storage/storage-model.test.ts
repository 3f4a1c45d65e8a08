import { describe, it } from 'vitest';
import { fileStorage, memoryStorage, type Storage } from '../../src/storage/index.js';
import { expectSameAsMaps, folderSteps, recordSteps } from './storage-model.js';
import { aDirectory } from './temporary-place.js';

const RUNS = 40;

describe.each([
  ['memoryStorage', async () => reopensAsItself(memoryStorage())],
  [
    'fileStorage, opened anew for every step',
    async () => {
      const directory = await aDirectory();
      return () => fileStorage(directory);
    },
  ],
])('%s', (_, create) => {
  it.each([
    ['records', recordSteps],
    ['folders', folderSteps],
  ])('does the same as a plain map with %s', async (_, steps) => {
    await expectSameAsMaps(create, steps, RUNS);
  });
});

function reopensAsItself(storage: Storage): () => Storage {
  return () => storage;
}
