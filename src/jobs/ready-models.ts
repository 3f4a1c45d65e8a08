import { LRUCache } from 'lru-cache';
import type { Storage } from '../storage/index.js';
import { JobRepository } from './job-repository.js';
import { writesTo } from './job-writes.js';
import { readyModel } from './ready-model.js';

/** How long another process's deletion of a model may go unnoticed. */
const FRESH_MS = 1000;
const MAX_KEPT = 1000;

interface Found {
  readonly directory: string;
  /** How often this process had written a job when the model was looked up. */
  readonly writes: number;
}

/**
 * The directories of an account's READY models, cached for a second, or until this process writes any job.
 */
export class ReadyModels {
  readonly #storage: Storage;
  readonly #jobs: JobRepository;
  readonly #found: LRUCache<string, Found>;

  /** @param clock tells the time in milliseconds. */
  constructor(storage: Storage, appId: string, clock: { now(): number } = performance) {
    this.#storage = storage;
    this.#jobs = new JobRepository(storage, appId);
    this.#found = new LRUCache({ max: MAX_KEPT, ttl: FRESH_MS, ttlResolution: 0, perf: clock });
  }

  /** @throws what {@link readyModel} throws. */
  async directoryOf(id: string): Promise<string> {
    const writes = writesTo(this.#storage);
    const known = this.#found.get(id);
    if (known?.writes === writes) return known.directory;
    this.#found.delete(id);
    const { directory } = await readyModel(id, this.#jobs, this.#storage);
    this.#found.set(id, { directory, writes });
    return directory;
  }

  /** Drops a model from the cache. */
  forget(id: string): void {
    this.#found.delete(id);
  }
}
