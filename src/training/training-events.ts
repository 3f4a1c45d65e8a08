import type { ExecutionProvider, TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { Blend } from '../families/index.js';
import type { ModelProgress } from '../models/index.js';

/** What a running job is doing. */
export type TrainingPhase = 'download' | 'read' | 'prepare' | 'train' | 'evaluate' | 'export';

/** Progress of a running job. Times are in milliseconds. */
export interface TrainingProgress {
  readonly type: 'progress';
  /** What the job is busy with. */
  readonly phase: TrainingPhase;
  /** Share of the whole job that is done, 0 to 1. */
  readonly fraction: number;
  /** Epochs completed. */
  readonly epoch: number;
  /** Epochs asked for. */
  readonly epochs: number;
  /** Optimizer steps taken. */
  readonly step: number;
  /** Optimizer steps planned. */
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
  /** Rows of each step. */
  readonly batchSize: number;
  /** Most epochs; training ends earlier if the main metric stops rising. */
  readonly epochs: number;
}

/** An epoch has ended and been evaluated. */
export interface EpochEnd {
  readonly type: 'epoch';
  /** Of all epochs so far. */
  readonly stats: TrainingStats;
}

/** What was noticed in the dataset that does not prevent training. */
export interface DatasetNotice {
  readonly type: 'warnings';
  readonly warnings: readonly DatasetWarning[];
}

/** The encoder and the lexical expert have been blended: what each alone and both together reach on dev. */
export interface BlendNotice {
  readonly type: 'blend';
  /** What each alone and both reach on dev. */
  readonly parts: Blend;
}

/** What computes the steps is known; told again where another device has to take over. */
export interface DeviceNotice {
  readonly type: 'device';
  readonly device: ExecutionProvider;
}

/** A checkpoint was written: another run can go on from here. */
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
