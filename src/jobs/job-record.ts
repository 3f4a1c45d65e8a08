import * as z from 'zod';
import {
  DEFAULT_BATCH_SIZE,
  modelConfigSchema,
  type TrainingRequest,
  trainingConfigSchema,
  trainingJobStatusSchema,
  trainingStatsSchema,
} from '../contract/index.js';
import type { DatasetWarning, DatasetWarningKind } from '../datasets/index.js';
import type { DatasetProblem, OrchardError } from '../errors.js';

const warningKinds = {
  duplicate_row: 'duplicate_row',
  conflicting_labels: 'conflicting_labels',
  train_row_in_dev: 'train_row_in_dev',
  class_without_examples: 'class_without_examples',
  passage_without_question: 'passage_without_question',
  empty_sentence: 'empty_sentence',
  inside_without_begin: 'inside_without_begin',
  truncated_text: 'truncated_text',
  no_backbone: 'no_backbone',
  float32_kept: 'float32_kept',
  backbone_lowercase: 'backbone_lowercase',
} as const satisfies { [Kind in DatasetWarningKind]: Kind };

const warningSchema: z.ZodType<DatasetWarning> = z.strictObject({
  kind: z.enum(warningKinds),
  count: z.int(),
  message: z.string(),
  examples: z.array(z.strictObject({ file: z.string(), line: z.int() })),
});

const problemSchema = z.strictObject({
  file: z.string(),
  line: z.int().exactOptional(),
  column: z.union([z.int(), z.string()]).exactOptional(),
  found: z.string(),
  expected: z.string(),
}) satisfies z.ZodType<DatasetProblem>;

const jobErrorSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  problems: z.array(problemSchema).exactOptional(),
});
/** Why a job ended in ERROR: the failure's `code` and message, and what is wrong in the dataset where that is it. */
export type JobError = z.infer<typeof jobErrorSchema>;

/** What the storage keeps of a training job, which is also its model's record. */
export const jobRecordSchema = z.strictObject({
  id: z.uuid(),
  app_id: z.string(),
  status: trainingJobStatusSchema,
  created: z.iso.datetime({ offset: true }),
  dataset_url: z.string(),
  model_config: modelConfigSchema,
  training_config: trainingConfigSchema,
  seed: z.int(),
  stats: trainingStatsSchema,
  warnings: z.array(warningSchema),
  error: jobErrorSchema.exactOptional(),
  /** Asks whichever process runs the job to stop it. */
  cancel_requested: z.literal(true).exactOptional(),
});
export type JobRecord = z.infer<typeof jobRecordSchema>;

export interface NewJob {
  readonly id: string;
  readonly app_id: string;
  readonly created: string;
  readonly seed: number;
}

/** A job as it is first written: CREATED, nothing measured yet. */
export function newJobRecord(
  { dataset_url, model_config, training_config = {} }: TrainingRequest,
  job: NewJob,
): JobRecord {
  return {
    ...job,
    status: 'CREATED',
    dataset_url,
    model_config,
    training_config,
    stats: {
      batch_size: training_config.batch_size ?? DEFAULT_BATCH_SIZE,
      epoch: 0,
      metrics: { elapsed_time: [], training: { loss: [] }, validation: {} },
    },
    warnings: [],
  };
}

export function toJobError(error: OrchardError): JobError {
  const { code, message } = error;
  return error.code === 'dataset' ? { code, message, problems: [...error.problems] } : { code, message };
}
