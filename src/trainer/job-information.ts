import type { ModelRecord, TrainingJobInformation } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { BlendFigures, JobError, JobRecord } from '../jobs/index.js';

/** The documented training job information, and what only the library tells beside it. */
export interface JobInformation extends TrainingJobInformation {
  /** Present in the state ERROR. */
  readonly error?: JobError;
  /** What its encoder and its lexical expert reach together on dev; present once the training has come to its end. */
  readonly blend?: BlendFigures;
  /** What the dataset's reader noticed and training could live with. */
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
