import { TrainingError } from '../../../src/contract/errors.js';
import type { Clock } from '../../../src/jobs/clock.js';
import { Trainer } from '../../../src/jobs/index.js';
import { LEASE_MS } from '../../../src/jobs/one-job-per-account.js';
import { withInternals } from '../../../src/jobs/trainer-options.js';
import { memoryStorage } from '../../../src/storage/index.js';
import { aRequest } from '../request.js';

/**
 * Creates a job while a dead process still has the account's lease, waits for the job, and says how it ended.
 * Nothing here but the waiting keeps the process alive.
 */

/** Runs ahead: at every turn of its timers, which come at once, an interval has passed. */
class HastyClock implements Clock {
  #time = 0;

  now(): number {
    return this.#time;
  }

  elapsed(): number {
    return this.#time;
  }

  every(intervalMs: number, work: () => Promise<void>): () => void {
    const timer = setInterval(() => {
      this.#time += intervalMs;
      void work();
    }, 1);
    timer.unref();
    return () => clearInterval(timer);
  }
}

const storage = memoryStorage();
const held = { holder: 'dead', expires_at: LEASE_MS, job_id: null };
await storage.write('job-leases', 'local', held, undefined);
const host = { run: () => Promise.reject(new TrainingError('no data')), close: async () => {} };
const trainer = new Trainer(withInternals({ storage, host }, { clock: new HastyClock() }));
const job = await trainer.createTrainingJob(aRequest).andThen(({ id }) => trainer.waitForTrainingJob(id));
console.log(job.isOk() ? job.value.status : job.error.message);
