import { isVersionConflict, type Storage } from '../../../src/storage/index.js';

/** Adds one to the record counters/shared by a conditional write, as often as it takes. */
export async function increment(storage: Storage): Promise<void> {
  for (;;) {
    const read = await storage.read('counters', 'shared');
    try {
      await storage.write('counters', 'shared', Number(read?.value ?? 0) + 1, read?.version);
      return;
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown;
    }
  }
}
