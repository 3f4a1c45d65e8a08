import type { QueuedJob } from '../jobs/index.js';
import type { AccountTurns } from './account-turns.js';
import { isConnectionLost, QueryTimeout } from './connection-failure.js';
import type { Database, Query } from './database.js';

/** How often a transaction is begun where connections turn out to be broken. */
const ATTEMPTS = 3;

/** A job that was handed out, with the lease of its account. */
export interface TakenJob extends QueuedJob {
  /** Fences the lease: no other lease of this database ever has or had this one. */
  readonly token: string;
  /** Whether it was cancelled while nobody ran it, so that whoever runs it is to stop at once. */
  readonly isCancelled: boolean;
}

/** How a lease stands that its holder has prolonged. */
export interface HeldLease {
  readonly isHeld: boolean;
  /** Whether the job was cancelled. */
  readonly isCancelled: boolean;
}

/** What a notification tells: an account may have a job to run, or a job was cancelled. */
export interface QueueNews {
  readonly app_id: string;
  readonly cancelled?: string;
}

/**
 * The jobs of each account and the lease of whoever runs one, by the database's clock. An account's row is locked by
 * every change, so that the changes of one account come one after the other. Who has jobs, and no lease, has a turn.
 */
export class JobLeaseTable {
  readonly #database: Database;
  readonly #turns: AccountTurns;
  readonly #leaseMs: number;
  readonly #accounts: string;
  readonly #jobs: string;

  constructor(database: Database, turns: AccountTurns, leaseMs: number) {
    this.#database = database;
    this.#turns = turns;
    this.#leaseMs = leaseMs;
    this.#accounts = database.table('queue_accounts');
    this.#jobs = database.table('queue_jobs');
  }

  /** The channel on which {@link QueueNews} come, as JSON. */
  get channel(): string {
    return this.#database.channel('queue');
  }

