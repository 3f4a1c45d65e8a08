import { hostname } from 'node:os';
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';
import * as z from 'zod';
import {
  type AnyJobHandler,
  type JobHandler,
  type JobLease,
  type JobOutcome,
  JobStop,
  type JobWorker,
  type QueuedJob,
  type SharedJobQueue,
} from '../jobs/index.js';
import { whileAsking, withinTime } from './connection-errors.js';
import { Database, type DatabaseOptions, type PostgresSource, type Query } from './database.js';

/** A job that was handed out, with the lease of its account. */
interface TakenJob extends QueuedJob {
  /** Fences the lease: no two leases of a database have the same token. */
  readonly token: string;
  /** Whether the job was cancelled after its previous process died, so that the handler must stop at once. */
  readonly isCancelled: boolean;
}

/**
 * The jobs of each account, and the lease of the process that runs one of them, by the database's clock.
 *
 * An account has a row while it has jobs. Every change locks that row first, so the changes of one account come one
 * after the other. `free_from` says when a process may take a job of the account: at the end of the lease while a job
 * runs, otherwise when the last job ended or the first one was added. Taking the account that has been free for
 * longest lets accounts take turns.
 */
class QueueTable {
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

  get channel(): string {
    return this.#database.channel('queue');
  }

  async add({ app_id, id }: QueuedJob): Promise<void> {
    await this.#database.query(
      `WITH account AS (INSERT INTO ${this.#accounts} (app_id) VALUES ($1)
           ON CONFLICT (app_id) DO UPDATE SET app_id = excluded.app_id RETURNING app_id),
         job AS (INSERT INTO ${this.#jobs} (app_id, id) SELECT app_id, $2 FROM account ON CONFLICT DO NOTHING)
       SELECT pg_notify($3, $4) FROM account`,
      [app_id, id, this.channel, JSON.stringify({ app_id })],
      { isRepeatable: true },
    );
  }

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

  async waiting(accounts: readonly string[]): Promise<string[]> {
    if (accounts.length === 0) return [];
    const found = await this.#database.query<{ app_id: string }>(
      `SELECT app_id FROM ${this.#accounts} WHERE app_id = ANY($1) AND free_from <= now()`,
      [accounts],
      { isRepeatable: true },
    );
    return found.map(({ app_id }) => app_id);
  }

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

  async #notify(query: Query, news: z.infer<typeof newsSchema>): Promise<void> {
    await query('SELECT pg_notify($1, $2)', [this.channel, JSON.stringify(news)]);
  }

  /** Runs a transaction that has the same effect when it runs twice. */
  #transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { isRepeatable: true });
  }
}

/** The times of a PostgreSQL queue; tests shorten them. */
export interface QueueTiming {
  /** How long a lease lasts unless it is extended, by the database's clock. */
  readonly leaseMs: number;
  /** How often a lease is extended. The holder considers it lost this long before the database does. */
  readonly heartbeatMs: number;
  /** How often idle workers look for jobs; notifications are immediate, but may be lost. */
  readonly pollMs: number;
  /** How long an account waits after its job failed. */
  readonly pauseMs: number;
}

export const QUEUE_TIMING: QueueTiming = { leaseMs: 30_000, heartbeatMs: 5_000, pollMs: 2_000, pauseMs: 5_000 };

/** Timers that don't keep the process alive; each call returns what stops it. Tests pass ones that stall. */
export interface Timers {
  every(ms: number, work: () => void): () => void;
  after(ms: number, work: () => void): () => void;
}

