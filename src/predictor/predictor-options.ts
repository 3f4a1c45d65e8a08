import type { Account } from '../contract/index.js';
import type { Storage } from '../storage/index.js';

export interface PredictorOptions {
  /** Where the models are: the storage of the Trainer that made them. */
  readonly storage: Storage;
  /** Whose models these are. Default: the local account, of tier pro. */
  readonly account?: Account;
  /** `worker` (default): worker threads. `inline`: the calling thread, which each run then blocks. */
  readonly isolation?: 'worker' | 'inline';
  /** Worker threads; each loads the models that it is asked for, and idle ones share the texts of a batch. Default 1. */
  readonly workers?: number;
  /** Threads that one run may use. Default 1, the fastest for short texts on small models. */
  readonly threads?: number;
  /** Bound on the loaded models' graph files together, in bytes. Default 1 GiB. */
  readonly maxModelBytes?: number;
}

export const DEFAULT_MAX_MODEL_BYTES = 2 ** 30;
