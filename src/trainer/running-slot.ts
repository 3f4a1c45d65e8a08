import * as z from 'zod';
import { StorageError } from '../errors.js';
import { stored } from '../jobs/index.js';
import { type Storage, type Version, VersionConflict } from '../storage/index.js';
import type { Clock } from './clock.js';

/** How often a holder renews its lease. */
export const RENEWAL_INTERVAL_MS = 5_000;
/** How long a lease lasts that is not renewed: its process has died, or was suspended. */
export const LEASE_MS = 30_000;

const SLOTS = 'running-slots';

/** `holder` is null where nobody runs a job; `expires_at` is milliseconds since 1970. */
const leaseSchema = z.strictObject({ holder: z.string().nullable(), expires_at: z.number() });
type Lease = z.infer<typeof leaseSchema>;

/**
 * The right to run an account's jobs, as a lease that one trainer holds at a time over all processes that share
 * the storage. One record an account makes both rules exact: one running job an account, and no job run twice.
 * The clocks of machines that share a storage must agree to some seconds.
 */
export class RunningSlot {
  readonly #storage: Storage;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #holder: string;
  #expiresAt = 0;

  /** @param holder an id of this trainer alone. */
  constructor(storage: Storage, appId: string, { clock, holder }: { clock: Clock; holder: string }) {
    this.#storage = storage;
    this.#key = encodeURIComponent(appId);
    this.#clock = clock;
    this.#holder = holder;
  }

  /** Takes the slot where it is free or its lease has expired. @returns whether this trainer holds it now. */
  async acquire(): Promise<boolean> {
    const { lease, version } = await this.#read();
    const isTaken = lease.holder !== null && lease.holder !== this.#holder && !this.#hasExpired(lease);
    if (isTaken) return false;
    return this.#writeLease({ holder: this.#holder, expires_at: this.#clock.now() + LEASE_MS }, version);
  }

  /**
   * Prolongs the lease.
   * @returns false where the slot is lost. A storage that fails loses it only once the lease has expired.
   */
  async renew(): Promise<boolean> {
    try {
      return await this.#rewrite(this.#holder, this.#clock.now() + LEASE_MS);
    } catch {
      return this.#clock.now() < this.#expiresAt;
    }
  }

  /** Gives the slot up, all jobs run, where this trainer holds it. */
  async release(): Promise<void> {
    await this.#rewrite(null, 0);
  }

  /** Gives the slot up with jobs left to run, for any trainer to take up: they find it abandoned. */
  async leave(): Promise<void> {
    await this.#rewrite(this.#holder, 0);
  }

  /** True where jobs were left: the holder died, was suspended, or said so. */
  async isAbandoned(): Promise<boolean> {
    const { lease } = await this.#read();
    return lease.holder !== null && this.#hasExpired(lease);
  }

  /** @returns false, and changes nothing, where this trainer doesn't hold the slot. */
  async #rewrite(holder: string | null, expires_at: number): Promise<boolean> {
    for (;;) {
      const { lease, version } = await this.#read();
      if (lease.holder !== this.#holder) return false;
      if (await this.#writeLease({ holder, expires_at }, version)) return true; // else two calls of this trainer met
    }
  }

  #hasExpired(lease: Lease): boolean {
    return lease.expires_at <= this.#clock.now();
  }

  async #read(): Promise<{ lease: Lease; version: Version | undefined }> {
    const found = await stored(() => this.#storage.read(SLOTS, this.#key));
    if (found === undefined) return { lease: { holder: null, expires_at: 0 }, version: undefined };
    const lease = leaseSchema.safeParse(found.value);
    if (lease.success) return { lease: lease.data, version: found.version };
    throw new StorageError(`record ${SLOTS}/${this.#key} is no lease; remove it`, { cause: lease.error });
  }

  /** @returns false where someone else wrote first. */
  async #writeLease(lease: Lease, version: Version | undefined): Promise<boolean> {
    try {
      await stored(() => this.#storage.write(SLOTS, this.#key, lease, version));
      this.#expiresAt = lease.expires_at;
      return true;
    } catch (thrown) {
      if (thrown instanceof VersionConflict) return false;
      throw thrown;
    }
  }
}
