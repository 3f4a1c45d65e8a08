import { describe, it } from 'vitest';
import type { JobQueue } from '../../src/jobs/index.js';
import { memoryStorage } from '../../src/storage/index.js';
import { type CreateStorage, type JobQueueMedium, jobQueueContract } from '../../src/testing.js';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/trainer/account-lease.js';
import { EmbeddedQueue } from '../../src/trainer/embedded-queue.js';
import { temporaryFileStorage } from '../storage/temporary-place.js';
import { ManualClock } from './manual-clock.js';

/** A storage, and for each queue on it a clock that the suite advances while the queue lives. */
async function aMedium(createStorage: CreateStorage): Promise<JobQueueMedium> {
  const storage = await createStorage();
  const clocks = new Map<JobQueue, ManualClock>();
  const queues: JobQueue[] = [];
  let elapsedMs = 0;
  return {
    open() {
      const clock = new ManualClock();
      clock.jump(elapsedMs);
      const queue = new EmbeddedQueue(storage, clock);
      clocks.set(queue, clock);
      queues.push(queue);
      return queue;
    },
    suspend: (queue) => void clocks.delete(queue),
    async elapse() {
      for (let passedMs = 0; passedMs <= LEASE_MS; passedMs += HEARTBEAT_MS) {
        for (const clock of clocks.values()) await clock.advance(HEARTBEAT_MS);
        elapsedMs += HEARTBEAT_MS;
      }
    },
    async close() {
      for (const queue of queues) await queue.close();
      await storage.close();
    },
  };
}

describe.each([
  ['memoryStorage', memoryStorage],
  ['fileStorage', temporaryFileStorage],
])('the embedded queue over %s', (_, createStorage) => {
  for (const { name, run } of jobQueueContract(() => aMedium(createStorage))) it(name, run);
});
