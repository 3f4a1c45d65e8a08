import { describe, expect, it, onTestFinished } from 'vitest';
import { EmbeddedQueue } from '../../src/jobs/embedded-queue.js';
import { JobRepository } from '../../src/jobs/index.js';
import { LASTING_MS, LastingTrouble } from '../../src/jobs/job-events.js';
import { JobStop, type StopReason } from '../../src/jobs/job-queue.js';
import { aMemoryStorage } from './builders.js';
import { ManualClock } from './manual-clock.js';
import { aJob, app_id } from './some-jobs.js';

function aTrouble() {
  const clock = new ManualClock();
  const told: unknown[] = [];
  return { clock, told, trouble: new LastingTrouble(clock, (error) => told.push(error)) };
}

describe('trouble in the background', () => {
  it('is told with each failure, once the task has failed for half a minute', () => {
    const { clock, told, trouble } = aTrouble();
    trouble.failed('queue', 'at once');
    clock.jump(LASTING_MS - 1);
    trouble.failed('queue', 'after less');
    expect(told).toEqual([]);
    clock.jump(1);
    trouble.failed('queue', 'after half a minute');
    trouble.failed('queue', 'and again');
    expect(told).toEqual(['after half a minute', 'and again']);
  });

  it('is over with a success of the same task, not of another', () => {
    const { clock, told, trouble } = aTrouble();
    trouble.failed('queue', 1);
    trouble.failed('jobs', 2);
    clock.jump(LASTING_MS);
    trouble.succeeded('queue');
    trouble.failed('queue', 3);
    trouble.failed('jobs', 4);
    expect(told).toEqual([4]);
  });
});

describe('the embedded queue', () => {
  it('has no trouble where jobs end and nothing is left to do', async () => {
    const { clock, told, trouble } = aTrouble();
    const storage = aMemoryStorage();
    const jobs = new JobRepository(storage, app_id);
    const queue = new EmbeddedQueue(storage, clock, trouble);
    for (const n of [1, 2, 3]) {
      await jobs.create(aJob(n, 'QUEUED'));
      const ended = new Promise<void>((resolve) => {
        const worker = queue.work(app_id, async ({ id }) => {
          await jobs.update(id, (job) => ({ ...job, status: 'READY' }));
          resolve();
          return 'ended';
        });
        onTestFinished(() => worker.close());
      });
      await ended;
      await queue.close();
      clock.jump(LASTING_MS);
    }
    expect(told).toEqual([]);
  });
});

describe('the reason why a job stops', () => {
  it.each<[StopReason[], StopReason | undefined]>([
    [[], undefined],
    [['cancelled', 'closing'], 'cancelled'],
    [['closing', 'cancelled'], 'closing'],
    [['cancelled', 'lost'], 'lost'],
    [['lost', 'closing'], 'lost'],
  ])('is, of %j, %s', (reasons, expected) => {
    const stop = new JobStop();
    for (const reason of reasons) stop.stop(reason);
    expect(stop.stopReason).toBe(expected);
    expect(stop.signal.aborted).toBe(reasons.length > 0);
  });
});
