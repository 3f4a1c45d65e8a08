import type { Device, ExecutionProvider, ModelConfig, TrainingConfig, TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { Blend, Dataset } from '../families/index.js';
import type { ModelProgress, Rule } from '../models/index.js';
import type { BackboneSource } from './backbone-files.js';
import type { Tuning } from './hyperparameters.js';

/** What a running job is doing. The phases begin in this order; `train` and `evaluate` then alternate, epoch by epoch. */
export type TrainingPhase = 'download' | 'read' | 'prepare' | 'train' | 'evaluate' | 'export';
export const PHASES = [
  'download',
  'read',
  'prepare',
  'train',
  'evaluate',
  'export',
] as const satisfies readonly TrainingPhase[];

/** Progress of a running job. Times are in milliseconds. */
export interface TrainingProgress {
  readonly type: 'progress';
  /** What the job is busy with. */
  readonly phase: TrainingPhase;
  /** Share of the whole job that is done, 0 to 1. */
  readonly fraction: number;
  /** Epochs completed. */
  readonly epoch: number;
  /** Maximum number of epochs; 0 until it is known. */
  readonly epochs: number;
  /** Optimizer steps taken. */
  readonly step: number;
  /** Optimizer steps planned; 0 until they are known. */
  readonly steps: number;
  /** Mean training loss since the epoch began; absent before the first step. */
  readonly loss?: number;
  /** Since the run began. */
  readonly elapsedMs: number;
  /** Estimate of the milliseconds still needed; absent until there is something to estimate from. */
  readonly remainingMs?: number;
}

/** The dataset has been read, and the settings that depend on it are known. */
export interface TrainingPlan {
  readonly type: 'plan';
  /** Rows per step. */
  readonly batchSize: number;
  /** Maximum number of epochs; training ends earlier if the main metric stops rising. */
  readonly epochs: number;
}

/** An epoch has ended and been evaluated. */
export interface EpochEnd {
  readonly type: 'epoch';
  /** Of all epochs so far. */
  readonly stats: TrainingStats;
  /** Number of rows that `stats.metrics.validation` is measured on. */
  readonly rows?: number;
  /** The label that their F1 is of. Absent if it is the mean over all labels, or of entities. */
  readonly positive?: string;
}

/** Warnings about the dataset or the training, which don't prevent it. */
export interface DatasetNotice {
  readonly type: 'warnings';
  readonly warnings: readonly DatasetWarning[];
}

/** The encoder and the lexical expert have been blended. */
export interface BlendNotice {
  readonly type: 'blend';
  /** The dev figures of each alone and of both together. */
  readonly parts: Blend;
}

/** The device that computes the steps. Sent again if another device has to take over. */
export interface DeviceNotice {
  readonly type: 'device';
  readonly device: ExecutionProvider;
}

/** A checkpoint was written: another run can continue from here. */
export interface CheckpointNotice {
  readonly type: 'checkpoint';
  /** Epochs completed. */
  readonly epoch: number;
}

/** The backbone is being fetched. */
export interface BackboneDownload extends ModelProgress {
  readonly type: 'backbone';
}

/** The events of a training run. */
export type TrainingRunEvent =
  | TrainingProgress
  | TrainingPlan
  | EpochEnd
  | DatasetNotice
  | BlendNotice
  | DeviceNotice
  | CheckpointNotice
  | BackboneDownload;

/**
 * What to train on: rows that were read and checked, or a file of them that another thread of this process wrote; the folder
 * of an unpacked archive; or the URL of an archive, as a request has it.
 */
export type DatasetSource =
  | { readonly rows: Dataset }
  | { readonly file: string }
  | { readonly folder: string }
  | { readonly url: string };

/** Everything one training run needs, as plain data: it is sent to a worker thread or a child process. */
export interface TrainingSpec {
  /** The job's id, for messages. */
  readonly id: string;
  readonly dataset: DatasetSource;
  /** As the request has it. */
  readonly model_config: ModelConfig;
  /** As the request has it; `{}` where it has none. */
  readonly training_config: TrainingConfig;
  /** For two labels: the label whose F1 is reported. Default: for a binary model, the second. */
  readonly positive?: string;
  /**
   * A private directory for this run: downloads and checkpoints under `work/`, which is deleted at the end; the
   * finished model folder's files are left at the top. A run that finds a checkpoint there resumes from it.
   */
  readonly directory: string;
  /** Whether the dataset's URL may be a `file:` URL. Default false. */
  readonly allowFileUrls?: boolean;
  /** Whether the dataset's URL may lead to a loopback, link-local or private address. Default true. */
  readonly allowPrivateAddresses?: boolean;
  /** Maximum memory that the run may need, in bytes, by an estimate before it trains. Default: no limit. */
  readonly memoryLimit?: number;
  /** Number of threads that training may use. */
  readonly threads: number;
  /** Where the steps are computed; the checkpoints are the same. Default cpu. */
  readonly device?: Device;
  /** Seed of all random choices of the run. */
  readonly seed: number;
  /**
   * A checkpoint is written with the first epoch that ends this long after the previous checkpoint, and within an epoch
   * after five minutes without one. Default 30,000.
   */
  readonly checkpointIntervalMs?: number;
  /** Of the trainer that created the job. */
  readonly tuning: Tuning;
  /** Whether to train the encoder even on few rows, as the trials of a search do. Default false. */
  readonly trainsEncoder?: boolean;
  /** The backbone to start from, unless `use_pretrained` is false. Without one, training starts from random weights. */
  readonly backbone?: BackboneSource;
  /** The rules to store in the model's folder and to use when its figures are measured. Default: none. */
  readonly rules?: readonly Rule[];
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

/** Executes training runs: in this thread, in a worker thread, or in a child process. */
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

/** That training goes on, or starts, on the CPU in place of a device. @param reason in words that "so" can follow. */
export function deviceWarning(reason: string): DatasetWarning {
  return { kind: 'device', count: 1, message: `${reason}, so the CPU is used instead`, examples: [] };
}
