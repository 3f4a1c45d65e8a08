import { v7 as uuidV7 } from 'uuid';
import type { JobHandler, JobLease, JobOutcome, JobQueue, JobWorker, QueuedJob } from './job-queue.js';

/** What processes with the same kind of job queue share, for one test. */
export interface JobQueueMedium {
  /** Opens one more queue on this medium, as another process would. */
  open(): JobQueue | Promise<JobQueue>;
  /** Ends the heartbeats and the polling of a queue, as if its process had died or were suspended. */
  suspend(queue: JobQueue): void | Promise<void>;
  /**
   * Resolves once leases without heartbeats have expired and every other queue has polled since; in real time
   * if there is no other way.
   */
  elapse(): Promise<void>;
  /** Closes its queues and clears the medium. */
  close(): Promise<void>;
}

/** A job that was handed to a handler, which then ends as the test says. */
export interface HandedJob {
  readonly lease: JobLease;
  /** Whether its signal had fired when it was handed out. */
  readonly wasStopped: boolean;
  end(outcome: JobOutcome): void;
  fail(error: Error): void;
}

/** A handler for any number of workers. It returns when its signal fires, unless `obeys` is false. */
export class Hands {
  /** The ids of all jobs that were ever handed out. */
  readonly ids: string[] = [];
  /** Whether it returns when its signal fires. */
  obeys = true;
  readonly #handed: HandedJob[] = [];
  #wake: (() => void) | undefined;

  readonly handler: JobHandler = (lease) =>
    new Promise((resolve, reject) => {
      this.ids.push(lease.id);
      this.#handed.push({ lease, wasStopped: lease.signal.aborted, end: resolve, fail: reject });
      const stop = () => this.obeys && resolve(lease.stopReason === 'cancelled' ? 'ended' : 'left');
      if (lease.signal.aborted) stop();
      lease.signal.addEventListener('abort', stop);
      this.#wake?.();
    });

  /** The next job that is handed out, each once. */
  async next(): Promise<HandedJob> {
    for (;;) {
      const job = this.#handed.shift();
      if (job !== undefined) return job;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export const ACCOUNT = 'my account / 1';

export function aJob(app_id = ACCOUNT): QueuedJob {
  return { app_id, id: uuidV7() };
}

export interface WorkerInTest {
  readonly queue: JobQueue;
  readonly worker: JobWorker;
  readonly hands: Hands;
}

/** A worker of the account, on a queue of its own. */
export async function aWorker(medium: JobQueueMedium, hands = new Hands()): Promise<WorkerInTest> {
  const queue = await medium.open();
  return { queue, worker: queue.work(ACCOUNT, hands.handler), hands };
}

/** A job in the hands of a worker whose process has died, or was suspended. */
export async function aSuspendedJob(medium: JobQueueMedium): Promise<WorkerInTest & HandedJob> {
  const suspended = await aWorker(medium);
  await suspended.queue.add(aJob());
  const handed = await suspended.hands.next();
  await medium.suspend(suspended.queue);
  return { ...suspended, ...handed };
}

export function aborted({ signal }: JobLease): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
}

/** The checks of one part of the contract, each under the sentence that it checks. */
export type JobQueueChecks = Readonly<Record<string, (medium: JobQueueMedium) => Promise<void>>>;
