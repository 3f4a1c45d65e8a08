import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isOrchardError, StorageError } from '../errors.js';
import {
  AccountRecords,
  idIn,
  JOB_LEASES,
  type JobQueue,
  type JobRepository,
  OF_A_JOB,
  OF_AN_ACCOUNT,
  stored,
  UPLOADS,
  UploadRecords,
} from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import { AccountLease, LEASE_MS } from './account-lease.js';
import type { Clock } from './clock.js';

/** What erasing an account has removed. Erasing it again removes nothing, and says so. */
export interface ErasedAccount {
  readonly app_id: string;
  /** Of the jobs, and so of the models, deleted ones included; the oldest first. */
  readonly job_ids: readonly string[];
  /** How many of them still had files: model folders, reports, checkpoints, downloads under way. */
  readonly folders: number;
  /** What those files took. */
  readonly bytes: number;
  /** Records removed, those of the jobs included: queue entries, leases, lists, uses, quotas. */
  readonly records: number;
  /** Datasets that it had sent to a service and that the storage kept for their jobs. */
  readonly uploads: number;
}

export interface ErasureContext {
  readonly storage: Storage;
  readonly queue: JobQueue;
  readonly jobs: JobRepository;
  readonly clock: Clock;
  readonly app_id: string;
  /** Cancels a job that has not ended, waits until nothing of it runs, and removes its files. */
  readonly deleteJob: (id: string) => Promise<void>;
}

/** Each pass ends only jobs that were created during the one before. */
const MAX_PASSES = 100;
const DELETED_TOGETHER = 8;
const LEASE_PAUSE_MS = 100;

/**
 * Removes everything that a storage has of one account. The files of a job go first, then its record, then what names
 * it, so that after a crash at any point a repetition finds what is left. Nothing is removed that a job needs which is
 * being created meanwhile: such a job is erased too, or is whole.
 */
export class AccountErasure {
  readonly #context: ErasureContext;
  readonly #records: AccountRecords;
  readonly #jobIds = new Set<string>();
  #folders = 0;
  #bytes = 0;
  #removed = 0;
  #uploads = 0;

  constructor(context: ErasureContext) {
    this.#context = context;
    this.#records = new AccountRecords(context.storage, context.app_id);
  }

  /** @throws StorageError; whatever was removed by then stays so. */
  async run(): Promise<ErasedAccount> {
    for (let pass = 1; !(await this.#pass()); pass += 1) {
      if (pass < MAX_PASSES) continue;
      throw new StorageError(
        `account ${this.#context.app_id} gets new jobs as fast as they are erased; stop whoever creates them, then erase it again`,
      );
    }
    return {
      app_id: this.#context.app_id,
      job_ids: [...this.#jobIds].sort(),
      folders: this.#folders,
      bytes: this.#bytes,
      records: this.#removed,
      uploads: this.#uploads,
    };
  }

  /** @returns whether nothing is left. */
  async #pass(): Promise<boolean> {
    // The newest first, so that none that waits begins when the running one is cancelled.
    const ids = (await this.#records.jobIds()).reverse();
    for (let next = 0; next < ids.length; next += DELETED_TOGETHER) {
      await Promise.all(ids.slice(next, next + DELETED_TOGETHER).map((id) => this.#eraseJob(id)));
    }
    for (const collection of OF_A_JOB) {
      for (const key of await this.#records.keys(collection)) {
        if (!(await this.#removeOrphan(collection, key))) return false;
      }
    }
    if ((await this.#records.jobIds()).length > 0) return false;
    await this.#removeUploads(); // not before, as jobs read them
    for (const collection of OF_AN_ACCOUNT) {
      for (const key of await this.#records.keys(collection)) await this.#remove(collection, key);
    }
    return this.#removeLease();
  }

  async #eraseJob(id: string): Promise<void> {
    const { storage, queue, app_id, deleteJob } = this.#context;
    await this.#measure(id);
    try {
      await deleteJob(id);
    } catch (thrown) {
      if (!isOrchardError(thrown) || (await this.#isJob(id))) throw thrown;
      // What is no job can't be cancelled, only removed.
      await queue.cancel({ app_id, id }).catch(() => undefined);
      await stored(() => storage.removeFolder(id));
    }
    await this.#records.removeJob(id);
    this.#jobIds.add(id);
    this.#removed += 1;
  }

  /** Whether the record of a job can be read. */
  async #isJob(id: string): Promise<boolean> {
    return this.#context.jobs.find(id).then(
      (job) => job !== undefined,
      () => false,
    );
  }

  /** Removes what names a job, unless there is such a job: created just now, it is for the next pass. */
  async #removeOrphan(collection: string, key: string): Promise<boolean> {
    const id = idIn(key);
    if (await this.#records.hasJob(id)) return false;
    await this.#remove(collection, key);
    return !(await this.#records.hasJob(id));
  }

  async #removeUploads(): Promise<void> {
    const { storage, app_id } = this.#context;
    for (const key of await this.#records.keys(UPLOADS)) {
      await new UploadRecords(storage).remove(app_id, idIn(key));
      this.#uploads += 1;
    }
  }

  async #remove(collection: string, key: string): Promise<void> {
    await this.#records.remove(collection, key);
    this.#removed += 1;
  }

  /** Removes the lease while nobody can run a job under it. @returns false where somebody does. */
  async #removeLease(): Promise<boolean> {
    const keys = await this.#records.keys(JOB_LEASES);
    if (keys.length === 0) return true;
    const { storage, clock, app_id } = this.#context;
    const lease = new AccountLease(storage, app_id, { clock, holder: `erasure ${randomUUID()}` });
    // Of a process that died, it runs out.
    for (let waited = 0; !(await acquired(lease)); waited += LEASE_PAUSE_MS) {
      if ((await this.#records.jobIds()).length > 0) return false;
      if (waited > 2 * LEASE_MS) {
        throw new StorageError(
          `somebody holds on to ${JOB_LEASES}/${keys[0]}; erase the account again later`,
        );
      }
      await delay(LEASE_PAUSE_MS);
    }
    for (const key of keys) await this.#remove(JOB_LEASES, key);
    return true;
  }

  /** Before the files go: of a running job, what there is by now. */
  async #measure(id: string): Promise<void> {
    const bytes = await this.#bytesOf(id);
    if (bytes === undefined) return;
    this.#folders += 1;
    this.#bytes += bytes;
  }

  /** @returns undefined where there are no files. */
  async #bytesOf(id: string): Promise<number | undefined> {
    const { storage, jobs } = this.#context;
    if (storage.describeFolder !== undefined) {
      return (await stored(async () => storage.describeFolder?.(id)))?.bytes;
    }
    const job = await jobs.find(id).catch(() => undefined); // it may be no job any more
    const published = await stored(() => storage.openFolder(id));
    // Another process may be about to remove what is staged.
    const staged =
      job?.status === 'RUNNING' ? await storage.stageFolder(id).catch(() => undefined) : undefined;
    const directories = [published, staged].filter((each) => each !== undefined);
    if (directories.length === 0) return undefined;
    const bytes = await Promise.all(directories.map(bytesIn));
    return bytes.reduce((sum, each) => sum + each, 0);
  }
}

/** Also where there is no telling whose it is. */
async function acquired(lease: AccountLease): Promise<boolean> {
  try {
    return await lease.acquire();
  } catch (thrown) {
    if (isOrchardError(thrown) && thrown.code === 'storage') return true;
    throw thrown;
  }
}

/** Of all files in a directory, also while files in it come and go. */
export async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(names.map((name) => sizeOf(join(directory, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : 0;
}
