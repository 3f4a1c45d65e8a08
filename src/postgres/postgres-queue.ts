import { hostname } from 'node:os';
import * as z from 'zod';
import type { AnyJobHandler, JobHandler, JobWorker, QueuedJob, SharedJobQueue } from '../jobs/index.js';
import { AccountTurns } from './account-turns.js';
import type { PostgresSource } from './connection-pool.js';
import { Database, type DatabaseOptions } from './database.js';
import { whileAsking } from './database-failure.js';
import { JobLeaseTable, type TakenJob } from './job-lease-table.js';
import { QUEUE_TIMING, type QueueTiming, systemTimers, type Timers } from './queue-timing.js';
import { QueueWorker } from './queue-worker.js';

const newsSchema = z.object({ app_id: z.string(), cancelled: z.string().optional() });

/** A queue of jobs in a PostgreSQL database. */
export interface PostgresQueue extends SharedJobQueue {
  /** Makes the tables where they are missing. @throws StorageError where the database can't be used at present. */
  ready(): Promise<void>;
}

/**
 * The queue of trainers on many machines, in a PostgreSQL database: pg-boss says whose turn it is, and a table of leases
 * who runs which job and for how long. Needs the packages `pg` and `pg-boss`.
 * @param source a connection string, or a pool of pg, which stays open on close.
 * @throws RangeError for a schema that is none; StorageError for a connection string that is none.
 */
export function postgresQueue(source: PostgresSource, options: DatabaseOptions = {}): PostgresQueue {
  return new QueueOnPostgres(new Database(source, options));
}

interface Working {
  /** Undefined for all accounts. */
  readonly app_id: string | undefined;
  readonly worker: QueueWorker;
}

/** The queue over a database that it closes. */
export class QueueOnPostgres implements PostgresQueue {
  readonly specificationVersion = 1;
  readonly #database: Database;
  readonly #turns: AccountTurns;
  readonly #table: JobLeaseTable;
  readonly #timing: QueueTiming;
  readonly #timers: Timers;
  /** Of this process, for people who look into the tables. */
  readonly #holder = `${hostname()} ${process.pid}`;
  readonly #working = new Set<Working>();
  #stopLooking: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #expiredAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;

  constructor(database: Database, timing: QueueTiming = QUEUE_TIMING, timers: Timers = systemTimers) {
    this.#database = database;
    this.#timing = timing;
    this.#timers = timers;
    this.#turns = new AccountTurns(database, timing.turnMs);
    this.#table = new JobLeaseTable(database, this.#turns, timing.leaseMs);
  }

  ready(): Promise<void> {
    return whileAsking("the job queue can't be opened", async () => {
      await this.#turns.ready();
      await this.#database.query('SELECT 1', [], { isRepeatable: true });
    });
  }

  add(job: QueuedJob): Promise<void> {
    return whileAsking(`training job ${job.id} can't be queued`, () => this.#table.add(job));
  }

  async cancel(job: QueuedJob): Promise<void> {
    await whileAsking(`training job ${job.id} can't be cancelled`, () => this.#table.cancel(job));
    for (const { worker } of this.#working) worker.cancel(job.app_id, job.id);
  }

  work(app_id: string, handler: JobHandler): JobWorker {
    return this.#begin({
      app_id,
      take: () => this.#table.take(app_id, this.#holder, false),
      handle: (_, lease) => handler(lease),
      atOnce: 1,
    });
  }

  workForAll(handler: AnyJobHandler, { atOnce }: { readonly atOnce: number }): JobWorker {
    return this.#begin({ app_id: undefined, take: () => this.#takeNext(), handle: handler, atOnce });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopLooking?.();
    await Promise.all([...this.#working].map(({ worker }) => worker.close()));
    await this.#looking;
    await this.#database.close();
  }

  #begin({
    app_id,
    ...options
  }: {
    app_id: string | undefined;
    take: () => Promise<TakenJob | undefined>;
    handle: AnyJobHandler;
    atOnce: number;
  }): JobWorker {
    const closed = () => void this.#working.delete(working);
    const context = { table: this.#table, timing: this.#timing, timers: this.#timers };
    const worker = new QueueWorker({ ...context, ...options, closed });
    const working = { app_id, worker };
    this.#working.add(working);
    this.#stopLooking ??= this.#beginToLook();
    worker.wake();
    return worker;
  }

  /** The next job of whoever's turn it is. */
  async #takeNext(): Promise<TakenJob | undefined> {
    for (;;) {
      const app_id = await this.#turns.next();
      if (app_id === undefined) return undefined;
      const job = await this.#table.take(app_id, this.#holder, true);
      if (job !== undefined) return job;
    }
  }

  #beginToLook(): () => void {
    const stopListening = this.#database.listen(this.#table.channel, {
      heard: (payload) => this.#hear(payload),
      connected: () => void this.#look(),
    });
    const stopPolling = this.#timers.every(this.#timing.pollMs, () => void this.#look());
    return () => {
      stopListening();
      stopPolling();
    };
  }

  #hear(payload: string): void {
    const { app_id, cancelled } = newsSchema.parse(JSON.parse(payload));
    for (const { app_id: own, worker } of this.#working) {
      if (own !== undefined && own !== app_id) continue;
      if (cancelled === undefined) worker.wake();
      else worker.cancel(app_id, cancelled);
    }
  }

  /** Frees what dead processes held, and wakes who may find a job. Never rejects: the next look makes up for it. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookThrough()
      .catch(() => undefined)
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #lookThrough(): Promise<void> {
    await this.#table.freeExpired();
    if (performance.now() - this.#expiredAt >= this.#timing.turnMs) {
      this.#expiredAt = performance.now();
      await this.#turns.expire();
    }
    const idle = [...this.#working].filter(({ worker }) => worker.isIdle);
    const accounts = idle.flatMap(({ app_id }) => app_id ?? []);
    const waiting = new Set(await this.#table.waiting(accounts));
    for (const { app_id, worker } of idle) if (app_id === undefined || waiting.has(app_id)) worker.wake();
  }
}
