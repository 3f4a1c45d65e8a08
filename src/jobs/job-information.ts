import type { ModelRecord, TrainingJobInformation } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { BlendFigures, JobError, JobRecord } from './job-record.js';

/** The documented training job information, with additions of the library. */
export interface JobInformation extends TrainingJobInformation {
  /** Present in the state ERROR. */
  readonly error?: JobError;
  /** The dev figures of its encoder and its lexical expert together; present once the training has ended. */
  readonly blend?: BlendFigures;
  /** Problems of the dataset that don't prevent training. */
  readonly warnings: readonly DatasetWarning[];
}

export function toModelRecord(job: JobRecord): ModelRecord {
  return {
    id: job.id,
    app_id: job.app_id,
    name: job.model_config.name,
    training_status: job.status,
    type: job.model_config.type,
    modality: 'language',
    created: job.created,
  };
}

export function toJobInformation(job: JobRecord): JobInformation {
  return {
    model: toModelRecord(job),
    training_stats: job.stats,
    status: job.status,
    created: job.created,
    ...(job.error && { error: job.error }),
    ...(job.blend && { blend: job.blend }),
    warnings: job.warnings,
  };
}
