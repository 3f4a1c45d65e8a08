import * as z from 'zod';
import { StorageError } from '../errors.js';
import { stored } from '../jobs/index.js';
import { isVersionConflict, type Storage, type Version } from '../storage/index.js';
import type { Clock } from './clock.js';

/** How often a holder renews its lease. */
export const HEARTBEAT_MS = 5_000;
/** How long a lease lasts that is not renewed: its process has died, or was suspended. */
export const LEASE_MS = 30_000;

const LEASES = 'job-leases';

const leaseSchema = z.strictObject({
  /** Null where nobody runs a job. */
  holder: z.string().nullable(),
  /** Milliseconds since 1970. */
  expires_at: z.number(),
  /** The job that the holder runs, or that an earlier one left. */
  job_id: z.string().nullable(),
});
type Lease = z.infer<typeof leaseSchema>;

const FREE: Lease = { holder: null, expires_at: 0, job_id: null };

/**
 * The right to run an account's jobs, as a lease that one worker holds at a time over all processes that share the
 * storage. One record an account makes both rules exact: one running job an account, and no job run twice.
 * The clocks of machines that share a storage must agree to some seconds.
 */
export class AccountLease {
  readonly #storage: Storage;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #holder: string;
  #known = FREE;

  /** @param holder an id of this worker alone. */
  constructor(storage: Storage, appId: string, { clock, holder }: { clock: Clock; holder: string }) {
    this.#storage = storage;
    this.#key = encodeURIComponent(appId);
    this.#clock = clock;
    this.#holder = holder;
  }

  /** The job that this holder runs, or that the one before left. */
  get jobId(): string | null {
    return this.#known.job_id;
  }

  /** Takes the lease where it is free or has run out. @returns whether this worker holds it now. */
  async acquire(): Promise<boolean> {
    const { lease, version } = await this.#read();
    const isHeld = lease.holder !== null && lease.holder !== this.#holder;
    if (isHeld && lease.expires_at > this.#clock.now()) return false;
    return this.#write(this.#prolonged(lease), version);
  }

  /** Says which job runs now, and prolongs the lease. @returns false where it is lost. */
  hold(job_id: string | null): Promise<boolean> {
    return this.#rewrite((lease) => ({ ...this.#prolonged(lease), job_id }));
  }

  /** Prolongs the lease. @returns false where it is lost; a storage that fails loses it only once it has run out. */
  async renew(): Promise<boolean> {
    try {
      return await this.#rewrite((lease) => this.#prolonged(lease));
    } catch {
      return this.#clock.now() < this.#known.expires_at;
    }
  }

  /** Gives the lease up, where this worker holds it. */
  async release(): Promise<void> {
    await this.#rewrite(({ job_id }) => ({ ...FREE, job_id }));
  }

  #prolonged({ job_id }: Lease): Lease {
    return { holder: this.#holder, expires_at: this.#clock.now() + LEASE_MS, job_id };
  }

  /** @returns false, and changes nothing, where this worker doesn't hold the lease. */
  async #rewrite(change: (lease: Lease) => Lease): Promise<boolean> {
    for (;;) {
      const { lease, version } = await this.#read();
      if (lease.holder !== this.#holder) return false;
      if (await this.#write(change(lease), version)) return true; // else two calls of this worker met
    }
  }

  async #read(): Promise<{ lease: Lease; version: Version | undefined }> {
    const found = await stored(() => this.#storage.read(LEASES, this.#key));
    if (found === undefined) return { lease: FREE, version: undefined };
    const lease = leaseSchema.safeParse(found.value);
    if (lease.success) return { lease: lease.data, version: found.version };
    throw new StorageError(`record ${LEASES}/${this.#key} is no lease; remove it`, { cause: lease.error });
  }

  /** @returns false where someone else wrote first. */
  async #write(lease: Lease, version: Version | undefined): Promise<boolean> {
    try {
      await stored(() => this.#storage.write(LEASES, this.#key, lease, version));
    } catch (thrown) {
      if (isVersionConflict(thrown)) return false;
      throw thrown;
    }
    this.#known = lease;
    return true;
  }
}
