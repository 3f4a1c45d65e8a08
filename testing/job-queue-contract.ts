import assert from 'node:assert/strict';
import { v7 as uuidV7 } from 'uuid';
import type { JobHandler, JobLease, JobOutcome, JobQueue, JobWorker, QueuedJob } from '../src/jobs/index.js';
import type { ContractCase } from './contract-case.js';

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
interface HandedJob {
  readonly lease: JobLease;
  /** Whether its signal had fired when it was handed out. */
  readonly wasStopped: boolean;
  end(outcome: JobOutcome): void;
  fail(error: Error): void;
}

/** A handler for any number of workers. It returns when its signal fires, unless `obeys` is false. */
class Hands {
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

const ACCOUNT = 'my account / 1';

function aJob(app_id = ACCOUNT): QueuedJob {
  return { app_id, id: uuidV7() };
}

interface WorkerInTest {
  readonly queue: JobQueue;
  readonly worker: JobWorker;
  readonly hands: Hands;
}

/** A worker of the account, on a queue of its own. */
async function aWorker(medium: JobQueueMedium, hands = new Hands()): Promise<WorkerInTest> {
  const queue = await medium.open();
  return { queue, worker: queue.work(ACCOUNT, hands.handler), hands };
}

/** A job in the hands of a worker whose process has died, or was suspended. */
async function aSuspendedJob(medium: JobQueueMedium): Promise<WorkerInTest & HandedJob> {
  const suspended = await aWorker(medium);
  await suspended.queue.add(aJob());
  const handed = await suspended.hands.next();
  await medium.suspend(suspended.queue);
  return { ...suspended, ...handed };
}

function aborted({ signal }: JobLease): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
}

/** The checks of one part of the contract, each under the sentence that it checks. */
type JobQueueChecks = Readonly<Record<string, (medium: JobQueueMedium) => Promise<void>>>;

/** A new medium with nothing in it. */
export type CreateJobQueueMedium = () => JobQueueMedium | Promise<JobQueueMedium>;

/**
 * What every `JobQueue` must do, as tests for any runner:
 * ```ts
 * for (const { name, run } of jobQueueContract(() => myMedium())) it(name, run);
 * ```
 */
export function jobQueueContract(create: CreateJobQueueMedium): readonly ContractCase[] {
  return Object.entries(promises).map(([name, check]) => ({
    name,
    run: async () => {
      const medium = await create();
      try {
        await check(medium);
      } finally {
        await medium.close();
      }
    },
  }));
}

const handingOut: JobQueueChecks = {
  'has specification version 1': async (medium) => {
    assert.equal((await medium.open()).specificationVersion, 1);
  },

  'hands a job that is added to a worker of its account, and to no other': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const other = new Hands();
    queue.work('another', other.handler);
    const job = aJob();
    await queue.add(job);
    const { lease } = await hands.next();
    assert.equal(lease.id, job.id);
    assert.equal(lease.signal.aborted, false);
    assert.equal(lease.stopReason, undefined);
    await medium.elapse();
    assert.equal(await lease.renew(), true);
    assert.deepEqual(other.ids, []);
  },

  'hands out what was added before there was a worker, also by another queue': async (medium) => {
    const job = aJob();
    await (await medium.open()).add(job);
    const { hands } = await aWorker(medium);
    assert.equal((await hands.next()).lease.id, job.id);
  },

  'hands out what another queue adds while a worker has nothing to do': async (medium) => {
    const { hands } = await aWorker(medium);
    await medium.elapse();
    const job = aJob();
    await (await medium.open()).add(job);
    await medium.elapse();
    assert.equal((await hands.next()).lease.id, job.id);
  },

  'hands out the jobs of an account one at a time over all queues, the oldest first': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const { queue: other } = await aWorker(medium, hands);
    const jobs = [aJob(), aJob(), aJob(), aJob()];
    for (const [index, job] of jobs.entries()) await (index % 2 === 0 ? queue : other).add(job);
    const ids = jobs.map(({ id }) => id);
    for (const index of ids.keys()) {
      const { end } = await hands.next();
      await medium.elapse();
      assert.deepEqual(hands.ids, ids.slice(0, index + 1));
      end('ended');
      await medium.elapse();
    }
  },

  'hands out jobs of two accounts at the same time': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const other = new Hands();
    queue.work('another', other.handler);
    await queue.add(aJob());
    await queue.add(aJob('another'));
    await hands.next();
    await other.next();
  },

  'hands out the next job when one has ended, at once if the same queue added it': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const jobs = [aJob(), aJob()];
    for (const job of jobs) await queue.add(job);
    (await hands.next()).end('ended');
    assert.equal((await hands.next()).lease.id, jobs[1]?.id);
  },

  'hands out a job once, even if it is added twice': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const job = aJob();
    await queue.add(job);
    const { end } = await hands.next();
    await queue.add(job);
    end('ended');
    await medium.elapse();
    assert.deepEqual(hands.ids, [job.id]);
  },

  'hands out again what a handler leaves or fails at, before other jobs': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const job = aJob();
    await queue.add(job);
    await queue.add(aJob());
    const { end } = await hands.next();
    end('left');
    await medium.elapse();
    const { fail } = await hands.next();
    fail(new Error('the disk is full'));
    await medium.elapse();
    assert.equal((await hands.next()).lease.id, job.id);
  },
};

