import type * as z from 'zod';
import type { detailSchema, jobSchema } from './schemas.js';

/** How far a running job is. Times are milliseconds. */
export interface JobProgress {
  /** What it is busy with: download, read, prepare, train, evaluate, export. */
  readonly phase: string;
  /** Share of the whole job that is done, 0 to 1. */
  readonly fraction: number;
  /** Epochs completed and planned. */
  readonly epoch: number;
  readonly epochs: number;
  /** Optimizer steps taken and planned. */
  readonly step: number;
  readonly steps: number;
  /** Mean training loss since the epoch began; absent before the first step. */
  readonly loss?: number;
  /** Estimate of the time still needed; absent until there is something to estimate from. */
  readonly remaining_ms?: number;
}

/**
 * What a watched job's stream tells. `job` is the job information with all figures so far: it comes first, and
 * again whenever something of it changes. `failed` is the last event where the job can't be watched further.
 */
export type JobStreamEvent =
  | { readonly event: 'job'; readonly data: z.infer<typeof jobSchema> }
  | { readonly event: 'progress'; readonly data: JobProgress }
  | { readonly event: 'failed'; readonly data: z.infer<typeof detailSchema> };
