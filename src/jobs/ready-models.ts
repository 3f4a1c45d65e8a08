import { LRUCache } from 'lru-cache';
import type { Storage } from '../storage/index.js';
import { JobRepository } from './job-repository.js';
import { lastWrite } from './job-writes.js';
import { readyModel } from './ready-model.js';

/** How long another process's deletion of a model may go unnoticed. */
const FRESH_MS = 1000;
/** After this, a model that is asked is looked up again while it answers, so that no query waits for the storage. */
const RENEW_MS = 500;
const MAX_KEPT = 1000;

interface Found {
  readonly directory: string;
  /** The last write of the job by this process when the model was looked up. */
  readonly write: object | undefined;
  readonly foundAt: number;
  /** Whether it is being looked up again. */
  isRenewed: boolean;
}

/**
 * The directories of an account's READY models, each kept for a second after it was looked up, or until this process
 * writes its job.
 */
export class ReadyModels {
  readonly #storage: Storage;
  readonly #jobs: JobRepository;
  readonly #clock: { now(): number };
  readonly #found = new LRUCache<string, Found>({ max: MAX_KEPT });

  /** @param clock tells the time in milliseconds. */
  constructor(storage: Storage, appId: string, clock: { now(): number } = performance) {
    this.#storage = storage;
    this.#jobs = new JobRepository(storage, appId);
    this.#clock = clock;
  }

  /** @returns at once for a model that is kept. @throws what {@link readyModel} throws. */
  directoryOf(id: string): string | Promise<string> {
    const known = this.#found.get(id);
    if (known === undefined || known.write !== lastWrite(this.#storage, id)) return this.#lookUp(id);
    const age = this.#clock.now() - known.foundAt;
    if (age >= FRESH_MS) return this.#lookUp(id);
    if (age >= RENEW_MS && !known.isRenewed) {
      known.isRenewed = true;
      // What is wrong will be told to the next query, which finds nothing kept.
      this.#lookUp(id).catch(() => undefined);
    }
    return known.directory;
  }

  /** Drops a model that was kept. */
  forget(id: string): void {
    this.#found.delete(id);
  }

  async #lookUp(id: string): Promise<string> {
    const [write, foundAt] = [lastWrite(this.#storage, id), this.#clock.now()];
    try {
      const { directory } = await readyModel(id, this.#jobs, this.#storage);
      this.#found.set(id, { directory, write, foundAt, isRenewed: false });
      return directory;
    } catch (thrown) {
      this.#found.delete(id);
      throw thrown;
    }
  }
}
