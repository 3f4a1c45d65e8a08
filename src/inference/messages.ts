import type { ErrorDescription } from '../error-description.js';
import type { Batch, BatchAnswer } from './lane.js';

/** What a pool sends to one of its worker threads. */
export type PoolMessage =
  | { readonly type: 'run'; readonly ask: number; readonly batch: Batch }
  | { readonly type: 'cancel'; readonly id: number; readonly positions: readonly number[] }
  | { readonly type: 'load'; readonly ask: number; readonly directory: string }
  | { readonly type: 'forget'; readonly directory: string }
  /** Exit once nothing runs. */
  | { readonly type: 'close' };

/** What a worker thread answers to a message that asks, by its number. */
export type WorkerMessage =
  | { readonly ask: number; readonly answer: BatchAnswer }
  | { readonly ask: number; readonly loadMs: number }
  | { readonly ask: number; readonly error: ErrorDescription };
