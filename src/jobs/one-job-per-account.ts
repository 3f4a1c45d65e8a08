import * as z from 'zod';
import { isVersionConflict, type Storage, type Version, withStorageErrors } from '../storage/index.js';
import { ownerOf } from '../system/index.js';
import { accountKey, JOB_LEASES } from './account-records.js';
import type { Clock } from './clock.js';

/*
 * Who may run a job. Four rules, each with one place:
 *
 * 1. The job's record says how it stands: CREATED and QUEUED jobs wait, a RUNNING one is run or was left by a run.
 *    `JobRepository.unfinished` is the queue; a `JobQueue` of the application gets the same jobs.
 * 2. One worker holds the lease of an account ({@link AccountLease}), so one job of an account runs at a time.
 * 3. A run claims its job (`JobClaim` in job-run.ts) by a new token in the job's record, and every later write of the
 *    run requires that token. A process that was suspended and lost its lease therefore changes nothing.
 * 4. The storage publishes a folder only for the machine that staged it last (`StagingLost`), so a late run replaces
 *    no model.
 *
 * All of them rest on the conditional write of `Storage.write`: of two writers with the same version, one wins.
 */

export const HEARTBEAT_MS = 5_000;
export const LEASE_MS = 30_000;

const leaseSchema = z.strictObject({
  holder: z.string().nullable(),
  /** The job that the holder runs, or that an earlier one left. */
  job_id: z.string().nullable(),
});
type Lease = z.infer<typeof leaseSchema>;

const FREE: Lease = { holder: null, job_id: null };
/** A record that can't be read: held by an unknown worker. */
const UNREADABLE: Lease = { holder: '', job_id: null };

/**
 * The right to run an account's jobs, which one worker holds at a time among all processes that share the storage.
 *
 * The lease of a process of this machine is free as soon as that process has ended. Any other lease is free once its
 * record has not changed for {@link LEASE_MS} by the clock of the process that looks, so no two clocks need to agree.
 */
export class AccountLease {
  readonly #storage: Storage;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #holder: string;
  #known = FREE;
  /** When the lease that is known here was written, at the latest, by {@link Clock.elapsed}. */
  #writtenAt = Number.NEGATIVE_INFINITY;
  /** Another's lease as it was last found, and since when it has been like this. */
  #seen: { readonly version: Version | undefined; readonly since: number } | undefined;

  /** @param holder a name of this worker alone, by {@link ownedName}. */
  constructor(storage: Storage, appId: string, { clock, holder }: { clock: Clock; holder: string }) {
    this.#storage = withStorageErrors(storage);
    this.#key = accountKey(appId);
    this.#clock = clock;
    this.#holder = holder;
  }

  get jobId(): string | null {
    return this.#known.job_id;
  }

  async acquire(): Promise<boolean> {
    const { lease, version } = await this.#read();
    const { holder } = lease;
    const isFree = holder === null || holder === this.#holder || this.#isLeft(holder, version);
    if (!isFree) return false;
    return this.#write({ ...lease, holder: this.#holder }, version);
  }

  #isLeft(holder: string, version: Version | undefined): boolean {
    const now = this.#clock.elapsed();
    const seen = this.#seen !== undefined && this.#seen.version === version ? this.#seen : { version, since: now };
    this.#seen = seen;
    return ownerOf(holder) === 'ended' || now - seen.since >= LEASE_MS;
  }

  /** Says which job runs now, and renews the lease. @returns false if it is lost. */
  hold(job_id: string | null): Promise<boolean> {
    return this.#rewrite((lease) => ({ ...lease, job_id }));
  }

  /** Renews the lease. @returns false if it is lost; a failing storage loses it only after {@link LEASE_MS}. */
  async renew(): Promise<boolean> {
    try {
      return await this.#rewrite((lease) => lease);
    } catch {
      return this.#clock.elapsed() - this.#writtenAt < LEASE_MS;
    }
  }

  async release(): Promise<void> {
    await this.#rewrite((lease) => ({ ...lease, holder: null }));
  }

  /** @returns false, and changes nothing, if this worker doesn't hold the lease. */
  async #rewrite(change: (lease: Lease) => Lease): Promise<boolean> {
    for (;;) {
      const { lease, version } = await this.#read();
      if (lease.holder !== this.#holder) return false;
      if (await this.#write(change(lease), version)) return true; // else two calls of this worker met
    }
  }

  async #read(): Promise<{ lease: Lease; version: Version | undefined }> {
    const found = await this.#storage.read(JOB_LEASES, this.#key);
    if (found === undefined) return { lease: FREE, version: undefined };
    const lease = leaseSchema.safeParse(found.value);
    return { lease: lease.success ? lease.data : UNREADABLE, version: found.version };
  }

  /** @returns false after a concurrent write. */
  async #write(lease: Lease, version: Version | undefined): Promise<boolean> {
    const writtenAt = this.#clock.elapsed();
    try {
      await this.#storage.write(JOB_LEASES, this.#key, lease, version, { isUrgent: true });
    } catch (thrown) {
      if (isVersionConflict(thrown)) return false;
      throw thrown;
    }
    this.#known = lease;
    this.#writtenAt = writtenAt;
    return true;
  }
}
