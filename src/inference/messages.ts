import type { ErrorDescription } from '../errors.js';
import type { Predictions } from './inference-service.js';

/** What the pool sends to a worker. */
export type PoolMessage =
  | {
      readonly type: 'predict';
      readonly id: number;
      readonly directory: string;
      readonly texts: readonly string[];
    }
  | { readonly type: 'forget'; readonly directory: string }
  /** Exit once nothing runs. */
  | { readonly type: 'close' };

/** What a worker answers to a predict message, by its id. */
export type WorkerMessage =
  | { readonly id: number; readonly predictions: Predictions }
  | { readonly id: number; readonly error: ErrorDescription };
