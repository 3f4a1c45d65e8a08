import { LRUCache } from 'lru-cache';
import { RateLimiterPostgres, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Database } from './database.js';
import { whileAsking } from './database-failure.js';
import { QUOTAS, RATES } from './schema.js';

/** A day or a month of the calendar, in UTC. */
export interface CalendarPeriod {
  /** Its name sorts as time goes: 2026-11, 2026-11-21. */
  readonly name: string;
  /** In milliseconds since 1970. */
  readonly endsAt: number;
}

const MINUTE_S = 60;
/** A request waits for its count no longer. */
const TIMEOUT_MS = 5000;
/** How long nobody's being counted is believed, so that not every request asks the database. */
const UNCOUNTED_MS = 1000;
const MAX_UNCOUNTED = 10_000;

/**
 * Counters of rate-limiter-flexible that all processes of one database share. They count by each process's own clock,
 * so clocks that differ by a second make a minute differ by as much. Where the database can't be reached they reject with
 * a StorageError: nothing passes uncounted.
 */
export class SharedLimits {
  readonly #database: Database;

  /** @param database stays open. */
  constructor(database: Database) {
    this.#database = database;
  }

  /** So many requests a minute of each account. */
  perMinute(points: number): RateLimiterPostgres {
    const doing = 'counting the requests of an account';
    // What a process has seen beyond the limit it refuses by itself until the minute is over.
    return this.#limiter({
      doing,
      table: RATES,
      keyPrefix: 'requests',
      points,
      inMemoryBlockOnConsumed: points,
    });
  }

  /** So many wrong keys a minute from each address. */
  wrongKeys(points: number): WrongKeys {
    const doing = 'counting wrong API keys';
    const limiter = { doing, table: RATES, keyPrefix: 'wrong-keys', points, clearExpiredByTimeout: true };
    return new WrongKeys(this.#limiter(limiter));
  }

  /** So many inference calls of each account in a period. @param periodAt the one at a time, in milliseconds since 1970. */
  quota(points: number, periodAt: (ms: number) => CalendarPeriod): SharedQuota {
    const doing = 'counting the inference calls of an account';
    const limiter = { doing, table: QUOTAS, keyPrefix: 'quota', points, clearExpiredByTimeout: true };
    return new SharedQuota(this.#limiter(limiter), periodAt);
  }

  /** Removes what is counted of an account. @throws StorageError */
  async forget(app_id: string): Promise<void> {
    const quota = `quota:${encodeURIComponent(app_id)}/`;
    await this.#send('removing the counts of an account', async (database) => {
      await database.query(`DELETE FROM ${database.table(RATES)} WHERE key = $1`, [`requests:${app_id}`]);
      await database.query(`DELETE FROM ${database.table(QUOTAS)} WHERE starts_with(key, $1)`, [quota]);
    });
  }

  #limiter({ doing, table, ...options }: LimiterOptions): RateLimiterPostgres {
    const client = {
      query: ({ text, values }: { readonly text: string; readonly values?: readonly unknown[] }) =>
        this.#send(doing, async (database) => {
          const rows = await database.query(text, values, { timeoutMs: TIMEOUT_MS });
          return { rows, rowCount: rows.length };
        }),
    };
    return new RateLimiterPostgres({
      clearExpiredByTimeout: false,
      ...options,
      storeClient: client,
      storeType: 'client',
      schemaName: this.#database.schema,
      tableName: table,
      tableCreated: true, // by prepareSchema
      duration: MINUTE_S,
    });
  }

  #send<T>(doing: string, work: (database: Database) => Promise<T>): Promise<T> {
    return whileAsking(doing, () => work(this.#database));
  }
}

interface LimiterOptions {
  readonly doing: string;
  readonly table: string;
  readonly keyPrefix: string;
  readonly points: number;
  readonly inMemoryBlockOnConsumed?: number;
  readonly clearExpiredByTimeout?: boolean;
}

/** Counts wrong keys by address. */
export class WrongKeys {
  readonly #limiter: RateLimiterPostgres;
  /** Addresses that nothing was counted of when they were last looked at. */
  readonly #uncounted = new LRUCache<string, true>({ max: MAX_UNCOUNTED, ttl: UNCOUNTED_MS });

  constructor(limiter: RateLimiterPostgres) {
    this.#limiter = limiter;
  }

  consume(key: string): Promise<RateLimiterRes> {
    this.#uncounted.delete(key);
    return this.#limiter.consume(key);
  }

  /** Null where nothing has been counted; of what other processes count, a second late. */
  async get(key: string): Promise<RateLimiterRes | null> {
    if (this.#uncounted.has(key)) return null;
    const found = await this.#limiter.get(key);
    if (found === null) this.#uncounted.set(key, true);
    return found;
  }
}

/** Counts inference calls in periods of the calendar. */
export class SharedQuota {
  readonly #limiter: RateLimiterPostgres;
  readonly #periodAt: (ms: number) => CalendarPeriod;

  constructor(limiter: RateLimiterPostgres, periodAt: (ms: number) => CalendarPeriod) {
    this.#limiter = limiter;
    this.#periodAt = periodAt;
  }

  consume(account: string, calls = 1): Promise<RateLimiterRes> {
    const { key, customDuration } = this.#now(account);
    return this.#limiter.consume(key, calls, { customDuration });
  }

  reward(account: string, calls = 1): Promise<RateLimiterRes> {
    const { key, customDuration } = this.#now(account);
    return this.#limiter.reward(key, calls, { customDuration });
  }

  #now(account: string) {
    const now = Date.now();
    const { name, endsAt } = this.#periodAt(now);
    return {
      key: `${encodeURIComponent(account)}/${name}`,
      customDuration: Math.ceil((endsAt - now) / 1000),
    };
  }
}
