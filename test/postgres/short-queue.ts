import { setTimeout as delay } from 'node:timers/promises';
import type { JobQueue } from '../../src/jobs/index.js';
import { Database } from '../../src/postgres/index.js';
import { QueueOnPostgres, type QueueTiming, systemTimers, type Timers } from '../../src/postgres/postgres-queue.js';
import type { JobQueueMedium } from '../../src/testing.js';

/** Leases that tests can outlast, and that heartbeats keep on a busy machine all the same. */
export const SHORT: QueueTiming = {
  leaseMs: 4_000,
  heartbeatMs: 250,
  pollMs: 150,
  pauseMs: 200,
};

/** Timers that can be stopped all together, as those of a process that is suspended. */
export class StoppableTimers implements Timers {
  isStopped = false;

  stop(): void {
    this.isStopped = true;
  }

  every(ms: number, work: () => void): () => void {
    return systemTimers.every(ms, () => this.isStopped || work());
  }

  after(ms: number, work: () => void): () => void {
    return systemTimers.after(ms, () => this.isStopped || work());
  }
}

/** A database whose notifications stop with the timers. */
class SuspendedDatabase extends Database {
  readonly timers = new StoppableTimers();

  override listen(channel: string, { heard, connected }: Parameters<Database['listen']>[1]): () => void {
    const unlessStopped = (hear: () => void) => this.timers.isStopped || hear();
    return super.listen(channel, {
      heard: (payload) => unlessStopped(() => heard(payload)),
      connected: () => unlessStopped(connected),
    });
  }
}

/** A schema for one test; a queue on it for each process. */
export class ShortMedium implements JobQueueMedium {
  readonly #databases = new Map<JobQueue, SuspendedDatabase>();

  constructor(
    readonly connectionString: string,
    readonly schema: string,
  ) {}

  open(): QueueOnPostgres {
    const database = new SuspendedDatabase(this.connectionString, { schema: this.schema });
    const queue = new QueueOnPostgres(database, SHORT, database.timers);
    this.#databases.set(queue, database);
    return queue;
  }

  suspend(queue: JobQueue): void {
    this.#databases.get(queue)?.timers.stop();
  }

  async elapse(): Promise<void> {
    // Where every queue has its heartbeats, no lease can expire.
    const isAnySuspended = [...this.#databases.values()].some(({ timers }) => timers.isStopped);
    await delay((isAnySuspended ? SHORT.leaseMs : 0) + 4 * SHORT.pollMs);
  }

  async close(): Promise<void> {
    for (const queue of this.#databases.keys()) await queue.close();
  }
}
