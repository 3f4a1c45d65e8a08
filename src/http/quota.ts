import { clearTimeout, setTimeout } from 'node:timers';
import * as z from 'zod';
import { type Account, StorageError } from '../contract/index.js';
import { counted } from '../datasets/index.js';
import { QUOTA } from '../jobs/index.js';
import { isVersionConflict, type JsonValue, memoryStorage, type Storage } from '../storage/index.js';
import { type RateLimiter, tooMany, waitAfter } from './admission.js';
import { hasAnswers } from './refusal.js';

/** Counts the inference calls of an account. Calls that were not answered are given back with `reward`. */
export interface Quota extends RateLimiter {
  reward(key: string, points?: number): Promise<unknown>;
}

/** Options of {@link calendarQuota}. */
export interface CalendarQuotaOptions {
  /** Maximum inference calls of an account in each period. */
  readonly calls: number;
  /** Calendar days or months, which begin at midnight UTC. */
  readonly per: 'day' | 'month';
  /**
   * Where counts are stored, so that they survive the process and are shared between processes. Stays open on close.
   * Default: in memory only.
   */
  readonly storage?: Storage;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** A quota per calendar day or month. */
export interface CalendarQuota extends Quota {
  /** Saves the counts. Idempotent. */
  close(): Promise<void>;
}

/**
 * Creates a quota of inference calls per calendar day or month. Counts are saved within a second and merged with those
 * of other processes, so a crash loses at most the calls of a second, and several processes may exceed the quota by as
 * many. (The limiters of rate-limiter-flexible have no calendar, and the timers of the one in memory reach only 24
 * days.)
 */
export function calendarQuota(options: CalendarQuotaOptions): CalendarQuota {
  return new StoredQuota(options);
}

const SAVE_AFTER_MS = 1000;

const savedSchema = z.object({ period: z.string(), calls: z.number() });

interface Count {
  readonly period: string;
  /** As last read from the storage. */
  stored: number;
  unsaved: number;
}

class StoredQuota implements CalendarQuota {
  readonly #options: Required<CalendarQuotaOptions>;
  /** By account: its latest period, and the count of that period. */
  readonly #counts = new Map<string, { readonly period: string; readonly count: Promise<Count> }>();
  /** Counts to save, with their accounts. */
  readonly #changed = new Map<Count, string>();
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: CalendarQuotaOptions) {
    this.#options = { storage: memoryStorage(), now: Date.now, ...options };
  }

  /** Counts refused calls too, as the limiters of rate-limiter-flexible do. */
  async consume(account: string, calls = 1): Promise<void> {
    const { now, per, calls: limit } = this.#options;
    const { name, endsAt } = periodOf(now(), per);
    const counted = await this.#count(account, name, calls);
    if (counted > limit) throw { msBeforeNext: endsAt - now() };
  }

  async reward(account: string, calls = 1): Promise<void> {
    await this.#count(account, periodOf(this.#options.now(), this.#options.per).name, -calls);
  }

  async close(): Promise<void> {
    await this.#save();
  }

  /** @returns the calls of the account in the period, including these. */
  async #count(account: string, period: string, calls: number): Promise<number> {
    const count = await this.#countOf(account, period);
    count.unsaved += calls;
    this.#changed.set(count, account);
    // What could not be saved stays in memory until the next attempt.
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

  /** @returns the calls of the account in that period in all processes. */
  async #add(account: string, period: string, calls: number): Promise<number> {
    for (;;) {
      const { saved, version } = await this.#read(account);
      if (saved !== undefined && isLater(saved.period, period)) return calls;
      const sum = calls + (saved?.period === period ? saved.calls : 0);
      const value: JsonValue = { period, calls: sum };
      try {
        await this.#options.storage.write(QUOTA, encodeURIComponent(account), value, version);
        return sum;
      } catch (thrown) {
        if (!isVersionConflict(thrown)) throw thrown;
      }
    }
  }

  async #read(account: string) {
    const key = encodeURIComponent(account);
    const found = await this.#options.storage.read(QUOTA, key);
    if (found === undefined) return { saved: undefined, version: undefined };
    const saved = savedSchema.safeParse(found.value);
    if (saved.success) return { saved: saved.data, version: found.version };
    throw new StorageError(`record ${QUOTA}/${key} is not a count of calls; repair or remove it`);
  }
}

/** False for a day and a month: the kind of quota has changed. */
function isLater(period: string, other: string): boolean {
  return period.length === other.length && period > other;
}

/** The day or month at a time. Names sort by time: 2026-11, 2026-11-21. */
export function periodOf(ms: number, per: 'day' | 'month'): { readonly name: string; readonly endsAt: number } {
  const now = new Date(ms);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  return per === 'month'
    ? { name: now.toISOString().slice(0, 7), endsAt: Date.UTC(year, month + 1) }
    : { name: now.toISOString().slice(0, 10), endsAt: Date.UTC(year, month, day + 1) };
}

/** Counts the calls and answers; unanswered calls are given back. @throws Refusal 429 beyond the quota */
export async function withinQuota<Answer>(
  quota: Quota | undefined,
  { app_id }: Account,
  calls: number,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  if (quota === undefined || calls === 0) return answer();
  const wait = await waitAfter(quota.consume(app_id, calls));
  try {
    if (wait === undefined) return await answer();
    const needed = counted(calls, 'inference call');
    throw tooMany(`this request takes ${needed}, more than the quota of this account has left`, 'quota', wait);
  } catch (thrown) {
    // Limiters count refused calls too.
    if (!hasAnswers(thrown)) await quota.reward(app_id, calls);
    throw thrown;
  }
}
