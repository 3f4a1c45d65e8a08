import type { ModelConfig, TrainingConfig, TrainingStats } from '../contract/index.js';
import type { BackboneSource } from './backbone.js';
import type { Tuning } from './hyperparameters.js';
import type { TrainingRunEvent } from './training-events.js';

/** Everything one training run needs, as plain data: it crosses to a worker thread or a child process. */
export interface TrainingSpec {
  /** The job's id, for messages. */
  readonly id: string;
  readonly dataset_url: string;
  readonly model_config: ModelConfig;
  readonly training_config: TrainingConfig;
  /**
   * A private directory for this run: downloads and checkpoints under `work/`, which is deleted at the end;
   * the finished model folder's files are left at the top. A run that finds a checkpoint there goes on from it.
   */
  readonly directory: string;
  /** Whether dataset_url may be a `file:` URL. */
  readonly allowFileUrls: boolean;
  /** Whether dataset_url may lead to a loopback, link-local or private address. Default true. */
  readonly allowPrivateAddresses?: boolean;
  /** Threads that training may use. */
  readonly threads: number;
  /** Decides every random choice of the run. */
  readonly seed: number;
  readonly tuning: Tuning;
  /** What to start from, unless `use_pretrained` is false. Without one, training starts from random weights. */
  readonly backbone?: BackboneSource;
}

export interface TrainingRunOptions {
  /** Stops the run within two training steps; it then fails with an AbortedError. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: TrainingRunEvent) => void;
}

/** Where training runs take place: in this thread, in a worker thread, or in a child process. */
export interface TrainingHost {
  /** @throws OrchardError: of the dataset, the backbone or the training; an AbortedError when the signal fires. */
  run(spec: TrainingSpec, options: TrainingRunOptions): Promise<TrainingStats>;
  /** Waits for a run under way (abort it first) and frees the host. Idempotent. */
  close(): Promise<void>;
}
