import { describe, it } from 'vitest';
import { memoryStorage } from '../../src/storage/index.js';
import { storageContract } from '../../src/testing.js';
import { temporaryFileStorage } from './temporary-place.js';

describe.each([
  ['memoryStorage', memoryStorage],
  ['fileStorage', temporaryFileStorage],
])('%s', (_, create) => {
  for (const { name, run } of storageContract(create)) it(name, run);
});