const cancelling: JobQueueChecks = {
  'never hands out a job that was cancelled while it waited': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const jobs = [aJob(), aJob(), aJob()];
    for (const job of jobs) await queue.add(job);
    const { end } = await hands.next();
    await (await medium.open()).cancel(jobs[1] ?? aJob());
    end('ended');
    assert.equal((await hands.next()).lease.id, jobs[2]?.id);
  },

  'stops the handler of a job that is cancelled': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const job = aJob();
    await queue.add(job);
    const { lease } = await hands.next();
    await queue.cancel(job);
    await aborted(lease);
    assert.equal(lease.stopReason, 'cancelled');
    await medium.elapse();
    assert.deepEqual(hands.ids, [job.id]);
  },

  'stops the handler of a job that another queue cancels': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const job = aJob();
    await queue.add(job);
    const { lease } = await hands.next();
    await (await medium.open()).cancel(job);
    await medium.elapse();
    await aborted(lease);
    assert.equal(lease.stopReason, 'cancelled');
  },

  'hands out a job that is cancelled after its process died, to be stopped at once': async (medium) => {
    const { lease } = await aSuspendedJob(medium);
    const { queue, hands } = await aWorker(medium);
    await queue.cancel({ app_id: ACCOUNT, id: lease.id });
    await medium.elapse();
    const again = await hands.next();
    assert.equal(again.lease.id, lease.id);
    assert.equal(again.wasStopped, true);
    assert.equal(again.lease.stopReason, 'cancelled');
    await medium.elapse();
    assert.equal(hands.ids.length, 1);
  },

  'cancels without an error a job that is not there, or has ended': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    await queue.cancel(aJob());
    const job = aJob();
    await queue.add(job);
    (await hands.next()).end('ended');
    await medium.elapse();
    await queue.cancel(job);
    await medium.elapse();
    assert.deepEqual(hands.ids, [job.id]);
  },
};

const passingOn: JobQueueChecks = {
  'hands what a dead process ran to another, before older jobs': async (medium) => {
    const older = aJob();
    const { lease } = await aSuspendedJob(medium);
    const { queue, hands } = await aWorker(medium);
    await queue.add(older);
    await medium.elapse();
    const { lease: taken, end } = await hands.next();
    assert.equal(taken.id, lease.id);
    assert.equal(taken.signal.aborted, false);
    end('ended');
    assert.equal((await hands.next()).lease.id, older.id);
  },

  'tells a handler that was suspended that it lost its lease': async (medium) => {
    const { lease, end, hands: suspended } = await aSuspendedJob(medium);
    const { hands } = await aWorker(medium);
    await medium.elapse();
    const { lease: taken } = await hands.next();
    assert.equal(await lease.renew(), false);
    assert.equal(lease.signal.aborted, true);
    assert.equal(lease.stopReason, 'lost');
    end('left');
    await medium.elapse();
    assert.equal(await taken.renew(), true);
    assert.equal(suspended.ids.length, 1);
  },

  'tells a handler that it lost its lease, even if it was to stop already': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    hands.obeys = false;
    const job = aJob();
    await queue.add(job);
    const { lease, end } = await hands.next();
    await queue.cancel(job);
    await aborted(lease);
    await medium.suspend(queue);
    const { hands: others } = await aWorker(medium);
    await medium.elapse();
    await others.next();
    assert.equal(await lease.renew(), false);
    assert.equal(lease.stopReason, 'lost');
    end('left');
  },

  'stops the handler of a worker that closes, and waits for it': async (medium) => {
    const { queue, worker, hands } = await aWorker(medium);
    hands.obeys = false;
    await queue.add(aJob());
    await queue.add(aJob());
    const { lease, end } = await hands.next();
    let isClosed = false;
    const closing = worker.close().then(() => {
      isClosed = true;
    });
    await aborted(lease);
    assert.equal(lease.stopReason, 'closing');
    assert.equal(await lease.renew(), true);
    assert.equal(isClosed, false);
    end('left');
    await closing;
    await worker.close();
    await medium.elapse();
    assert.equal(hands.ids.length, 1);
  },

  'hands what a closed worker left to another at once, and then what waits': async (medium) => {
    const { queue, worker, hands } = await aWorker(medium);
    const jobs = [aJob(), aJob()];
    for (const job of jobs) await queue.add(job);
    await hands.next();
    await worker.close();
    const next = await aWorker(medium);
    const { lease, end } = await next.hands.next();
    assert.equal(lease.id, jobs[0]?.id);
    end('ended');
    assert.equal((await next.hands.next()).lease.id, jobs[1]?.id);
  },

  'forgets a job that ends while its worker closes': async (medium) => {
    const { queue, worker, hands } = await aWorker(medium);
    hands.obeys = false;
    await queue.add(aJob());
    const { end } = await hands.next();
    const closing = worker.close();
    end('ended');
    await closing;
    const next = await aWorker(medium);
    await medium.elapse();
    assert.deepEqual(next.hands.ids, []);
  },

  'closes its workers and keeps its jobs; can be closed twice': async (medium) => {
    const { queue, hands } = await aWorker(medium);
    const job = aJob();
    await queue.add(job);
    const { lease } = await hands.next();
    await queue.close();
    assert.equal(lease.stopReason, 'closing');
    await queue.close();
    const next = await aWorker(medium);
    assert.equal((await next.hands.next()).lease.id, job.id);
  },
};

const promises: JobQueueChecks = { ...handingOut, ...cancelling, ...passingOn };
