import { hostname } from 'node:os';
import * as z from 'zod';
import type { AnyJobHandler, JobHandler, JobWorker, QueuedJob, SharedJobQueue } from '../jobs/index.js';
import { whileAsking } from './connection-errors.js';
import { Database, type DatabaseOptions, type PostgresSource } from './database.js';
import { QueueTable } from './queue-table.js';
import {
  QUEUE_TIMING,
  type QueueContext,
  type QueueTiming,
  QueueWorker,
  type QueueWorkerOptions,
  systemTimers,
  type Timers,
} from './queue-worker.js';

const newsSchema = z.object({ app_id: z.string(), cancelled: z.string().optional() });

/** A queue of jobs in a PostgreSQL database. */
export interface PostgresQueue extends SharedJobQueue {
  /** Makes the tables if they are missing. @throws StorageError if the database can't be used at present. */
  ready(): Promise<void>;
}

/**
 * The queue of trainers on many machines, in a PostgreSQL database. Needs the package `pg`.
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
    await whileAsking("the job queue can't be opened", () =>
      this.#database.query('SELECT 1', [], { isRepeatable: true }),
    );
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
    const { app_id, cancelled } = newsSchema.parse(JSON.parse(payload));
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
