import type { ErrorDescription, TrainingStats } from '../contract/index.js';
import type { TrainingRunEvent } from './training-events.js';
import type { TrainingSpec } from './training-run.js';

/** What a host sends to its runner, in a worker thread or child process. */
export type HostMessage =
  | { readonly type: 'run'; readonly spec: TrainingSpec }
  /** Stop; the outcome is then an AbortedError. `reason` is that of the host's signal. */
  | { readonly type: 'abort'; readonly reason: unknown };

/** What the runner sends back: events while it runs, then one outcome. */
export type RunnerMessage =
  | { readonly type: 'event'; readonly event: TrainingRunEvent }
  | { readonly type: 'done'; readonly stats: TrainingStats }
  | { readonly type: 'failed'; readonly error: ErrorDescription };
