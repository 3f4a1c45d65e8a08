import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isOrchardError, StorageError } from '../contract/index.js';
import { bytesIn } from '../system/index.js';
import type { AccountContext } from './account-context.js';
import {
  accountKey,
  idIn,
  JOB_LEASES,
  JOBS,
  keysOfAccount,
  OF_A_JOB,
  OF_AN_ACCOUNT,
  UPLOADS,
} from './account-records.js';
import { deleteModel } from './delete-model.js';
import { noteWrite } from './job-writes.js';
import { AccountLease, LEASE_MS } from './one-job-per-account.js';
import { UploadRecords } from './upload-records.js';

/** What was removed when an account was erased. Erasing it again removes nothing. */
export interface ErasedAccount {
  readonly app_id: string;
  /** Ids of the jobs, which are also those of the models, including deleted ones; the oldest first. */
  readonly job_ids: readonly string[];
  /** Number of folders with files of these jobs: models, reports, checkpoints, unfinished downloads. */
  readonly folders: number;
  /** Size of those files. */
  readonly bytes: number;
  /** Number of removed records, such as jobs, leases, lists, uses, quotas, versions and sets of labelled texts. */
  readonly records: number;
  /** Number of removed datasets that the account had uploaded to a service and that the storage kept for their jobs. */
  readonly uploads: number;
}

/** Each pass after the first erases only jobs that were created during the one before. */
const MAX_PASSES = 100;
const DELETED_TOGETHER = 8;
const LEASE_PAUSE_MS = 100;

/**
 * Removes everything that a storage has of one account. The files of a job go first, then its record, then what names
 * it, so that after a crash at any point a repetition finds what is left. A job that is created meanwhile is erased too
 * or stays whole.
 */
export class AccountErasure {
  readonly #context: AccountContext;
  readonly #jobIds = new Set<string>();
  #folders = 0;
  #bytes = 0;
  #removed = 0;
  #uploads = 0;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** @throws StorageError; whatever was removed by then stays so. */
  async run(): Promise<ErasedAccount> {
    for (let pass = 1; !(await this.#pass()); pass += 1) {
      if (pass < MAX_PASSES) continue;
      throw new StorageError(
        `account ${this.#context.app_id} gets new jobs as fast as they are erased; stop the processes that create them, then erase it again`,
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

  async #pass(): Promise<boolean> {
    // The newest first, so that no waiting job begins when the running one is cancelled.
    const ids = (await this.#keys(JOBS)).map(idIn).reverse();
    for (let next = 0; next < ids.length; next += DELETED_TOGETHER) {
      await Promise.all(ids.slice(next, next + DELETED_TOGETHER).map((id) => this.#eraseJob(id)));
    }
    for (const collection of OF_A_JOB) {
      for (const key of await this.#keys(collection)) {
        if (!(await this.#removeOrphan(collection, key))) return false;
      }
    }
    if ((await this.#keys(JOBS)).length > 0) return false;
    await this.#removeUploads(); // not before, as jobs read them
    for (const collection of OF_AN_ACCOUNT) {
      for (const key of await this.#keys(collection)) {
        await this.#remove(collection, key);
        noteWrite(this.#context.storage, `${collection}/${key}`);
      }
    }
    return this.#removeLease();
  }

  async #eraseJob(id: string): Promise<void> {
    const { storage, queue, app_id } = this.#context;
    await this.#measure(id);
    try {
      await deleteModel(this.#context, id, { evenIfNamed: true });
    } catch (thrown) {
      if (!isOrchardError(thrown) || (await this.#isJob(id))) throw thrown;
      // A record that is not a job can't be cancelled, only removed.
      await queue.cancel({ app_id, id }).catch(() => undefined);
      await storage.removeFolder(id);
    }
    await this.#remove(JOBS, `${accountKey(app_id)}/${id}`);
    noteWrite(storage, id);
    this.#jobIds.add(id);
  }

  async #isJob(id: string): Promise<boolean> {
    return (await this.#context.jobs.find(id).catch(() => undefined)) !== undefined;
  }

  /** Removes a record of a missing job. @returns false if the job exists: it was just created, for the next pass. */
  async #removeOrphan(collection: string, key: string): Promise<boolean> {
    if (await this.#hasJob(idIn(key))) return false;
    await this.#remove(collection, key);
    return !(await this.#hasJob(idIn(key)));
  }

  async #hasJob(id: string): Promise<boolean> {
    const { storage, app_id } = this.#context;
    return (await storage.listKeys(JOBS, { prefix: `${accountKey(app_id)}/${id}`, limit: 1 })).length > 0;
  }

  #keys(collection: string): Promise<string[]> {
    return keysOfAccount(this.#context.storage, collection, this.#context.app_id);
  }

  async #removeUploads(): Promise<void> {
    const { storage, app_id } = this.#context;
    for (const key of await this.#keys(UPLOADS)) {
      await new UploadRecords(storage).remove(app_id, idIn(key));
      this.#uploads += 1;
    }
  }

  async #remove(collection: string, key: string): Promise<void> {
    await this.#context.storage.remove(collection, key);
    this.#removed += 1;
  }

  /** Removes the lease while this process holds it, so that no job runs. @returns false if there are jobs again. */
  async #removeLease(): Promise<boolean> {
    const keys = await this.#keys(JOB_LEASES);
    if (keys.length === 0) return true;
    const { storage, clock, app_id } = this.#context;
    const lease = new AccountLease(storage, app_id, { clock, holder: `erasure ${randomUUID()}` });
    // The lease of a process that died runs out.
    for (let waited = 0; !(await acquired(lease)); waited += LEASE_PAUSE_MS) {
      if ((await this.#keys(JOBS)).length > 0) return false;
      if (waited > 2 * LEASE_MS) {
        throw new StorageError(`another process still holds ${JOB_LEASES}/${keys[0]}; erase the account again later`);
      }
      await delay(LEASE_PAUSE_MS);
    }
    for (const key of keys) await this.#remove(JOB_LEASES, key);
    return true;
  }

  async #measure(id: string): Promise<void> {
    const bytes = await this.#bytesOf(id);
    if (bytes === undefined) return;
    this.#folders += 1;
    this.#bytes += bytes;
  }

  async #bytesOf(id: string): Promise<number | undefined> {
    const { storage, jobs } = this.#context;
    if (storage.describeFolder !== undefined) return (await storage.describeFolder(id))?.bytes;
    const job = await jobs.find(id).catch(() => undefined); // its record may be damaged
    const published = await storage.openFolder(id);
    // Another process may be about to remove what is staged.
    const staged = job?.status === 'RUNNING' ? await storage.stageFolder(id).catch(() => undefined) : undefined;
    const directories = [published, staged].filter((each) => each !== undefined);
    if (directories.length === 0) return undefined;
    return sumOf(await Promise.all(directories.map(bytesIn)));
  }
}

/** Also true if the record can't be read. */
async function acquired(lease: AccountLease): Promise<boolean> {
  try {
    return await lease.acquire();
  } catch (thrown) {
    if (isOrchardError(thrown) && thrown.code === 'storage') return true;
    throw thrown;
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
