import * as z from 'zod';
import { ownerOf } from '../files/index.js';
import { JOB_LEASES, requireKnownVersion, stored } from '../jobs/index.js';
import { isVersionConflict, type Storage, type Version } from '../storage/index.js';
import type { Clock } from './clock.js';

/** How often a holder renews its lease. */
export const HEARTBEAT_MS = 5_000;
/** How long a lease lasts that is not renewed: its process has died, or was suspended. */
export const LEASE_MS = 30_000;

/** The version of a lease's record. Leases of releases before versions have none. */
const VERSION = 1;

const leaseSchema = z.strictObject({
  record_version: z.literal(VERSION).exactOptional(),
  /** Null where nobody runs a job. */
  holder: z.string().nullable(),
  /** Milliseconds since 1970, for people and earlier releases: clocks may be wrong. */
  expires_at: z.number(),
  /** The job that the holder runs, or that an earlier one left. */
  job_id: z.string().nullable(),
});
type Lease = z.infer<typeof leaseSchema>;

const FREE: Lease = { record_version: VERSION, holder: null, expires_at: 0, job_id: null };
interface Sighting {
  readonly version: Version | undefined;
  /** By {@link Clock.elapsed}. */
  readonly since: number;
}

/** Stands for the holder of a record that can't be read. */
const UNREADABLE: Lease = { ...FREE, holder: '' };

/**
 * The right to run an account's jobs, as a lease that one worker holds at a time over all processes that share the
 * storage. One record an account makes both rules exact: one running job an account, and no job run twice.
 *
 * A lease is free at once where its holder was a process of this machine that has ended. Otherwise it is free once its
 * record has stayed the same for {@link LEASE_MS} by the clock of whoever looks, so no two clocks need to agree.
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
  #seen: Sighting | undefined;

  /** @param holder a name of this worker alone, by {@link ownedName}. */
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

  /** Takes the lease where it is free. @returns whether this worker holds it now. */
  async acquire(): Promise<boolean> {
    const { lease, version } = await this.#read();
    const { holder } = lease;
    const isFree = holder === null || holder === this.#holder || this.#isLeft(holder, version);
    if (!isFree) return false;
    return this.#write(this.#prolonged(lease), version);
  }

  #isLeft(holder: string, version: Version | undefined): boolean {
    const now = this.#clock.elapsed();
    const seen =
      this.#seen !== undefined && this.#seen.version === version ? this.#seen : { version, since: now };
    this.#seen = seen;
    return ownerOf(holder) === 'ended' || now - seen.since >= LEASE_MS;
  }

  /** Says which job runs now, and prolongs the lease. @returns false where it is lost. */
  hold(job_id: string | null): Promise<boolean> {
    return this.#rewrite((lease) => ({ ...this.#prolonged(lease), job_id }));
  }

  /** Prolongs the lease. @returns false where it is lost; a storage that fails loses it only after {@link LEASE_MS}. */
  async renew(): Promise<boolean> {
    try {
      return await this.#rewrite((lease) => this.#prolonged(lease));
    } catch {
      return this.#clock.elapsed() - this.#writtenAt < LEASE_MS;
    }
  }

  /** Gives the lease up, where this worker holds it. */
  async release(): Promise<void> {
    await this.#rewrite(({ job_id }) => ({ ...FREE, job_id }));
  }

  #prolonged({ job_id }: Lease): Lease {
    return { ...FREE, holder: this.#holder, expires_at: this.#clock.now() + LEASE_MS, job_id };
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
    const found = await stored(() => this.#storage.read(JOB_LEASES, this.#key));
    if (found === undefined) return { lease: FREE, version: undefined };
    requireKnownVersion(`${JOB_LEASES}/${this.#key}`, found.value, VERSION);
    const lease = leaseSchema.safeParse(found.value);
    return { lease: lease.success ? lease.data : UNREADABLE, version: found.version };
  }

  /** @returns false where someone else wrote first. */
  async #write(lease: Lease, version: Version | undefined): Promise<boolean> {
    const writtenAt = this.#clock.elapsed();
    try {
      await stored(() => this.#storage.write(JOB_LEASES, this.#key, lease, version, { isUrgent: true }));
    } catch (thrown) {
      if (isVersionConflict(thrown)) return false;
      throw thrown;
    }
    this.#known = lease;
    this.#writtenAt = writtenAt;
    return true;
  }
}
