import * as z from 'zod';
import { modelTypeSchema, trainingJobStatusSchema } from './enumeration-schemas.js';
import type { ModelType, TrainingJobStatus } from './enumerations.js';
import type { FieldsOf } from './validate.js';

/** The model record and the job information (docs/service.md, "Training a model"). */

/** ISO 8601 with a numeric offset: `2026-11-20T08:15:30.123+00:00`. */
const timestampSchema = z.iso
  .datetime({ offset: true })
  .meta({ description: 'ISO 8601 with an offset.', example: '2026-11-20T08:15:30.123+00:00' });

/** A custom model (docs/service.md, "Model record"). */
export interface ModelRecord {
  /** A UUID that identifies the model and the job that trains it. */
  readonly id: string;
  /** The account that owns it. */
  readonly app_id: string;
  /** As in the request. Names need not be unique. */
  readonly name: string;
  /** READY once it can answer, DELETED once its files are removed. */
  readonly training_status: TrainingJobStatus;
  /** As in the request. */
  readonly type: ModelType;
  /** The same for every model. */
  readonly modality: 'language';
  /** When the job was created: ISO 8601 with milliseconds and an offset, `2026-11-20T08:15:30.123+00:00`. */
  readonly created: string;
}

export const modelRecordSchema: z.ZodType<ModelRecord> = z.strictObject({
  id: z.string(),
  app_id: z.string(),
  name: z.string(),
  training_status: trainingJobStatusSchema,
  type: modelTypeSchema,
  modality: z.literal('language'),
  created: timestampSchema,
} satisfies FieldsOf<ModelRecord>);

/** The share of questions, 0 to 1, whose passage is among the first 1, 3, 5, 10, 20 and 100. */
export type Topk = Readonly<Record<1 | 3 | 5 | 10 | 20 | 100, number>>;

export const topkSchema: z.ZodType<Topk> = z
  .strictObject({
    1: z.number(),
    3: z.number(),
    5: z.number(),
    10: z.number(),
    20: z.number(),
    100: z.number(),
  } satisfies FieldsOf<Topk>)
  .meta({
    description: 'The share of questions whose passage is among the first 1, 3, 5, 10, 20 and 100; 0 to 1.',
  });

/** The metrics on the dev set, one entry per epoch; which ones depends on the family. */
export interface ValidationMetrics {
  /** Classification: the share of correct rows, 0 to 1. A multilabel row is correct if all its labels are. */
  readonly accuracy?: readonly number[] | undefined;
  /**
   * F1, 0 to 1. Binary classification: of the second label. Other classification: the mean over the labels. Entities: of
   * whole entities.
   */
  readonly f1?: readonly number[] | undefined;
  /** Questions: the ranks of the correct passages. */
  readonly topk?: readonly Topk[] | undefined;
}

/** The time and metrics of a job, one entry per epoch. */
export interface TrainingMetrics {
  /** Seconds. */
  readonly elapsed_time: readonly number[];
  /** On the training rows. */
  readonly training: {
    /** The mean over each epoch. */
    readonly loss: readonly number[];
  };
  /** On the dev rows. */
  readonly validation: ValidationMetrics;
}

/** Figures of a job (docs/service.md, "Job information"). */
export interface TrainingStats {
  /** Rows per step. Before the training: the number in the request, or 0 if it has none. */
  readonly batch_size: number;
  /** The metric that decides which epoch is kept. Absent before the first epoch has ended, and for question answering. */
  readonly main_eval_metric?: 'accuracy' | 'f1' | undefined;
  /** Its value in the best epoch, 0 to 1. For a READY model: of encoder and lexical expert together. */
  readonly best_eval_metric_value?: number | undefined;
  /** Epochs completed. */
  readonly epoch: number;
  /** Epoch by epoch. */
  readonly metrics: TrainingMetrics;
}

export const trainingStatsSchema: z.ZodType<TrainingStats> = z.strictObject({
  batch_size: z.int(),
  main_eval_metric: z.enum(['accuracy', 'f1']).optional(),
  best_eval_metric_value: z.number().optional(),
  epoch: z.int().meta({ description: 'Epochs completed.' }),
  metrics: z.strictObject({
    elapsed_time: z.array(z.number()).meta({ description: 'The time of each epoch, in seconds.' }),
    training: z.strictObject({
      loss: z.array(z.number()).meta({ description: 'The mean over each epoch.' }),
    }),
    validation: z.strictObject({
      accuracy: z.array(z.number()).optional(),
      f1: z.array(z.number()).optional(),
      topk: z.array(topkSchema).optional(),
    } satisfies FieldsOf<ValidationMetrics>),
  } satisfies FieldsOf<TrainingMetrics>),
} satisfies FieldsOf<TrainingStats>);

/** The state of a training job (docs/service.md, "Job information"). */
export interface TrainingJobInformation {
  /** The model that the job trains; it has the job's id. */
  readonly model: ModelRecord;
  /** The metrics so far. */
  readonly training_stats: TrainingStats;
  /** As in the model record. */
  readonly status: TrainingJobStatus;
  /** As in the model record. */
  readonly created: string;
}

export const trainingJobInformationSchema = z.strictObject({
  model: modelRecordSchema,
  training_stats: trainingStatsSchema,
  status: trainingJobStatusSchema,
  created: timestampSchema,
} satisfies FieldsOf<TrainingJobInformation>);
