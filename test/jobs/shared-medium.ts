import { randomUUID } from 'node:crypto';
import { cp, mkdir } from 'node:fs/promises';
import { StagingLost, type Storage } from '../../src/storage/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { bound } from './storages.js';

/**
 * Views of one storage as several machines have them: each stages in directories of its own, and publishes only what
 * nobody has staged since, which is what a storage that machines share promises.
 */
export class SharedMedium {
  readonly #storage: Storage;
  /** Whoever staged a key last. */
  readonly #stagedBy = new Map<string, string>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** What one machine sees. */
  async view(): Promise<Storage> {
    const storage = this.#storage;
    const stagedBy = this.#stagedBy;
    const [place, self] = [await aDirectory(), randomUUID()];
    return {
      ...bound(storage),
      async stageFolder(key) {
        await mkdir(`${place}/${key}`, { recursive: true });
        stagedBy.set(key, self);
        return `${place}/${key}`;
      },
      async publishFolder(key) {
        if (stagedBy.get(key) !== self) throw new StagingLost(key);
        await cp(`${place}/${key}`, await storage.stageFolder(key), { recursive: true });
        await storage.publishFolder(key);
      },
      discardStaged: async () => undefined,
      close: async () => undefined,
    };
  }
}
