import { clearInterval, setInterval } from 'node:timers';
import { LRUCache } from 'lru-cache';
import { isOrchardError, ModelNotReadyError, NotFoundError } from '../contract/index.js';
import { type Storage, withStorageErrors } from '../storage/index.js';
import type { JobRecord } from './job-record.js';
import { JobRepository } from './job-repository.js';
import { lastWrite, onWrite } from './job-writes.js';

/** How long another process's deletion of a model may go unnoticed. */
const FRESH_MS = 1000;
/** After this, a query looks its model up again in the background, so that no query waits for the storage. */
const RENEW_MS = 500;
const MAX_KEPT = 1000;

/** How often models without queries are looked up, so that deleted ones leave the memory. */
const CHECK_MS = 5000;

interface Found {
  readonly directory: string;
  /** The last write of the job by this process when the model was looked up. */
  readonly write: object | undefined;
  readonly foundAt: number;
  isRenewed: boolean;
}

interface ReadyModelsOptions {
  /** Called with the directory of a model that can't answer any more. */
  readonly gone?: (directory: string) => void;
  readonly clock?: { now(): number };
  readonly checkMs?: number;
}

/**
 * The directories of an account's READY models, each kept for a second after it was looked up, or until this process
 * learns of a write of its job.
 */
export class ReadyModels {
  readonly #storage: Storage;
  readonly #jobs: JobRepository;
  readonly #gone: (directory: string) => void;
  readonly #clock: { now(): number };
  readonly #checkMs: number;
  // By size, as the option `max` would reserve memory for each account.
  readonly #found = new LRUCache<string, Found>({ maxSize: MAX_KEPT, sizeCalculation: () => 1 });
  readonly #stopListening: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    storage: Storage,
    appId: string,
    { gone = () => {}, clock = performance, checkMs = CHECK_MS }: ReadyModelsOptions = {},
  ) {
    this.#storage = withStorageErrors(storage);
    this.#jobs = new JobRepository(storage, appId);
    this.#gone = gone;
    this.#clock = clock;
    this.#checkMs = checkMs;
    this.#stopListening = onWrite(storage, this);
  }

  /** The directory of a model, without a promise if it is kept. @throws what {@link readyModel} throws. */
  directoryOf(id: string): string | Promise<string> {
    const known = this.#found.get(id);
    if (known === undefined || known.write !== lastWrite(this.#storage, id)) return this.lookUp(id);
    const age = this.#clock.now() - known.foundAt;
    if (age >= FRESH_MS) return this.lookUp(id);
    if (age >= RENEW_MS && !known.isRenewed) {
      known.isRenewed = true;
      this.#renew(id);
    }
    return known.directory;
  }

  async lookUp(id: string): Promise<string> {
    const [write, foundAt] = [lastWrite(this.#storage, id), this.#clock.now()];
    try {
      const { directory } = await readyModel(id, this.#jobs, this.#storage);
      if (this.#isClosed) return directory;
      this.#found.set(id, { directory, write, foundAt, isRenewed: false });
      this.#timer ??= this.#checks();
      return directory;
    } catch (thrown) {
      const known = this.#found.get(id);
      this.#found.delete(id);
      if (known !== undefined && isGone(thrown)) this.#gone(known.directory);
      throw thrown;
    }
  }

  written(id: string): void {
    if (this.#found.has(id)) this.#renew(id);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    clearInterval(this.#timer);
    this.#found.clear();
  }

  /** A failure reaches the next query, which finds nothing kept. */
  #renew(id: string): void {
    this.lookUp(id).catch(() => undefined);
  }

  /** Looks models up from time to time while there are any, and other code refers to this. */
  #checks(): NodeJS.Timeout {
    const self = new WeakRef(this);
    const timer = setInterval(() => {
      const models = self.deref();
      if (models === undefined) clearInterval(timer);
      else models.#check();
    }, this.#checkMs);
    return timer.unref();
  }

  #check(): void {
    if (this.#found.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const before = this.#clock.now() - this.#checkMs;
    for (const [id, { foundAt }] of this.#found.entries()) if (foundAt <= before) this.#renew(id);
  }
}

/** Whether an error means that a model won't answer again, unlike a failure of the storage. */
export function isGone(thrown: unknown): boolean {
  return isOrchardError(thrown) && (thrown.code === 'not_found' || thrown.code === 'model_not_ready');
}

/**
 * A READY model and its files.
 * @throws NotFoundError for an unknown or deleted model, ModelNotReadyError for any other that can't answer,
 * StorageError.
 */
export async function readyModel(id: string, jobs: JobRepository, storage: Storage) {
  const job = await jobs.get(id, 'model');
  requireReady(job);
  const directory = await storage.openFolder(id);
  if (directory !== undefined) return { job, directory };
  requireReady(await jobs.get(id, 'model')); // it may have been deleted since
  throw new ModelNotReadyError(id, 'READY', 'its files are missing from the storage; train it again');
}

export function requireReady({ id, status, error }: JobRecord): void {
  if (status === 'READY') return;
  if (status === 'DELETED') throw new NotFoundError('model', id, 'it was deleted');
  throw error === undefined
    ? new ModelNotReadyError(id, status)
    : new ModelNotReadyError(id, status, `its training failed: ${error.message}`);
}
