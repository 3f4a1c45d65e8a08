import type { SharedJobQueue } from '../../jobs/index.js';
import type { Storage } from '../../storage/index.js';
import type { Quota, RateLimiter, WrongKeyLimiter } from '../limiters.js';
import type { ReadinessCheck } from '../readiness.js';

/** What a service is told of its limits: the counts by account and by address. */
export interface LimitSettings {
  /** Most requests of an account. Default: no limit. */
  readonly requestsPerMinute?: number | undefined;
  /** Most inference calls of an account. Default: no limit. */
  readonly quota?: { readonly calls: number; readonly per: 'day' | 'month' } | undefined;
  /** Beyond them no key from a client's address is looked at. */
  readonly wrongKeysPerMinute: number;
}

/** What a process counts by; those that share a database count together. */
export interface Limiters {
  readonly rateLimiter?: RateLimiter;
  readonly quota?: Quota;
  readonly wrongKeyLimiter: WrongKeyLimiter;
}

/** What a service stands on: where its jobs and models are, who runs which job, what is counted. */
export interface Backend {
  readonly storage: Storage;
  /** Where uploads wait for their jobs: a folder of this machine, or the storage, for trainers of other machines. */
  readonly uploads: { readonly directory: string } | 'storage';
  /** Decides among processes which of them trains; without one, trainers of this process run all jobs. */
  readonly queue?: SharedJobQueue;
  limiters(settings: LimitSettings): Limiters;
  /** Removes what is counted of an account. */
  forget(app_id: string): Promise<void>;
  readonly checks: readonly ReadinessCheck[];
  close(): Promise<void>;
}
