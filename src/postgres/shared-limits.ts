import { LRUCache } from 'lru-cache';
import { RateLimiterPostgres, type RateLimiterRes } from 'rate-limiter-flexible';
import { whileAsking } from './connection-errors.js';
import type { Database } from './database.js';
import { QUOTAS, RATES } from './schema.js';

interface CalendarPeriod {
  /** Sorts by time: 2026-11, 2026-11-21. */
  readonly name: string;
  readonly endsAt: number;
}

const TIMEOUT_MS = 5000;
/** How long a missing counter is cached, so that not every request asks the database. */
const MISSING_MS = 1000;
const MAX_MISSING = 10_000;

/**
 * Counters of rate-limiter-flexible that all processes of one database share. They use each process's own clock, so
 * clocks that differ by a second make a minute differ by as much. If the database can't be reached they reject with a
 * StorageError: no request passes uncounted.
 */
export class SharedLimits {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Requests per minute of each account. */
  perMinute(points: number): RateLimiterPostgres {
    return this.#limiter('counting the requests of an account', RATES, {
      keyPrefix: 'requests',
      points,
      // A process that has seen the limit exceeded refuses without the database until the minute is over.
      inMemoryBlockOnConsumed: points,
      clearExpiredByTimeout: false, // the other limiter of this table does it
    });
  }

  /** Wrong keys per minute of each address. */
  wrongKeys(points: number) {
    const limiter = this.#limiter('counting wrong API keys', RATES, { keyPrefix: 'wrong-keys', points });
    const missing = new LRUCache<string, true>({ max: MAX_MISSING, ttl: MISSING_MS });
    return {
      consume(address: string): Promise<RateLimiterRes> {
        missing.delete(address);
        return limiter.consume(address);
      },
      /** Null if nothing was counted. Up to a second late if another process counted it. */
      async get(address: string): Promise<RateLimiterRes | null> {
        if (missing.has(address)) return null;
        const found = await limiter.get(address);
        if (found === null) missing.set(address, true);
        return found;
      },
    };
  }

  /** Inference calls of each account in a period. @param periodAt the period of a time in milliseconds since 1970. */
  quota(points: number, periodAt: (ms: number) => CalendarPeriod) {
    const doing = 'counting the inference calls of an account';
    const limiter = this.#limiter(doing, QUOTAS, { keyPrefix: 'quota', points });
    const counter = (account: string) => {
      const now = Date.now();
      const { name, endsAt } = periodAt(now);
      const options = { customDuration: Math.ceil((endsAt - now) / 1000) };
      return { key: `${encodeURIComponent(account)}/${name}`, options };
    };
    return {
      consume(account: string, calls = 1): Promise<RateLimiterRes> {
        const { key, options } = counter(account);
        return limiter.consume(key, calls, options);
      },
      reward(account: string, calls = 1): Promise<RateLimiterRes> {
        const { key, options } = counter(account);
        return limiter.reward(key, calls, options);
      },
    };
  }

  async forget(app_id: string): Promise<void> {
    const quota = `quota:${encodeURIComponent(app_id)}/`;
    await whileAsking('removing the counts of an account', async () => {
      const { query } = this.#database;
      await query(`DELETE FROM ${this.#database.table(RATES)} WHERE key = $1`, [`requests:${app_id}`]);
      await query(`DELETE FROM ${this.#database.table(QUOTAS)} WHERE starts_with(key, $1)`, [quota]);
    });
  }

  #limiter(
    doing: string,
    tableName: string,
    options: {
      readonly keyPrefix: string;
      readonly points: number;
      readonly inMemoryBlockOnConsumed?: number;
      readonly clearExpiredByTimeout?: boolean;
    },
  ): RateLimiterPostgres {
    const query = ({ text, values }: { readonly text: string; readonly values?: readonly unknown[] }) =>
      whileAsking(doing, async () => {
        const rows = await this.#database.query(text, values, { timeoutMs: TIMEOUT_MS });
        return { rows, rowCount: rows.length };
      });
    return new RateLimiterPostgres({
      ...options,
      storeClient: { query },
      storeType: 'client',
      schemaName: this.#database.schema,
      tableName,
      tableCreated: true, // by prepareSchema
      duration: 60, // seconds
    });
  }
}
