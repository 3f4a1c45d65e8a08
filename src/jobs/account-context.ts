import type { Storage } from '../storage/index.js';
import type { Clock } from './clock.js';
import type { JobEvents } from './job-events.js';
import type { JobQueue } from './job-queue.js';
import type { JobRepository } from './job-repository.js';
import type { ModelUses } from './model-uses.js';

/** What the parts of a trainer share: one account's view of a storage. */
export interface AccountContext {
  readonly app_id: string;
  readonly storage: Storage;
  readonly queue: JobQueue;
  readonly clock: Clock;
  readonly jobs: JobRepository;
  readonly uses: ModelUses;
  readonly events: JobEvents;
}
