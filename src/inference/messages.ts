import type { ErrorDescription } from '../contract/index.js';
import type { LaneOptions } from './inline-lane.js';
import type { Batch, BatchAnswer, Loaded } from './lane.js';

/** What a worker thread starts with. */
export interface WorkerSettings extends LaneOptions {
  /** Where it counts the calls of ONNX Runtime under way. */
  readonly nativeCalls: Int32Array;
}

/** What a pool sends to one of its worker threads. */
export type PoolMessage =
  | { readonly type: 'run'; readonly ask: number; readonly batch: Batch }
  | { readonly type: 'resume'; readonly ask: number; readonly id: number; readonly alone: boolean }
  | { readonly type: 'cancel'; readonly id: number; readonly positions: readonly number[] }
  | { readonly type: 'load'; readonly ask: number; readonly directory: string }
  | { readonly type: 'forget'; readonly directory: string }
  /** Exit once nothing runs. */
  | { readonly type: 'close' };

/** What a worker thread answers to a message that asks, by its number. */
export type WorkerMessage =
  | { readonly ask: number; readonly answer: BatchAnswer }
  | { readonly ask: number; readonly loaded: Loaded }
  | { readonly ask: number; readonly error: ErrorDescription };
