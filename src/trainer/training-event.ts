import type { TrainingJobStatus } from '../contract/index.js';
import type { TrainingRunEvent } from '../training/index.js';

/** The job has come into a state; `at` is ISO 8601. */
export interface StateEvent {
  readonly type: 'state';
  readonly id: string;
  readonly status: TrainingJobStatus;
  readonly at: string;
}

/** What `watch` gives: the states a job comes into and what its run tells. */
export type TrainingEvent = StateEvent | (TrainingRunEvent & { readonly id: string });
