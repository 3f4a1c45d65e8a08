import * as z from 'zod';
import {
  type DatasetProblem,
  type FieldsOf,
  modelConfigSchema,
  type OrchardError,
  type Topk,
  type TrainingRequest,
  topkSchema,
  trainingConfigSchema,
  trainingJobStatusSchema,
  trainingStatsSchema,
} from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';

const warningSchema: z.ZodType<DatasetWarning> = z.strictObject({
  kind: z.string(),
  count: z.int(),
  message: z.string(),
  examples: z.array(z.strictObject({ file: z.string(), line: z.int() })),
});

const problemSchema: z.ZodType<DatasetProblem> = z.strictObject({
  file: z.string(),
  line: z.int().exactOptional(),
  column: z.union([z.int(), z.string()]).exactOptional(),
  found: z.string(),
  expected: z.string(),
} satisfies FieldsOf<DatasetProblem>);

/** Why a job ended in ERROR. */
export interface JobError {
  /** The kind of failure, such as `dataset` or `download`: a code of OrchardError. */
  readonly code: string;
  /** What went wrong, for people. */
  readonly message: string;
  /** If the dataset is wrong: its first 100 problems. */
  readonly problems?: readonly DatasetProblem[];
  /** If the dataset could not be fetched: whether it was to come from a file or from the web. */
  readonly source?: 'file' | 'web';
}

const jobErrorSchema: z.ZodType<JobError> = z.strictObject({
  code: z.string(),
  message: z.string(),
  problems: z.array(problemSchema).exactOptional(),
  source: z.enum(['file', 'web']).exactOptional(),
} satisfies FieldsOf<JobError>);

const share = z.number().min(0).lt(1);
/** The width of the widest encoders; a higher rank would not be low. */
const MAX_ADAPTER_RANK = 1024;
const adaptersSchema = z.strictObject({
  rank: z.int().min(1).max(MAX_ADAPTER_RANK).exactOptional(),
  alpha: z.number().positive().exactOptional(),
  targets: z
    .array(z.enum(['query', 'key', 'value', 'attention-output', 'inner', 'outer']))
    .min(1, 'name at least one layer, such as query, or leave adapters out')
    .readonly()
    .exactOptional(),
  dropout: share.exactOptional(),
});
const FREEZE_MESSAGE = "'embeddings', or the number of lowest layers to freeze (at least 1)";
/** Choices beyond training_config; training/ says what each does. */
export const tuningSchema = z.strictObject({
  tokenDropout: share.exactOptional(),
  labelSmoothing: share.exactOptional(),
  classWeights: z.enum(['none', 'balanced']).exactOptional(),
  quantize: z.boolean().exactOptional(),
  adapters: adaptersSchema.exactOptional(),
  freeze: z.union([z.literal('embeddings'), z.int().min(1)], FREEZE_MESSAGE).exactOptional(),
});

/** The dev figures of a trained model, encoder and lexical expert together. Each task has its own figures. */
export interface BlendFigures {
  /** Classification, 0 to 1. */
  readonly accuracy?: number;
  /** Classification and entity labelling, 0 to 1. */
  readonly f1?: number;
  /** Question answering. */
  readonly topk?: Topk;
}

const blendSchema: z.ZodType<BlendFigures> = z.strictObject({
  accuracy: z.number().exactOptional(),
  f1: z.number().exactOptional(),
  topk: topkSchema.exactOptional(),
} satisfies FieldsOf<BlendFigures>);

/** The record of a training job, which is also its model's record. */
export const jobRecordSchema = z.strictObject({
  id: z.uuid(),
  app_id: z.string(),
  status: trainingJobStatusSchema,
  created: z.iso.datetime({ offset: true }),
  dataset_url: z.string(),
  model_config: modelConfigSchema,
  training_config: trainingConfigSchema,
  seed: z.int(),
  // The settings of the trainer that created the job.
  allow_file_url: z.boolean(),
  allow_private_addresses: z.boolean(),
  tuning: tuningSchema,
  /** Null if none was chosen, so that language and size decide. */
  backbone: z.string().nullable(),
  stats: trainingStatsSchema,
  /** Present once the training has finished. */
  blend: blendSchema.exactOptional(),
  warnings: z.array(warningSchema),
  error: jobErrorSchema.exactOptional(),
  /**
   * How many runs have begun since the job last made progress, and the checkpoint that they began with. A run that
   * stops in an orderly way doesn't count.
   */
  attempts: z.strictObject({ count: z.int(), checkpoint: z.string().nullable() }).exactOptional(),
  /** The random token of the run that claimed the job last. Only this run may write how the job goes on. */
  claim: z.string().exactOptional(),
  /** The job is DELETED, and its files may still be there. */
  has_files: z.literal(true).exactOptional(),
  /** Asks the process that runs the job to stop it. */
  cancel_requested: z.literal(true).exactOptional(),
});
export type JobRecord = z.infer<typeof jobRecordSchema>;

/** What a trainer adds to a request. */
type NewJob = Pick<JobRecord, 'id' | 'app_id' | 'created' | 'seed'> &
  Partial<Pick<JobRecord, 'allow_file_url' | 'allow_private_addresses' | 'tuning' | 'backbone'>>;

/** The batch size of a job whose request has none: training chooses one by the number of rows. */
const NO_BATCH_SIZE_YET = 0;

/** A job as it is first written: CREATED, nothing measured yet. */
export function newJobRecord(
  { dataset_url, model_config, training_config = {} }: TrainingRequest,
  job: NewJob,
): JobRecord {
  return {
    allow_file_url: true,
    allow_private_addresses: true,
    tuning: {},
    backbone: null,
    ...job,
    status: 'CREATED',
    dataset_url,
    model_config,
    training_config,
    stats: {
      batch_size: training_config.batch_size ?? NO_BATCH_SIZE_YET,
      epoch: 0,
      metrics: { elapsed_time: [], training: { loss: [] }, validation: {} },
    },
    warnings: [],
  };
}

export function toJobError(error: OrchardError): JobError {
  const { code, message } = error;
  switch (error.code) {
    case 'dataset':
      return { code, message, problems: error.problems };
    case 'download':
      return { code, message, source: /^file:/i.test(error.url) ? 'file' : 'web' };
    default:
      return { code, message };
  }
}
