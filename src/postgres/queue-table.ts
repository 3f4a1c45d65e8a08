import type { QueuedJob } from '../jobs/index.js';
import type { Database, Query } from './database.js';

/** A job that was handed out, with the lease of its account. */
export interface TakenJob extends QueuedJob {
  /** Fences the lease: no two leases of a database have the same token. */
  readonly token: string;
  /** Whether the job was cancelled after its previous process died, so that the handler must stop at once. */
  readonly isCancelled: boolean;
}

/** A notification: an account may have a job to run, or the job that runs was cancelled. */
interface QueueNews {
  readonly app_id: string;
  readonly cancelled?: string;
}

/**
 * The jobs of each account, and the lease of the process that runs one of them, by the database's clock.
 *
 * An account has a row while it has jobs. Every change locks that row first, so the changes of one account come one
 * after the other. `free_from` says when a process may take a job of the account: at the end of the lease while a job
 * runs, otherwise when the last job ended or the first one was added. Taking the account that has been free for
 * longest lets accounts take turns.
 */
export class QueueTable {
  readonly #database: Database;
  readonly #leaseMs: number;
  readonly #accounts: string;
  readonly #jobs: string;

  constructor(database: Database, leaseMs: number) {
    this.#database = database;
    this.#leaseMs = leaseMs;
    this.#accounts = database.table('queue_accounts');
    this.#jobs = database.table('queue_jobs');
  }

  /** The channel of {@link QueueNews}, sent as JSON. */
  get channel(): string {
    return this.#database.channel('queue');
  }

  /** Adds a job, unless the queue has it already. */
  async add({ app_id, id }: QueuedJob): Promise<void> {
    const news: QueueNews = { app_id };
    await this.#database.query(
      `WITH account AS (INSERT INTO ${this.#accounts} (app_id) VALUES ($1)
           ON CONFLICT (app_id) DO UPDATE SET app_id = excluded.app_id RETURNING app_id),
         job AS (INSERT INTO ${this.#jobs} (app_id, id) SELECT app_id, $2 FROM account ON CONFLICT DO NOTHING)
       SELECT pg_notify($3, $4) FROM account`,
      [app_id, id, this.channel, JSON.stringify(news)],
      { isRepeatable: true },
    );
  }

  /** Removes a job that has not started, and notifies the process of one that has. */
  async cancel({ app_id, id }: QueuedJob): Promise<void> {
    await this.#transaction(async (query) => {
      const [account] = await query<{ has_started: boolean }>(
        `UPDATE ${this.#accounts} SET is_cancelled = is_cancelled OR job_id IS NOT DISTINCT FROM $2
         WHERE app_id = $1 RETURNING job_id IS NOT DISTINCT FROM $2 AS has_started`,
        [app_id, id],
      );
      if (account?.has_started) await this.#notify(query, { app_id, cancelled: id });
      else if (account !== undefined) await this.#remove(query, app_id, id);
    });
  }

  /**
   * Takes the lease of an account that is free, and a job to run: one that was left or whose process died, otherwise
   * the oldest.
   * @param app_id undefined for any account: one with a job that was left, otherwise the one that is free for longest.
   */
  async take(holder: string, app_id?: string): Promise<TakenJob | undefined> {
    return this.#transaction(async (query) => {
      const [account] = await query<{ app_id: string }>(
        `SELECT app_id FROM ${this.#accounts} WHERE free_from <= now() ${app_id === undefined ? '' : 'AND app_id = $1'}
         ORDER BY job_id IS NULL, free_from LIMIT 1 FOR UPDATE SKIP LOCKED`,
        app_id === undefined ? [] : [app_id],
      );
      if (account === undefined) return undefined;
      // A statement of its own: it must see the jobs as they are now that the account is locked.
      const [job] = await query<{ id: string; token: string; is_cancelled: boolean }>(
        `UPDATE ${this.#accounts} SET token = nextval('${this.#database.table('lease_tokens')}'), holder = $2,
           job_id = coalesce(job_id, (SELECT min(id) FROM ${this.#jobs} WHERE app_id = $1)), free_from = ${this.#expiry()}
         WHERE app_id = $1 RETURNING job_id AS id, token, is_cancelled`,
        [account.app_id, holder],
      );
      return job && { app_id: account.app_id, id: job.id, token: job.token, isCancelled: job.is_cancelled };
    });
  }

  /** Extends a lease. @returns whether the job was cancelled; undefined if the lease is lost. */
  async renew({ app_id, token }: TakenJob, timeoutMs: number): Promise<boolean | undefined> {
    const [lease] = await this.#database.query<{ is_cancelled: boolean }>(
      `UPDATE ${this.#accounts} SET free_from = ${this.#expiry()} WHERE app_id = $1 AND token = $2 RETURNING is_cancelled`,
      [app_id, token],
      { isRepeatable: true, timeoutMs },
    );
    return lease?.is_cancelled;
  }

  /**
   * Gives a lease up. Nothing changes if it is lost.
   * @param hasEnded whether the job leaves the queue. @param pauseMs how long no job of the account is handed out.
   */
  async release({ app_id, id, token }: TakenJob, hasEnded: boolean, pauseMs = 0): Promise<void> {
    await this.#transaction(async (query) => {
      const released = await query(
        `UPDATE ${this.#accounts} SET token = NULL, holder = NULL, free_from = now() + $3 * interval '1 millisecond',
           job_id = CASE WHEN $4 THEN NULL ELSE job_id END, is_cancelled = is_cancelled AND NOT $4
         WHERE app_id = $1 AND token = $2 RETURNING app_id`,
        [app_id, token, pauseMs, hasEnded],
      );
      if (released.length === 0) return;
      if (hasEnded) await this.#remove(query, app_id, id);
      await this.#notify(query, { app_id });
    });
  }

  /** Those of the accounts that have a job to take. */
  async waiting(accounts: readonly string[]): Promise<string[]> {
    if (accounts.length === 0) return [];
    const found = await this.#database.query<{ app_id: string }>(
      `SELECT app_id FROM ${this.#accounts} WHERE app_id = ANY($1) AND free_from <= now()`,
      [accounts],
      { isRepeatable: true },
    );
    return found.map(({ app_id }) => app_id);
  }

  /** Removes a job, and the row of its account if that was the last one. The account is locked. */
  async #remove(query: Query, app_id: string, id: string): Promise<void> {
    await query(`DELETE FROM ${this.#jobs} WHERE app_id = $1 AND id = $2`, [app_id, id]);
    await query(
      `DELETE FROM ${this.#accounts} WHERE app_id = $1 AND NOT EXISTS (SELECT FROM ${this.#jobs} WHERE app_id = $1)`,
      [app_id],
    );
  }

  #expiry(): string {
    return `now() + ${this.#leaseMs} * interval '1 millisecond'`;
  }

  async #notify(query: Query, news: QueueNews): Promise<void> {
    await query('SELECT pg_notify($1, $2)', [this.channel, JSON.stringify(news)]);
  }

  /** Runs a transaction that has the same effect when it runs twice. */
  #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { isRepeatable: true });
  }
}
