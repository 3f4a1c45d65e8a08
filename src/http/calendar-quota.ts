import * as z from 'zod';
import { StorageError } from '../errors.js';
import { QUOTA } from '../jobs/index.js';
import { isVersionConflict, type JsonValue, memoryStorage, type Storage } from '../storage/index.js';
import type { Quota } from './limiters.js';

export interface CalendarQuotaOptions {
  /** Inference calls of an account in each period. */
  readonly calls: number;
  /** Days and months of the calendar, which begin at midnight UTC. */
  readonly per: 'day' | 'month';
  /** Where counts outlive the process, and processes share them. Stays open on close. Default: nowhere. */
  readonly storage?: Storage;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

export interface CalendarQuota extends Quota {
  /** Stores what has been counted. Idempotent. */
  close(): Promise<void>;
}

/**
 * Inference calls of a day or month of the calendar. What a process counts it stores within a second, together with what
 * others have stored meanwhile; so a crash forgets a second, and several processes may exceed the quota by as much. The
 * limiters of rate-limiter-flexible have no calendar, and the one in memory no month: its timers reach 24 days.
 */
export function calendarQuota(options: CalendarQuotaOptions): CalendarQuota {
  return new StoredQuota(options);
}

const SAVE_AFTER_MS = 1000;

const savedSchema = z.object({ period: z.string(), calls: z.number() });

/** The inference calls of an account in a period. */
interface Count {
  readonly period: string;
  /** As last seen in the storage. */
  stored: number;
  unsaved: number;
}

class StoredQuota implements CalendarQuota {
  readonly #limit: number;
  readonly #per: 'day' | 'month';
  readonly #storage: Storage;
  readonly #now: () => number;
  /** By account: its last period, and the count of it once that is read. */
  readonly #counts = new Map<string, { readonly period: string; readonly count: Promise<Count> }>();
  /** What is to be saved. */
  readonly #changed = new Map<Count, string>();
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor({ calls, per, storage = memoryStorage(), now = Date.now }: CalendarQuotaOptions) {
    this.#limit = calls;
    this.#per = per;
    this.#storage = storage;
    this.#now = now;
  }

  /** Counts what it refuses too, as the library's limiters do. */
  async consume(account: string, calls = 1): Promise<void> {
    const { name, endsAt } = periodOf(this.#now(), this.#per);
    const counted = await this.#count(account, name, calls);
    if (counted > this.#limit) throw { msBeforeNext: endsAt - this.#now() };
  }

  async reward(account: string, calls = 1): Promise<void> {
    await this.#count(account, periodOf(this.#now(), this.#per).name, -calls);
  }

  async close(): Promise<void> {
    await this.#save();
  }

  /** @returns the calls of the account in the period, these included. */
  async #count(account: string, period: string, calls: number): Promise<number> {
    const count = await this.#countOf(account, period);
    count.unsaved += calls;
    this.#changed.set(count, account);
    // A failed attempt is made again with the next one; until then the counts are in memory.
    this.#timer ??= setTimeout(() => void this.#save().catch(() => undefined), SAVE_AFTER_MS).unref();
    return count.stored + count.unsaved;
  }

  #countOf(account: string, period: string): Promise<Count> {
    const known = this.#counts.get(account);
    if (known?.period === period) return known.count;
    const count = this.#read(account).then(
      ({ saved }): Count => ({ period, stored: saved?.period === period ? saved.calls : 0, unsaved: 0 }),
    );
    this.#counts.set(account, { period, count });
    count.catch(() => this.#counts.delete(account));
    return count;
  }

  #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#saving = this.#saving
      .catch(() => undefined)
      .then(async () => {
        for (const [count, account] of [...this.#changed]) await this.#saveCount(count, account);
      });
    return this.#saving;
  }

  async #saveCount(count: Count, account: string): Promise<void> {
    const added = count.unsaved;
    this.#changed.delete(count);
    try {
      count.stored = await this.#add(account, count.period, added);
      count.unsaved -= added;
    } catch (thrown) {
      this.#changed.set(count, account);
      throw thrown;
    }
  }

  /** @returns the calls of the account in that period, by all processes. */
  async #add(account: string, period: string, calls: number): Promise<number> {
    for (;;) {
      const { saved, version } = await this.#read(account);
      if (saved !== undefined && isLater(saved.period, period)) return calls;
      const sum = calls + (saved?.period === period ? saved.calls : 0);
      const value: JsonValue = { period, calls: sum };
      try {
        await this.#storage.write(QUOTA, encodeURIComponent(account), value, version);
        return sum;
      } catch (thrown) {
        if (!isVersionConflict(thrown)) throw thrown;
      }
    }
  }

  async #read(account: string) {
    const key = encodeURIComponent(account);
    const found = await this.#storage.read(QUOTA, key);
    if (found === undefined) return { saved: undefined, version: undefined };
    const saved = savedSchema.safeParse(found.value);
    if (saved.success) return { saved: saved.data, version: found.version };
    throw new StorageError(`record ${QUOTA}/${key} is no count of calls; repair or remove it`);
  }
}

/** Days and months don't compare: the quota may have been of another kind before. */
function isLater(period: string, other: string): boolean {
  return period.length === other.length && period > other;
}

/** The day or month at a time. Its name sorts as time goes: 2026-11, 2026-11-21. */
export function periodOf(
  ms: number,
  per: 'day' | 'month',
): { readonly name: string; readonly endsAt: number } {
  const now = new Date(ms);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  return per === 'month'
    ? { name: now.toISOString().slice(0, 7), endsAt: Date.UTC(year, month + 1) }
    : { name: now.toISOString().slice(0, 10), endsAt: Date.UTC(year, month, day + 1) };
}