  /** Adds a job that is not there yet. */
  async add({ app_id, id }: QueuedJob): Promise<void> {
    await this.#transaction(async (query) => {
      const [account] = await query<{ token: string | null }>(
        `WITH account AS (${this.#locking()} RETURNING token),
           job AS (INSERT INTO ${this.#jobs} (app_id, id) VALUES ($1, $2) ON CONFLICT DO NOTHING)
         SELECT token, pg_notify($3, $4) FROM account`,
        [app_id, id, this.channel, JSON.stringify({ app_id } satisfies QueueNews)],
      );
      if (account?.token === null) await this.#turns.give(query, app_id);
    });
  }

  /** Takes out a job that has not started; says of one that has, to whoever runs it, that it is cancelled. */
  async cancel({ app_id, id }: QueuedJob): Promise<void> {
    await this.#transaction(async (query) => {
      const account = await this.#lock(query, app_id);
      if (account === undefined) return;
      const names = [app_id, id];
      await query(`DELETE FROM ${this.#jobs} WHERE app_id = $1 AND id = $2 AND NOT is_started`, names);
      await query(`UPDATE ${this.#jobs} SET is_cancelled = true WHERE app_id = $1 AND id = $2`, names);
      if (account.token === null && !(await this.#hasJobs(query, app_id))) {
        await this.#turns.take(query, app_id);
        await this.#forget(query, app_id);
      }
      await this.#tell(query, { app_id, cancelled: id });
    });
  }

  /**
   * Takes the lease of an account and the job to run under it: one that was left, else the oldest.
   * @param isTurn whether the account's turn was taken, which says that it is time; else its row does.
   * @returns undefined where there is no job, or another has the lease.
   */
  async take(app_id: string, holder: string, isTurn: boolean): Promise<TakenJob | undefined> {
    return this.#transaction(async (query) => {
      if (isTurn) await this.#ensure(query, app_id); // even a turn that nobody needs goes under the lock
      const account = await this.#lock(query, app_id);
      if (account === undefined || (!isTurn && !account.is_due)) return undefined;
      await this.#turns.take(query, app_id);
      if (account.is_leased) return undefined; // who has it gives the next turn
      const [job] = await query<{ id: string; is_cancelled: boolean }>(
        `UPDATE ${this.#jobs} SET is_started = true WHERE app_id = $1 AND id =
           (SELECT id FROM ${this.#jobs} WHERE app_id = $1 ORDER BY is_started DESC, id LIMIT 1)
         RETURNING id, is_cancelled`,
        [app_id],
      );
      if (job === undefined) return this.#forget(query, app_id);
      const [lease] = await query<{ token: string }>(
        `UPDATE ${this.#accounts} SET token = nextval('${this.#database.table('lease_tokens')}'), holder = $2,
           job_id = $3, expires = ${this.#expiry()} WHERE app_id = $1 RETURNING token`,
        [app_id, holder, job.id],
      );
      return lease && { app_id, id: job.id, token: lease.token, isCancelled: job.is_cancelled };
    });
  }

  /** Prolongs a lease. */
  async renew({ app_id, id, token }: TakenJob, timeoutMs: number): Promise<HeldLease> {
    const [lease] = await this.#database.query<{ is_cancelled: boolean | null }>(
      `UPDATE ${this.#accounts} SET expires = ${this.#expiry()} WHERE app_id = $1 AND token = $2
       RETURNING (SELECT is_cancelled FROM ${this.#jobs} WHERE app_id = $1 AND id = $3) AS is_cancelled`,
      [app_id, token, id],
      { isRepeatable: true, timeoutMs },
    );
    return { isHeld: lease !== undefined, isCancelled: lease?.is_cancelled ?? false };
  }

  /**
   * Gives a lease up. Nothing changes where it is lost.
   * @param hasEnded whether its job is done with. @param pauseMs how long the account then rests.
   */
  async release({ app_id, id, token }: TakenJob, hasEnded: boolean, pauseMs = 0): Promise<void> {
    await this.#transaction(async (query) => {
      const account = await this.#lock(query, app_id);
      if (account?.token !== token) return;
      if (hasEnded) await query(`DELETE FROM ${this.#jobs} WHERE app_id = $1 AND id = $2`, [app_id, id]);
      await this.#free(query, app_id, { isFirst: !hasEnded, afterMs: pauseMs });
    });
  }

  /** Frees the accounts whose leases nobody prolonged. @returns how many there were. */
  async freeExpired(): Promise<number> {
    const expired = await this.#database.query<{ app_id: string }>(
      `SELECT app_id FROM ${this.#accounts} WHERE token IS NOT NULL AND expires < clock_timestamp()
       ORDER BY expires LIMIT 100`,
      [],
      { isRepeatable: true },
    );
    for (const { app_id } of expired) {
      await this.#transaction(async (query) => {
        const account = await this.#lock(query, app_id);
        if (account?.token != null && !account.is_leased) await this.#free(query, app_id, { isFirst: true });
      });
    }
    return expired.length;
  }

  /** Those of the accounts that have jobs which nobody runs. */
  async waiting(accounts: readonly string[]): Promise<string[]> {
    if (accounts.length === 0) return [];
    const found = await this.#database.query<{ app_id: string }>(
      `SELECT app_id FROM ${this.#accounts} WHERE app_id = ANY($1) AND token IS NULL AND free_from <= clock_timestamp()`,
      [accounts],
      { isRepeatable: true },
    );
    return found.map(({ app_id }) => app_id);
  }

  /** Clears the lease, and gives the account a turn if it has jobs; else nothing of it stays. */
  async #free(query: Query, app_id: string, turn: { isFirst: boolean; afterMs?: number }): Promise<void> {
    if (!(await this.#hasJobs(query, app_id))) {
      await this.#forget(query, app_id);
      return;
    }
    await query(
      `UPDATE ${this.#accounts} SET token = NULL, holder = NULL, job_id = NULL, expires = NULL,
         free_from = clock_timestamp() + $2 * interval '1 millisecond' WHERE app_id = $1`,
      [app_id, turn.afterMs ?? 0],
    );
    await this.#turns.give(query, app_id, turn);
    await this.#tell(query, { app_id });
  }

  async #hasJobs(query: Query, app_id: string): Promise<boolean> {
    return (await query(`SELECT 1 FROM ${this.#jobs} WHERE app_id = $1 LIMIT 1`, [app_id])).length > 0;
  }

  async #forget(query: Query, app_id: string): Promise<undefined> {
    await query(`DELETE FROM ${this.#accounts} WHERE app_id = $1`, [app_id]);
  }

  /** Makes the account's row where it is missing, and locks it. */
  async #ensure(query: Query, app_id: string): Promise<void> {
    await query(this.#locking(), [app_id]);
  }

  #locking(): string {
    return `INSERT INTO ${this.#accounts} (app_id) VALUES ($1) ON CONFLICT (app_id) DO UPDATE SET app_id = excluded.app_id`;
  }

  /** The account's row, which nobody else changes until the transaction ends. */
  async #lock(query: Query, app_id: string) {
    const [account] = await query<{ token: string | null; is_leased: boolean; is_due: boolean }>(
      `SELECT token, token IS NOT NULL AND expires >= clock_timestamp() AS is_leased,
         free_from <= clock_timestamp() AS is_due FROM ${this.#accounts} WHERE app_id = $1 FOR UPDATE`,
      [app_id],
    );
    return account;
  }

  #expiry(): string {
    return `clock_timestamp() + ${this.#leaseMs} * interval '1 millisecond'`;
  }

  async #tell(query: Query, news: QueueNews): Promise<void> {
    await query('SELECT pg_notify($1, $2)', [this.channel, JSON.stringify(news)]);
  }

  /** Each of them leaves the same behind when it is done twice. */
  async #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.#turns.ready(); // it takes connections, of which a transaction already has one
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#database.transaction(work);
      } catch (thrown) {
        if (!isConnectionLost(thrown) || thrown instanceof QueryTimeout || attempt === ATTEMPTS) throw thrown;
      }
    }
  }
}
