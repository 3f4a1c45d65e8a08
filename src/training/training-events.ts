import type { TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { Blend } from '../families/index.js';
import type { ModelProgress } from '../model-loader/index.js';

/** What a running job is busy with. */
export type TrainingPhase = 'download' | 'read' | 'prepare' | 'train' | 'evaluate' | 'export';

/** How far a running job is. Times are milliseconds. */
export interface TrainingProgress {
  readonly type: 'progress';
  readonly phase: TrainingPhase;
  /** Share of the whole job that is done, 0 to 1. */
  readonly fraction: number;
  /** Epochs completed and asked for. */
  readonly epoch: number;
  readonly epochs: number;
  /** Optimizer steps taken and planned. */
  readonly step: number;
  readonly steps: number;
  /** Mean training loss since the epoch began; absent before the first step. */
  readonly loss?: number;
  readonly elapsedMs: number;
  /** Estimate of the time still needed; absent until there is something to estimate from. */
  readonly remainingMs?: number;
}

/** The dataset has been read, and what it makes of the request is known. */
export interface TrainingPlan {
  readonly type: 'plan';
  /** Rows of each step. */
  readonly batchSize: number;
  /** At most; fewer where nothing gets better. */
  readonly epochs: number;
}

/** An epoch has ended and been evaluated; `stats` covers all epochs so far. */
export interface EpochEnd {
  readonly type: 'epoch';
  readonly stats: TrainingStats;
}

/** What the reader of the archive noticed and training can live with. */
export interface DatasetNotice {
  readonly type: 'warnings';
  readonly warnings: readonly DatasetWarning[];
}

/** The encoder and the lexical expert have been weighed against each other: what each alone and both reach on dev. */
export interface BlendNotice {
  readonly type: 'blend';
  readonly parts: Blend;
}

/** The backbone is being fetched. */
export interface BackboneDownload extends ModelProgress {
  readonly type: 'backbone';
}

/** What a training run tells while it runs. */
export type TrainingRunEvent =
  | TrainingProgress
  | TrainingPlan
  | EpochEnd
  | DatasetNotice
  | BlendNotice
  | BackboneDownload;
