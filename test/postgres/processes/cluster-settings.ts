import type { QueueTiming } from '../../../src/postgres/postgres-queue.js';

/** The settings of each process of a cluster, as JSON. */
export interface ClusterSettings {
  readonly connectionString: string;
  readonly schema: string;
  /** Where it keeps copies of models, and what it trains. */
  readonly cache: string;
  readonly timing: QueueTiming;
  /** The folder with the backbone that jobs start from. */
  readonly models: string;
}
