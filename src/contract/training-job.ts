/** The model record and the job information (docs/service.md, "Training a model"). */
import * as z from 'zod';
import {
  type ModelType,
  modelTypeSchema,
  type TrainableType,
  trainingJobStatusSchema,
} from './enumerations.js';

/** ISO 8601 with a numeric offset: `2026-11-20T08:15:30.123+00:00`. */
const timestampSchema = z.iso
  .datetime({ offset: true })
  .meta({ description: 'ISO 8601 with an offset.', example: '2026-11-20T08:15:30.123+00:00' });

export const modelRecordSchema = z.strictObject({
  id: z.string(),
  app_id: z.string(),
  name: z.string(),
  training_status: trainingJobStatusSchema,
  type: modelTypeSchema,
  modality: z.literal('language'),
  created: timestampSchema,
});
/** A custom model as the service shows it. */
export type ModelRecord = z.infer<typeof modelRecordSchema>;

export const topkSchema = z
  .strictObject({
    1: z.number(),
    3: z.number(),
    5: z.number(),
    10: z.number(),
    20: z.number(),
    100: z.number(),
  })
  .meta({ description: 'The share of questions whose passage is among so many first ones, 0 to 1.' });
/** The share of questions whose passage is among the first 1, 3, 5, 10, 20 and 100. */
export type Topk = z.infer<typeof topkSchema>;

export const trainingStatsSchema = z.strictObject({
  batch_size: z.int(),
  main_eval_metric: z.enum(['accuracy', 'f1']).optional(),
  best_eval_metric_value: z.number().optional(),
  epoch: z.int().meta({ description: 'Epochs completed.' }),
  metrics: z.strictObject({
    elapsed_time: z.array(z.number()).meta({ description: 'What each epoch took, in seconds.' }),
    training: z.strictObject({
      loss: z.array(z.number()).meta({ description: 'The mean over each epoch.' }),
    }),
    validation: z.strictObject({
      accuracy: z.array(z.number()).optional(),
      f1: z.array(z.number()).optional(),
      topk: z.array(topkSchema).optional(),
    }),
  }),
});
/** Figures of a job; one entry per epoch in each array. `epoch` counts the epochs completed. */
export type TrainingStats = z.infer<typeof trainingStatsSchema>;

export const trainingJobInformationSchema = z.strictObject({
  model: modelRecordSchema,
  training_stats: trainingStatsSchema,
  status: trainingJobStatusSchema,
  created: timestampSchema,
});
/** What reading a training job answers. */
export type TrainingJobInformation = z.infer<typeof trainingJobInformationSchema>;

export const paginationSchema = z.strictObject({
  limit: z.int().meta({ description: 'Most items of this page.' }),
  has_more: z.boolean(),
  next_cursor: z.string().nullable().meta({ description: 'What asks for the next page; null on the last.' }),
});
export type Pagination = z.infer<typeof paginationSchema>;

/** One page of a listing. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly pagination: Pagination;
}

/** Which jobs or models to list: `limit` 1 to 100 (default 20), `cursor` from the page before. */
export type ListFilter = z.infer<ReturnType<typeof listFilterSchema>>;

/** @param types that models here may have. */
export function listFilterSchema(types: readonly TrainableType[]) {
  const modelType: z.ZodType<ModelType> = z.enum(types.map(({ type }) => type));
  return z.strictObject({
    modelType: modelType.optional().meta({
      description: 'named-entity-recognition and sequence-labeling name one task; either finds both.',
    }),
    trainingStatus: trainingJobStatusSchema
      .optional()
      .meta({ description: 'Without it, all but those that are DELETED are listed.' }),
    limit: z.int().min(1).max(100).optional().meta({ description: 'Most items of a page; 20 unless given.' }),
    cursor: z
      .uuid('not a cursor of this listing; pass the next_cursor of the page before as it came')
      .optional()
      .meta({ description: 'The next_cursor of the page before.' }),
  });
}
