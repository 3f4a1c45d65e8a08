import type { Device, ModelConfig, TrainingConfig, TrainingStats } from '../contract/index.js';
import type { Dataset } from '../families/index.js';
import type { BackboneSource } from './backbone-files.js';
import type { Tuning } from './hyperparameters.js';
import type { TrainingRunEvent } from './training-events.js';

/**
 * What to train on: rows that were read and checked, the folder of an unpacked archive, or the URL of an archive, as a
 * request has it.
 */
export type DatasetSource = { readonly rows: Dataset } | { readonly folder: string } | { readonly url: string };

/** Everything one training run needs, as plain data: it is sent to a worker thread or a child process. */
export interface TrainingSpec {
  /** The job's id, for messages. */
  readonly id: string;
  readonly dataset: DatasetSource;
  /** As the request has it. */
  readonly model_config: ModelConfig;
  /** As the request has it; `{}` where it has none. */
  readonly training_config: TrainingConfig;
  /**
   * A private directory for this run: downloads and checkpoints under `work/`, which is deleted at the end;
   * the finished model folder's files are left at the top. A run that finds a checkpoint there resumes from
   * it.
   */
  readonly directory: string;
  /** Whether the dataset's URL may be a `file:` URL. Default false. */
  readonly allowFileUrls?: boolean;
  /** Whether the dataset's URL may lead to a loopback, link-local or private address. Default true. */
  readonly allowPrivateAddresses?: boolean;
  /** Most bytes of memory that the run may need, as judged before it trains. Default: no limit. */
  readonly memoryLimit?: number;
  /** Threads that training may use. */
  readonly threads: number;
  /** Where the steps are computed; the checkpoints are the same. Default cpu. */
  readonly device?: Device;
  /** Decides every random choice of the run. */
  readonly seed: number;
  /**
   * A checkpoint is written with the first epoch that ends this long after the one before, and within an epoch after
   * five minutes. Default 30,000.
   */
  readonly checkpointIntervalMs?: number;
  /** Of the trainer that created the job. */
  readonly tuning: Tuning;
  /**
   * The backbone to start from, unless `use_pretrained` is false. Without one, training starts from random
   * weights.
   */
  readonly backbone?: BackboneSource;
}

/** The reason of a signal that stops a run for a while: it then leaves a checkpoint of the steps so far. */
export const GOES_ON_LATER = 'closing';

/** How a host and its caller keep in touch during one run. */
export interface TrainingRunOptions {
  /**
   * Stops the run within two training steps, or within about a second outside of them; it then rejects with an
   * AbortedError. With the reason `'closing'`, it writes a checkpoint first. It may have fired before the run begins.
   */
  readonly signal: AbortSignal;
  /** Called with each event, in their order. */
  readonly onEvent: (event: TrainingRunEvent) => void;
}

/** Where training runs take place: in this thread, in a worker thread, or in a child process. */
export interface TrainingHost {
  /**
   * Trains one model. @returns its figures, once the model folder's files are in `spec.directory`.
   * @throws OrchardError: of the dataset, the backbone or the training; an AbortedError when the signal
   *   fires.
   */
  run(spec: TrainingSpec, options: TrainingRunOptions): Promise<TrainingStats>;
  /** Waits for runs in progress (abort them first) and frees the host. Idempotent. */
  close(): Promise<void>;
}