export const systemTimers: Timers = {
  every(ms, work) {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
  after(ms, work) {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};

interface QueueContext {
  readonly table: QueueTable;
  readonly timing: QueueTiming;
  readonly timers: Timers;
  readonly holder: string;
}

interface QueueWorkerOptions {
  readonly app_id?: string;
  readonly handle: (app_id: string, lease: JobLease) => Promise<JobOutcome>;
  readonly atOnce: number;
  readonly onClose: () => void;
}

/** Takes jobs when it is woken, hands them to the handler, and releases their leases. */
class QueueWorker implements JobWorker {
  readonly app_id: string | undefined;
  readonly #context: QueueContext;
  readonly #options: QueueWorkerOptions;
  readonly #leases = new Map<QueueLease, Promise<void>>();
  #filling: Promise<void> | undefined;
  #hasNews = false;
  #isClosed = false;

  constructor(context: QueueContext, options: QueueWorkerOptions) {
    this.app_id = options.app_id;
    this.#context = context;
    this.#options = options;
  }

  get isIdle(): boolean {
    return !this.#isClosed && this.#leases.size < this.#options.atOnce;
  }

  /** Looks for jobs, in the background. If that fails, the next call tries again. */
  wake(): void {
    this.#hasNews = true;
    if (this.#filling !== undefined || !this.isIdle) return;
    this.#filling = this.#fill()
      .catch(() => undefined)
      .finally(() => {
        this.#filling = undefined;
        if (this.#hasNews && this.isIdle) this.wake();
      });
  }

  cancel(app_id: string, id: string): void {
    for (const lease of this.#leases.keys()) {
      if (lease.id === id && lease.job.app_id === app_id) lease.stop('cancelled');
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lease of this.#leases.keys()) lease.stop('closing');
    await this.#filling;
    await Promise.all(this.#leases.values());
    this.#options.onClose();
  }

  async #fill(): Promise<void> {
    const { table, holder } = this.#context;
    while (this.isIdle) {
      this.#hasNews = false;
      const takenAt = performance.now();
      const job = await table.take(holder, this.app_id);
      if (job === undefined) return;
      const lease = new QueueLease(job, takenAt, this.#context);
      const running = this.#run(lease).finally(() => {
        this.#leases.delete(lease);
        this.wake();
      });
      this.#leases.set(lease, running);
    }
  }

  async #run(lease: QueueLease): Promise<void> {
    const { handle } = this.#options;
    const outcome = this.#isClosed ? 'left' : await handle(lease.job.app_id, lease).catch(() => 'left');
    lease.isGivenUp = true;
    await this.#release(lease, outcome === 'ended');
    lease.end();
  }

  /** Tries until it succeeds, the lease is lost, or the worker closes. */
  async #release(lease: QueueLease, hasEnded: boolean): Promise<void> {
    const { table, timing, timers } = this.#context;
    for (;;) {
      // A handler that failed would fail again at once; one that was stopped needs no pause.
      const isPaused = !hasEnded && !this.#isClosed && lease.stopReason === undefined;
      try {
        await table.release(lease.job, hasEnded, isPaused ? timing.pauseMs : 0);
        return;
      } catch {
        if (this.#isClosed || lease.stopReason === 'lost') return; // it expires
      }
      await new Promise<void>((resolve) => timers.after(timing.pollMs, resolve));
    }
  }
}

/**
 * The lease of a running job, with the heartbeats that extend it. If they fail, it counts as lost one heartbeat before
 * the database lets another process have the job, by a monotonic clock.
 */
class QueueLease extends JobStop implements JobLease {
  readonly job: TakenJob;
  /** Whether the handler is over, so that a heartbeat on its way may find the lease released. */
  isGivenUp = false;
  readonly #context: QueueContext;
  readonly #stopHeartbeats: () => void;
  #stopExpiry: () => void = () => undefined;
  #renewedAt: number;

  /** @param takenAt by `performance.now()`, before the job was taken. */
  constructor(job: TakenJob, takenAt: number, context: QueueContext) {
    super();
    this.job = job;
    this.#context = context;
    this.#renewedAt = takenAt;
    if (job.isCancelled) this.stop('cancelled');
    this.#scheduleExpiry();
    this.#stopHeartbeats = context.timers.every(context.timing.heartbeatMs, () => void this.renew());
  }

  get id(): string {
    return this.job.id;
  }

  async renew(): Promise<boolean> {
    const sentAt = performance.now();
    const timeoutMs = Math.max(1, this.#remainingMs());
    try {
      const isCancelled = await withinTime(this.#context.table.renew(this.job, timeoutMs), timeoutMs);
      if (isCancelled === undefined) {
        if (!this.isGivenUp) this.stop('lost');
      } else if (sentAt > this.#renewedAt) {
        this.#renewedAt = sentAt;
        this.#scheduleExpiry();
      }
      if (isCancelled) this.stop('cancelled');
    } catch {
      // The lease holds until it expires.
    }
    if (this.#remainingMs() <= 0) this.stop('lost');
    return this.stopReason !== 'lost';
  }

  end(): void {
    this.#stopHeartbeats();
    this.#stopExpiry();
  }

  #remainingMs(): number {
    const { leaseMs, heartbeatMs } = this.#context.timing;
    return this.#renewedAt + leaseMs - heartbeatMs - performance.now();
  }

  #scheduleExpiry(): void {
    this.#stopExpiry();
    this.#stopExpiry = this.#context.timers.after(Math.max(0, this.#remainingMs()), () => this.stop('lost'));
  }
}

/** A notification, as JSON: an account may have a job to run, or the job that runs was cancelled. */
const newsSchema = z.object({ app_id: z.string(), cancelled: z.string().exactOptional() });

/** @returns undefined for what another release or program has sent: a channel is open to every user of the database. */
function newsIn(payload: string): z.infer<typeof newsSchema> | undefined {
  try {
    return newsSchema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}

/** A queue of jobs in a PostgreSQL database. */
export interface PostgresQueue extends SharedJobQueue {
  /** Creates the tables if they are missing. @throws StorageError if the database can't be used at present. */
  ready(): Promise<void>;
}

/**
 * Creates a job queue in a PostgreSQL database, for trainers on any number of machines. Requires the package `pg`.
 * @param source a connection string, or a pool of pg, which stays open on close.
 * @throws RangeError for an invalid schema name; StorageError for an invalid connection string.
 */
export function postgresQueue(source: PostgresSource, options: DatabaseOptions = {}): PostgresQueue {
  return new QueueOnPostgres(new Database(source, options));
}

/** The queue over a database, which it closes. */
export class QueueOnPostgres implements PostgresQueue {
  readonly specificationVersion = 1;
  readonly #database: Database;
  readonly #context: QueueContext;
  readonly #workers = new Set<QueueWorker>();
  #stopPolling: (() => void) | undefined;
  #polling: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(database: Database, timing: QueueTiming = QUEUE_TIMING, timers: Timers = systemTimers) {
    this.#database = database;
    const table = new QueueTable(database, timing.leaseMs);
    this.#context = { table, timing, timers, holder: `${hostname()} ${process.pid}` };
  }

  async ready(): Promise<void> {
    const ask = () => this.#database.query('SELECT 1', [], { isRepeatable: true });
    await whileAsking("the job queue can't be opened", ask);
  }

  add(job: QueuedJob): Promise<void> {
    return whileAsking(`training job ${job.id} can't be queued`, () => this.#context.table.add(job));
  }

  async cancel(job: QueuedJob): Promise<void> {
    await whileAsking(`training job ${job.id} can't be cancelled`, () => this.#context.table.cancel(job));
    for (const worker of this.#workers) worker.cancel(job.app_id, job.id);
  }

  work(app_id: string, handler: JobHandler): JobWorker {
    return this.#begin({ app_id, handle: (_, lease) => handler(lease), atOnce: 1 });
  }

  workForAll(handler: AnyJobHandler, { atOnce }: { readonly atOnce: number }): JobWorker {
    return this.#begin({ handle: handler, atOnce });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopPolling?.();
    await Promise.all([...this.#workers].map((worker) => worker.close()));
    await this.#polling;
    await this.#database.close();
  }

  #begin(options: Omit<QueueWorkerOptions, 'onClose'>): JobWorker {
    const onClose = () => void this.#workers.delete(worker);
    const worker = new QueueWorker(this.#context, { ...options, onClose });
    this.#workers.add(worker);
    this.#stopPolling ??= this.#startPolling();
    worker.wake();
    return worker;
  }

  #startPolling(): () => void {
    const { table, timing, timers } = this.#context;
    const stopListening = this.#database.listen(table.channel, {
      heard: (payload) => this.#hear(payload),
      connected: () => this.#poll(),
    });
    const stopTimer = timers.every(timing.pollMs, () => this.#poll());
    return () => {
      stopListening();
      stopTimer();
    };
  }

  #hear(payload: string): void {
    const { app_id, cancelled } = newsIn(payload) ?? {};
    if (app_id === undefined) this.#poll();
    else this.#tell(app_id, cancelled);
  }

  #tell(app_id: string, cancelled: string | undefined): void {
    for (const worker of this.#workers) {
      if (cancelled !== undefined) worker.cancel(app_id, cancelled);
      else if (worker.app_id === undefined || worker.app_id === app_id) worker.wake();
    }
  }

  /** Wakes idle workers that may find a job. If it fails, the next poll makes up for it. */
  #poll(): void {
    this.#polling ??= this.#wakeIdle()
      .catch(() => undefined)
      .finally(() => {
        this.#polling = undefined;
      });
  }

  async #wakeIdle(): Promise<void> {
    const idle = [...this.#workers].filter(({ isIdle }) => isIdle);
    const accounts = idle.flatMap(({ app_id }) => app_id ?? []);
    const waiting = new Set(await this.#context.table.waiting(accounts));
    for (const worker of idle) {
      if (worker.app_id === undefined || waiting.has(worker.app_id)) worker.wake();
    }
  }
}
