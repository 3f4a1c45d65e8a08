import { describe, expect, it } from 'vitest';
import { NotFoundError } from '../../src/contract/index.js';
import { memoryStorage, type Storage, VersionConflict, withStorageErrors } from '../../src/storage/index.js';
import { failureOf } from '../support/outcomes.js';

function failing(thrown: unknown): Storage {
  return withStorageErrors(Object.assign(memoryStorage(), { read: () => Promise.reject(thrown) }));
}

describe('a storage with storage errors', () => {
  it.each([new Error('the cable is out'), 'the cable is out'])('rejects with a StorageError for %s', async (thrown) => {
    const error = await failureOf('storage', () => failing(thrown).read('jobs', 'a'));
    expect(error).toMatchObject({ message: 'the cable is out', cause: thrown });
  });

  it('rejects also where the method throws at once', async () => {
    const throws = Object.assign(memoryStorage(), {
      read(): Promise<undefined> {
        throw new Error('at once');
      },
    });
    expect((await failureOf('storage', () => withStorageErrors(throws).read('jobs', 'a'))).message).toBe('at once');
  });

  it.each([new VersionConflict('jobs', 'a'), new NotFoundError('model', 'a')])(
    'passes on errors that callers know: %s',
    async (known) => {
      await expect(failing(known).read('jobs', 'a')).rejects.toBe(known);
    },
  );

  it('has the values and the other methods of the storage', async () => {
    const storage = memoryStorage();
    const wrapped = withStorageErrors(storage);
    expect(wrapped.specificationVersion).toBe(1);
    expect(wrapped.readAll === undefined).toBe(storage.readAll === undefined);
    const version = await wrapped.write('jobs', 'a', 1, undefined);
    expect(await storage.read('jobs', 'a')).toEqual({ value: 1, version });
  });

  it('is wrapped once', () => {
    const storage = memoryStorage();
    const wrapped = withStorageErrors(storage);
    expect(withStorageErrors(storage)).toBe(wrapped);
    expect(withStorageErrors(wrapped)).toBe(wrapped);
  });
});
