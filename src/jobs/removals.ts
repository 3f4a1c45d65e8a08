import { ownedName, ownerOf } from '../files/index.js';
import { isVersionConflict, type Storage } from '../storage/index.js';
import { JOB_REMOVALS } from './collections.js';
import { stored } from './stored.js';

const READ_TOGETHER = 100;

/**
 * The deletions under way of an account, as `job-removals/<app_id>/<id>` with the process that is at it. Written
 * before a job becomes DELETED and removed once its folder is gone, so that another process can finish what one left
 * that was killed in between.
 */
export class Removals {
  readonly #storage: Storage;
  readonly #prefix: string;

  constructor(storage: Storage, appId: string) {
    this.#storage = storage;
    this.#prefix = `${encodeURIComponent(appId)}/`;
  }

  async begin(id: string): Promise<void> {
    const key = this.#prefix + id;
    try {
      const found = await stored(() => this.#storage.read(JOB_REMOVALS, key));
      const write = () =>
        this.#storage.write(JOB_REMOVALS, key, ownedName(), found?.version, { isUrgent: true });
      await stored(write);
    } catch (thrown) {
      if (!isVersionConflict(thrown)) throw thrown; // else another call is at it
    }
  }

  async done(id: string): Promise<void> {
    await stored(() => this.#storage.remove(JOB_REMOVALS, this.#prefix + id));
  }

  /**
   * Those whose process is not seen to live, the oldest jobs first.
   * @returns the ids, and whether the process has certainly ended.
   */
  async left(): Promise<{ readonly id: string; readonly isOver: boolean }[]> {
    const listing = { prefix: this.#prefix, limit: READ_TOGETHER };
    const found = await stored(() => this.#storage.list(JOB_REMOVALS, listing));
    return found.flatMap(({ key, value }) => {
      const owner = typeof value === 'string' ? ownerOf(value) : 'unknown';
      return owner === 'living' ? [] : { id: key.slice(this.#prefix.length), isOver: owner === 'ended' };
    });
  }
}
